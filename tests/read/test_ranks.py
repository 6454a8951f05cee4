"""Tests by ranks: the numbers of scipy.stats, ties and none, few and many."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from dsbench.stats import ranks

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("size", [2, 3, 5, 12, 33, 34, 120, 300])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rise", [0.0, 0.02, 5.0, -5.0])
def test_a_trend_has_the_p_of_scipy(size: int, ties: bool, rise: float) -> None:
    values = RANDOM.standard_normal(size) * 3 + rise * np.arange(size)
    values = np.round(values) if ties else values
    if np.ptp(values) == 0:
        values[0] += 1
    assert ranks.trend(values) == pytest.approx(stats.kendalltau(np.arange(size), values).pvalue, rel=1e-12, abs=1e-300)
    assert ranks.slope(values) == pytest.approx(stats.theilslopes(values).slope, rel=1e-12, abs=1e-12)
    assert ranks.ranks(values).tolist() == stats.rankdata(values).tolist()


def test_orders_are_counted() -> None:
    falls = [sum(b < a for i, a in enumerate(one) for b in one[i + 1 :]) for one in permutations(range(6))]
    assert ranks._orders(6, 15) == np.bincount(falls).tolist()
    # Of 720 orders one rises all the time, and one falls.
    assert ranks.trend(np.arange(6.0)) == 2 / 720


@pytest.mark.parametrize("ties", [False, True])
def test_groups_differ_by_the_statistic_of_kruskal_and_wallis(ties: bool) -> None:
    groups = [np.round(RANDOM.standard_normal(size) * 4 + at) if ties else RANDOM.standard_normal(size) + at
              for at, size in enumerate((5, 10, 8))]  # fmt: skip
    assert ranks.differ(groups) == pytest.approx(stats.kruskal(*groups).statistic, rel=1e-12)


@pytest.mark.parametrize("p", [1.0, 0.3, 1e-3, 1e-12, 1e-200])
def test_deviations_are_those_of_the_normal_distribution(p: float) -> None:
    assert ranks.deviations(p) == pytest.approx(stats.norm.isf(p / 2), rel=1e-12, abs=1e-15)
    assert ranks.outside(ranks.deviations(p)) == pytest.approx(p, rel=1e-9)
    assert ranks.outside(ranks.deviations(0.0)) == 0


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 59, 999])
@pytest.mark.parametrize("statistic", [0.0, 0.7, 3.84, 30.0, 400.0])
def test_a_chi_squared_value_is_greater_with_the_chance_of_scipy(statistic: float, degrees: int) -> None:
    assert ranks.beyond(statistic, degrees) == pytest.approx(stats.chi2.sf(statistic, degrees), rel=1e-11)
