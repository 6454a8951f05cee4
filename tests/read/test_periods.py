"""Periods of a rate: those that are planted are found, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.stats.periods import find_period, longest
from dsbench.stats.values import Floats

SECONDS = 600


def course(rng: np.random.Generator, alike: float, scatter: float = 0.05, seconds: int = SECONDS) -> Floats:
    """Expected transactions of each second: an AR(1) around 1,000."""
    noise = rng.standard_normal(seconds + 300)
    for second in range(1, seconds + 300):
        noise[second] += alike * noise[second - 1]
    return 1000 * np.exp(scatter * np.sqrt(1 - alike**2) * noise[300:])


def dips(rng: np.random.Generator, period: float, width: float, depth: float) -> Floats:
    phase = ((np.arange(SECONDS) + rng.uniform(0, period)) / period) % 1
    return np.where(phase < width, 1 - depth, 1.0)


@pytest.mark.parametrize("period", [20, 37, 60, 90, 120])
@pytest.mark.parametrize(("width", "depth"), [(0.15, 0.3), (0.05, 0.5)])
def test_a_planted_period_is_found(period: int, width: float, depth: float) -> None:
    rng, found, draws = np.random.default_rng(period), 0, 40
    for _ in range(draws):
        told = find_period(rng.poisson(course(rng, 0.3) * dips(rng, period, width, depth)).astype(float))
        found += told is not None and abs(told.seconds / period - 1) < 0.05 and told.depth > depth / 3
    assert found >= 0.95 * draws


@pytest.mark.parametrize("alike", [0.0, 0.6, 0.9])
def test_none_is_found_where_there_is_none(alike: float) -> None:
    rng, draws = np.random.default_rng(7), 100
    assert sum(find_period(rng.poisson(course(rng, alike)).astype(float)) is not None for _ in range(draws)) <= 3


def test_stalls_at_random_have_none() -> None:
    rng, found = np.random.default_rng(4), 0
    for _ in range(60):
        counts = rng.poisson(course(rng, 0.3)).astype(float)
        counts[rng.choice(SECONDS, 12, replace=False)] /= 4
        found += find_period(counts) is not None
    assert found <= 2


def test_a_small_wave_is_not_told() -> None:
    rng = np.random.default_rng(2)
    wave = 1 + 0.004 * np.sin(2 * np.pi * np.arange(SECONDS) / 40)
    assert find_period(1e6 * wave + rng.standard_normal(SECONDS)) is None


def test_a_short_course_and_one_without_transactions_have_none() -> None:
    assert longest(300) == 60
    rng = np.random.default_rng(1)
    assert find_period(1000 * dips(rng, 20, 0.2, 0.5)[:90]) is None
    assert find_period(np.zeros(SECONDS)) is None
    assert find_period(np.full(SECONDS, 1000.0)) is None
