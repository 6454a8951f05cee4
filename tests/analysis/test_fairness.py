"""The bound of chance, by hand-computed values."""

from __future__ import annotations

from math import exp, log

import pytest

from dsbench.analysis.fairness import by_chance


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
