"""Periods of a rate: those that are planted are found, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.stats.periods import find_period, longest
from fixtures.simulated import dips, periods_found, periods_invented

SECONDS = 600


@pytest.mark.parametrize("period", [20, 37, 60, 90, 120])
@pytest.mark.parametrize(("width", "depth"), [(0.15, 0.3), (0.05, 0.5)])
def test_a_planted_period_is_found(period: int, width: float, depth: float) -> None:
    assert periods_found(period, width, depth, 40) >= 0.95


@pytest.mark.parametrize(("alike", "stalls", "draws"), [(0.0, 0, 100), (0.6, 0, 100), (0.9, 0, 100), (0.3, 12, 60)])
def test_none_is_found_where_there_is_none(alike: float, stalls: int, draws: int) -> None:
    assert periods_invented(alike, draws, stalls) <= 0.03


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
