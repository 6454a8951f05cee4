"""Intervals of quantiles over cycles, whose transactions depend on each other."""

from __future__ import annotations

from math import isfinite, isnan

import numpy as np
import pytest

from dsbench.stats import histogram as hist
from dsbench.stats.comparison import ratio_interval
from dsbench.stats.values import Floats, Frequency, Interval
from fixtures.thorough import mostly_thorough

NORMAL = {0.5: 0.0, 0.95: 1.6448536, 0.99: 2.3263479}
"""Quantiles of the standard normal distribution, by any table."""


def curve(times_ns: Floats) -> Frequency:
    """Of times of the shape (cycles, transactions), each in a bucket of its own size."""
    whole = np.maximum(times_ns, 1).astype(np.int64)
    cycle = np.repeat(np.arange(len(whole)), whole.shape[1])
    flat, ones = whole.ravel(), np.ones(whole.size, dtype=np.int64)
    return hist.frequency(hist.histogram(flat, flat, ones), NORMAL, hist.BucketRows(cycle, flat, ones))


def correlated(rng: np.random.Generator, cycles: int, count: int, correlation: float) -> Floats:
    """An autoregressive series of the first order with the standard normal distribution."""
    steps = rng.standard_normal(cycles * count) * np.sqrt(1 - correlation**2)
    value, found = rng.standard_normal(), np.empty(steps.size)
    for at, step in enumerate(steps):
        found[at] = value = correlation * value + step
    return found.reshape(cycles, count)


@pytest.mark.parametrize(
    ("cycles", "count", "correlation"),
    mostly_thorough([(3, 1000, 0.9), (5, 1000, 0.9), (10, 600, 0.9), (5, 800, 0)], (5, 800, 0)),
)
def test_they_hold_the_quantile_as_often_as_they_promise(cycles: int, count: int, correlation: float) -> None:
    rng, rounds = np.random.default_rng(20261124), 200
    held, told = dict.fromkeys(NORMAL, 0), dict.fromkeys(NORMAL, 0)
    for _ in range(rounds):
        # Times with a heavy tail: a Pareto distribution of an infinite variance would have the same shares.
        found = curve(1e6 * np.exp(1.5 * correlated(rng, cycles, count, correlation)))
        for quantile, normal in NORMAL.items():
            within = hist.quantile_interval(found, quantile)
            truth = 1e6 * np.exp(1.5 * normal)
            if isfinite(within.low):
                told[quantile] += 1
                held[quantile] += within.low <= truth <= within.high
    assert min(told.values()) >= 0.3 * rounds, "what has no interval holds nothing"
    assert all(held[quantile] >= 0.93 * told[quantile] for quantile in NORMAL)


def test_too_little_has_no_interval() -> None:
    rng = np.random.default_rng(1)
    two = curve(1e6 + 1e5 * rng.random((2, 5000)))
    assert isnan(hist.quantile_interval(two, 0.5).low), "two cycles"
    few = curve(1e6 + 1e5 * rng.random((5, 500)))
    assert isnan(hist.quantile_interval(few, 0.99).low), "25 transactions beyond"
    assert isfinite(hist.quantile_interval(few, 0.95).low)
    # 300 * (1 - 0.9) is 29.999999999999993 in binary, and 30 are enough.
    for size, known in ((99, False), (100, True)):
        ones = np.ones(3 * size, dtype=np.int64)
        rows = hist.BucketRows(np.arange(3 * size) % 3, np.arange(3 * size), ones)
        found = hist.frequency(hist.histogram(rows.low_ns, rows.low_ns, ones), (0.9,), rows)
        assert isfinite(hist.quantile_interval(found, 0.9).low) == known
    without = hist.frequency(hist.histogram(*[np.arange(1, 5000)] * 3), NORMAL)
    assert isnan(hist.quantile_interval(without, 0.5).low), "no cycles are known"


def test_of_independent_transactions_it_is_that_of_a_share() -> None:
    """Ten alike cycles of 1,000 different times: the effective number is not above the true one."""
    times = np.tile(1000.0 * np.arange(1, 1001), (10, 1))
    within = hist.quantile_interval(curve(times), 0.5)
    # Half of 10,000, less by (1.96 / 2.262)^2: 7,508 of them, whose share is known within 0.0113 (normal approximation).
    assert within.low == pytest.approx(1e6 * (0.5 - 0.0113), rel=0.003)
    assert within.high == pytest.approx(1e6 * (0.5 + 0.0113), rel=0.003)


@pytest.mark.parametrize(
    ("probability", "a", "b", "expected"),
    [(0.025, 5, 500, 0.0032288), (0.975, 6, 500, 0.0229534), (0.5, 5000, 5001, 0.49995), (0.975, 31, 3000, 0.0141043)],
)
def test_quantiles_of_the_beta_distribution(probability: float, a: float, b: float, expected: float) -> None:
    assert hist._beta_quantile(probability, a, b) == pytest.approx(expected, rel=1e-4)


def test_the_ratio_of_two_is_that_of_their_logarithms() -> None:
    """ln 2 with halves ln 1.1 and ln 1.2 on all sides: exp(hypot(ln 1.1, ln 1.2)) = 1.22842."""
    over, under = Interval(2.0, 2.0 / 1.1, 2.2, 0.95), Interval(1.0, 1 / 1.2, 1.2, 0.95)
    found = ratio_interval(over, under)
    assert found.value == 2.0
    assert found.low == pytest.approx(2.0 / 1.22842, rel=1e-4)
    assert found.high == pytest.approx(2.0 * 1.22842, rel=1e-4)
    assert isnan(ratio_interval(over, Interval(1.0, np.nan, np.nan, 0.95)).low)


def test_maxima_by_cycle() -> None:
    assert curve(np.array([[1.0, 2.0], [7.0, 1.0], [3.0, 5.0]])).maxima_ns == (2.0, 7.0)
