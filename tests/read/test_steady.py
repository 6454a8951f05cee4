from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from dsbench.stats.steady import SteadyVerdict, drift

RANDOM = np.random.default_rng(3)


def noise(size: int, level: float = 1000.0) -> np.ndarray:
    return level * RANDOM.normal(1, 0.03, size)


def test_a_constant_rate_with_noise_is_steady() -> None:
    found = drift(noise(600))
    assert found.verdict is SteadyVerdict.STEADY
    assert abs(found.drift) < 0.02


@pytest.mark.parametrize("size", [60, 600, 5000])
def test_a_slow_fall_is_found_and_measured(size: int) -> None:
    # From 1100 to 900 around the median 1000: -20%.
    found = drift(np.linspace(1100, 900, size) + noise(size) - 1000)
    assert found.verdict is SteadyVerdict.DRIFTING
    assert found.drift == pytest.approx(-0.2, abs=0.03)
    assert found.p_value < 1e-6
    assert found.seconds == size


def test_a_significant_drift_of_a_few_percent_is_steady_enough() -> None:
    found = drift(np.linspace(1020, 980, 600))
    assert found.verdict is SteadyVerdict.STEADY
    assert found.p_value < 0.01
    assert found.drift == pytest.approx(-0.04, abs=0.001)


def test_checkpoints_do_not_tilt_the_slope() -> None:
    counts = noise(300)
    counts[40:45] = 50
    assert drift(counts).verdict is SteadyVerdict.STEADY


def test_a_short_series_is_not_judged() -> None:
    found = drift(np.linspace(2000, 10, 12))
    assert (found.verdict, found.seconds) == (SteadyVerdict.TOO_SHORT, 12)
    assert isnan(found.drift)


def test_a_constant_series_is_steady() -> None:
    assert drift(np.full(60, 7.0)).drift == 0


def test_a_rate_below_one_per_second_is_judged_in_bins() -> None:
    # One transaction every four seconds: the median second is empty.
    counts = np.tile([1.0, 0, 0, 0], 150)
    assert drift(counts).verdict is SteadyVerdict.STEADY
    falling = counts * np.repeat([4, 3, 2, 1], 150)
    assert drift(falling).verdict is SteadyVerdict.DRIFTING
    # Forty transactions in all cannot show a drift of 10%.
    assert drift(np.tile([1.0, 0, 0, 0], 40)).verdict is SteadyVerdict.TOO_SHORT


def test_an_empty_window_is_not_judged() -> None:
    assert drift(np.zeros(600)).verdict is SteadyVerdict.TOO_SHORT
