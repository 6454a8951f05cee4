"""The bound of chance, by hand-computed values."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from dsbench.stats.fairness import Evenness, by_chance, evenness, irregularity
from dsbench.stats.values import Frequency


def test_the_bound_is_chernoffs() -> None:
    # r = 50/100: exponent 1 - 0.5 + 0.5 ln 0.5 = 0.1534264; e^-15.34264 = 2.1715e-7, four clients 8.686e-7.
    assert by_chance(100, 50, 4) == pytest.approx(8.686e-7, rel=1e-3)
    assert by_chance(100, 50, 1, irregularity=4.0) == pytest.approx(exp(-25 * (0.5 + 0.5 * log(0.5))))
    assert by_chance(100, 50, 4, irregularity=0.2) == by_chance(100, 50, 4)
    assert by_chance(100, 0, 1) == pytest.approx(exp(-100))
    assert (by_chance(100, 100, 4), by_chance(3, 2, 1000)) == (1.0, 1.0)


def test_it_bounds_the_exact_probability() -> None:
    # P(X <= 10) of a Poisson number of mean 20, summed by hand: 0.010811719.
    exact = exp(-20) * sum(20**n / _factorial(n) for n in range(11))
    assert exact == pytest.approx(0.010811719, rel=1e-6)
    assert exact < by_chance(20, 10, 1) < 10 * exact


def _factorial(n: int) -> int:
    return 1 if n < 2 else n * _factorial(n - 1)


def _even(counts: list[list[int]], irregularity: float = 1.0) -> Evenness:
    """Cycles of clients on one node."""
    array = np.array(counts, dtype=np.int64)[:, np.newaxis, :]
    found = evenness(np.arange(1, len(counts) + 1), array, np.ones((len(counts), 1), dtype=bool), irregularity)
    assert found is not None
    return found


def test_the_slowest_and_the_fastest_by_the_mean_of_their_cycle() -> None:
    found = _even([[100, 100, 100, 100], [600, 1200, 1000, 1200], [0, 0, 0, 0]])
    assert found.least.tolist() == pytest.approx([1.0, 0.6, np.nan], nan_ok=True)
    assert found.largest.tolist() == pytest.approx([1.0, 1.2, np.nan], nan_ok=True)
    assert (found.clients, found.uneven) == (4, (2,))


def test_chance_explains_what_few_transactions_show() -> None:
    # Mean 20, least 12: 4 exp(-20 (1 - 0.6 + 0.6 ln 0.6)) = 4 exp(-1.870) = 0.617. With a hundred times as many it
    # is 4 exp(-187.0). Times that vary as 200 of Poisson's variance make 2000 count as 10: 4 exp(-0.935).
    assert _even([[12, 22, 22, 24]]).uneven == ()
    assert _even([[1200, 2200, 2200, 2400]]).uneven == (1,)
    assert _even([[1200, 2200, 2200, 2400]], irregularity=200.0).uneven == ()


def test_a_client_of_a_node_that_was_missing_is_not_slow() -> None:
    counts = np.array([[[900, 1000], [0, 0]]], dtype=np.int64)
    found = evenness(np.array([1]), counts, np.array([[True, False]]), 1.0)
    assert found is not None
    assert (found.clients, found.uneven, found.least.tolist()) == (2, (), [pytest.approx(900 / 950)])


def test_one_client_is_neither_even_nor_uneven() -> None:
    assert evenness(np.array([1]), np.array([[[5]]]), np.array([[True]]), 1.0) is None


def test_irregularity_is_the_variance_by_the_square_of_the_mean() -> None:
    # Half of the times are 1, half are 3: mean 2, variance 1, c² = 0.25.
    curve = Frequency(np.array([1.0, 3.0]), np.array([0.5, 0.0]), {}, 10)
    assert irregularity(curve) == pytest.approx(0.25)
    assert irregularity(None) == 1.0
