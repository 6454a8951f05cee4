"""What intervals and verdicts promise, on series of which the truth is known: a sample of ``python -m bench.statistics``.

Bounds leave room for the chance of so few draws; the page docs/statistics.md has the figures of many.
"""

from __future__ import annotations

import numpy as np
import pytest
from bench.statistics import MARK, PAGE, TABLES
from bench.tables import marks

from dsbench.stats.peak import next_number, peak
from dsbench.stats.steady import _inflation
from fixtures.noise import correlated
from fixtures.simulated import (
    DISTURBED,
    Cycles,
    called,
    called_different,
    drifting,
    fixed,
    indexed,
    peaked,
    scattered,
    stopped,
)
from fixtures.thorough import mostly_thorough


@pytest.mark.parametrize("scatter", mostly_thorough([0.02, 0.03, 0.04, 0.06], 0.03))
def test_the_interval_at_which_a_run_stops_holds(scatter: float) -> None:
    found = stopped(Cycles(scatter), 0.02, 500, most=400)
    assert found.holds >= 0.93
    assert found.precise > 0.99
    assert found.cycles < 15 * (scatter / 0.02) ** 2 + 5, "and takes no more cycles than it has to"


@pytest.mark.parametrize(("wanted", "hit"), [(0.03, 0.0), (0.05, 0.0), (0.1, 0.0), (0.02, 0.3), (0.02, 0.4)])
def test_it_holds_at_other_widths_and_with_checkpoints(wanted: float, hit: float) -> None:
    assert stopped(Cycles(0.02 if hit else 0.06, hit), wanted, 300).holds >= 0.93


def test_runs_that_may_not_make_enough_cycles_seldom_call_themselves_precise() -> None:
    """Of 40 cycles that scatter by 6% the median is known within 3%, not 2."""
    found = stopped(Cycles(0.06), 0.02, 300)
    assert found.holds >= 0.93
    assert found.precise < 0.3


@pytest.mark.parametrize("count", [5, 6, 10])
@pytest.mark.parametrize("hit", [0.0, 0.3, 0.4])
def test_the_interval_of_a_median_holds_with_checkpoints(count: int, hit: float) -> None:
    assert fixed(Cycles(0.02, hit), count, 1000)[0] >= 0.93


def test_the_index_of_short_cycles_holds() -> None:
    even = indexed(Cycles(0.03), 100)
    assert even.holds >= 0.93
    assert even.precise > 0.9
    assert even.cycles < 80
    hit = indexed(Cycles(0.02, 0.4), 100)
    assert hit.holds >= 0.93
    assert hit.precise < 0.1, "where a checkpoint decides the medians the index is not known"


@pytest.mark.parametrize(
    ("alike", "most"), mostly_thorough([(0.0, 0.03), (0.5, 0.05), (0.7, 0.06), (0.9, 0.12)], (0.7, 0.06))
)
def test_a_rate_that_wanders_is_seldom_called_a_drift(alike: float, most: float) -> None:
    assert drifting(alike, 0.3, 60, 200) <= most
    assert drifting(alike, 0.3, 20, 100, cycles=3) <= most
    assert scattered(alike, 0.3, 30, 200, cycles=5) <= 0.05


def test_a_drift_is_found_among_seconds_that_are_alike() -> None:
    falls, warms = 1.15 - 0.3 * np.linspace(0, 1, 60), 1 - 0.5 * np.exp(-4 * np.linspace(0, 1, 60))
    assert drifting(0.0, 0.05, 60, 50, course=falls) >= 0.98
    assert drifting(0.5, 0.05, 60, 50, course=falls) >= 0.9
    assert drifting(0.0, 0.05, 60, 50, course=warms) >= 0.95
    assert drifting(0.5, 0.05, 60, 50, course=warms) >= 0.65, "what is left beside a line looks alike where it is none"
    assert scattered(0.5, 0.1, 60, 100, cycles=5, apart=0.2) >= 0.9


def test_a_peak_is_told_where_there_is_one() -> None:
    for noise in (0.03, 0.1):
        assert peaked(0.1, 0.0, noise, 60)[0] <= 0.1, "5% of many, with room for chance"
    told, holds = peaked(0.05, 0.002, 0.03, 60)
    assert told >= 0.95
    assert holds >= 0.9


def test_the_rate_of_the_best_number_of_threads_is_not_too_high() -> None:
    """Rates that scatter by 10%, of numbers of clients that are nearly as good as each other."""
    random, off, chosen_by = np.random.default_rng(1), [], []
    numbers = (1, 2, 3, 4, 6, 8, 12, 16)
    for _ in range(150):
        rates: dict[int, list[float]] = {}
        while (n := next_number(numbers, rates, 3)) is not None:
            rates.setdefault(n, []).append(_true(n) * random.normal(1, 0.1))
        found = peak(rates, searched=True)
        assert found is not None
        assert found.fresh >= 3
        off.append(found.rate_tps / _true(found.clients) - 1)
        chosen_by.append(np.median(rates[found.clients][:3]) / _true(found.clients) - 1)
    assert abs(np.mean(off)) < 0.02
    assert np.mean(chosen_by) > 0.04, "which the cycles are by which it was chosen"


def _true(clients: int) -> float:
    return float(1000 * np.exp(-0.1 * np.log(clients / 8) ** 2))


def test_the_variance_of_kendalls_s_is_that_of_drawn_series() -> None:
    """Hamed and Rao's formula against the S of drawn AR(1) series without a trend."""
    series = correlated(np.random.default_rng(2), 4000, 40, 0.6, 1.0)
    pairs = sum(np.sign(series[:, at:] - series[:, :-at]).sum(axis=1) for at in range(1, 40))
    independent = 40 * 39 * 85 / 18
    assert float(np.var(pairs)) / independent == pytest.approx(_inflation(40, 0.6), rel=0.08)
    assert _inflation(40, 0.0) == 1


def test_the_median_of_cycles_with_checkpoints_is_known() -> None:
    kind = Cycles(0.02, 0.4)
    drawn = kind.draw(np.random.default_rng(1), 1, 400_000)
    assert kind.median == pytest.approx(float(np.median(drawn)), rel=1e-3)


def test_the_page_has_every_table() -> None:
    text = PAGE.read_text()
    for name in TABLES:
        begin, end = marks(name, MARK)
        assert text.count(begin) == text.count(end) == 1
        assert "|" in text.partition(begin)[2].partition(end)[0]


def test_single_slow_runs_neither_hide_a_difference_nor_make_one() -> None:
    slow = DISTURBED["one run in twenty is 40% slower"]
    assert called(slow, 0.01, 60, 0.05).faster >= 0.8, "of the mean of all pairs it were a half"
    assert called_different(slow, 0.01, 60) <= 0.07


@pytest.mark.parametrize("name", mostly_thorough(DISTURBED, "every third run is 10% slower"))
def test_the_same_twice_is_seldom_called_different(name: str) -> None:
    assert called_different(DISTURBED[name], 0.003, 150) <= 0.1
