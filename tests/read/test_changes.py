"""Change points of histories whose changes are known."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.stats.changes import changes, leaning
from fixtures.noise import autoregressive


def test_a_fall_and_a_rise_are_found_with_their_size() -> None:
    random = np.random.default_rng(1)
    levels = np.repeat([1000.0, 900.0, 1100.0], [20, 15, 15])
    found = changes(levels * np.exp(random.normal(0, 0.01, levels.size)), 0.03)
    assert [one.at for one in found] == [20, 35]
    for one, ratio in zip(found, (0.9, 1100 / 900), strict=True):
        assert one.ratio.low <= ratio <= one.ratio.high
        assert one.ratio.value == pytest.approx(ratio, rel=0.02)
        assert one.p_value < 0.01


def test_a_history_without_a_change_has_none_nearly_always() -> None:
    random = np.random.default_rng(2)
    alarms = sum(bool(changes(1000 * np.exp(random.normal(0, 0.05, 24)), 0.01)) for _ in range(50))
    assert alarms <= 2


def test_runs_that_lean_on_the_one_before_are_no_change() -> None:
    """Random orders of them all alike would take 18 of 40 for one."""
    random = np.random.default_rng(4)
    histories = [1000 * np.exp(autoregressive(random, 50, 0.8, 0.03)) for _ in range(40)]
    assert sum(bool(changes(one, 0.0)) for one in histories) <= 4
    assert np.mean([leaning(one, []) for one in histories]) > 0.6
    assert np.mean([leaning(1000 * np.exp(random.normal(0, 0.03, 50)), []) for _ in range(40)]) < 0.2


def test_a_change_among_runs_that_lean_on_the_one_before_is_found() -> None:
    random = np.random.default_rng(5)
    levels = np.repeat([1000.0, 1100.0], 25)
    found = [changes(levels * np.exp(autoregressive(random, 50, 0.5, 0.03)), 0.03) for _ in range(20)]
    assert sum(len(one) == 1 and abs(one[0].at - 25) <= 2 for one in found) >= 16


def test_small_changes_single_outliers_and_short_histories_are_kept_back() -> None:
    random = np.random.default_rng(3)
    noise = np.exp(random.normal(0, 0.002, 30))
    small = np.where(np.arange(30) < 15, 1000.0, 985.0) * noise
    assert [one.at for one in changes(small, 0.01)] == [15]
    assert changes(small, 0.03) == []
    single = 1000 * noise
    single[12] = 500
    assert changes(single, 0.03) == []
    assert changes(np.array([1000.0] * 4 + [500.0] * 5), 0.03) == []
