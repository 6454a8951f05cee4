from __future__ import annotations

from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dsbench.stats import equations as eq

MS = 1_000_000
# Two cycles, two nodes, two clients; the last thread of the first cycle committed nothing.
COMMITTED = np.array([[[10, 20], [30, 0]], [[5, 5], [10, 20]]])
RESIDENCE = np.array([[[100, 400], [300, 0]], [[50, 100], [100, 400]]]) * MS
FIRST = np.array([[[5, 8], [9, 0]], [[3, 4], [2, 6]]]) * MS
LAST = np.array([[[900, 950], [960, 0]], [[990, 800], [995, 700]]]) * MS
D = 2.0


def test_eq_5_to_8_add_up() -> None:
    assert eq.transactions(COMMITTED) == 100
    assert eq.node_rate_tps(COMMITTED, D).tolist() == [[15, 15], [5, 15]]
    assert eq.cycle_rate_tps(COMMITTED, D).tolist() == [30, 20]
    assert eq.total_rate_tps(COMMITTED, D) == 25  # 100 / (2 * 2 s)


def test_eq_11_is_the_residence_time_by_the_measured_time() -> None:
    # R = 0.8 s + 0.65 s
    assert eq.residence_total_s(RESIDENCE) == 1.45
    assert eq.rate_multiplier(RESIDENCE, D) == 1.45 / 4


def test_effective_duration_leaves_out_threads_without_a_transaction() -> None:
    # 960 - 5 ms (not - 0 of the idle thread) and 995 - 2 ms
    assert eq.effective_duration_s(FIRST, LAST) == 1.948
    nothing = np.zeros((3, 1, 1), dtype=np.int64)
    assert eq.effective_duration_s(nothing, nothing) == 0


def test_level_rate_converts_a_residence_time() -> None:
    assert eq.level_rate_tps(0.5, 2 * MS) == 250
    assert isnan(eq.level_rate_tps(0.5, 0))


def test_spread() -> None:
    found = eq.spread(np.array([9.0, 12.0, 30.0]))
    # mean 17, deviations -8, -5, 13: (64 + 25 + 169) / 2 = 129
    assert (found.median, found.mean, found.minimum, found.maximum) == (12, 17, 9, 30)
    assert found.stddev == pytest.approx(sqrt(129))
    assert isnan(eq.spread(np.array([9.0])).stddev)
    assert isnan(eq.spread(np.array([])).median)


def test_no_cycle_gives_nan_and_counts_zero() -> None:
    none = np.zeros((0, 1, 1), dtype=np.int64)
    assert eq.transactions(none) == 0
    assert isnan(eq.total_rate_tps(none, D))
    assert isnan(eq.rate_multiplier(none, D))


SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 5))
COUNTS = SHAPES.flatmap(lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(0, 10**6)))


@given(COUNTS, st.integers(1, 10**9), st.floats(0.1, 1e4))
def test_rates_agree_with_each_other(committed: np.ndarray, each_ns: int, duration_s: float) -> None:
    residence = committed * each_ns
    by_cycle = eq.cycle_rate_tps(committed, duration_s)
    assert np.allclose(eq.node_rate_tps(committed, duration_s).sum(axis=1), by_cycle)
    total = eq.total_rate_tps(committed, duration_s)
    assert total == pytest.approx(by_cycle.mean())
    if committed.any():  # eq. 10: T = f * T^r
        product = eq.rate_multiplier(residence, duration_s) * eq.transactions(committed) / eq.residence_total_s(residence)
        assert product == pytest.approx(total)
