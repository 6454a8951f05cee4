"""The search of the highest rate at which an objective holds: where it looks, and whether its interval keeps its word."""

from __future__ import annotations

from math import exp, inf

import numpy as np
import pytest
from tests.read.searches import ALLOWED, SEARCH, SERVERS, searched

from dsbench.spec.objective import Objective, objectives
from dsbench.stats.capacity import SHORT, Capacity, Step, estimate, lowest, next_step
from dsbench.stats.cycles import KindOutcomes
from dsbench.stats.search import count_missed
from fixtures.thorough import mostly_thorough

LIMIT_S = 0.02


STEADY = [(name, 10) for name in SERVERS if "still" not in name and "speed" not in name]


@pytest.mark.parametrize(("name", "searches"), mostly_thorough(STEADY, STEADY[0]))
def test_searches_find_a_known_capacity_and_their_intervals_hold_it(name: str, searches: int) -> None:
    server, random = SERVERS[name], np.random.default_rng(20261123)
    found = [searched(server, random) for _ in range(searches)]
    ratios = np.array([one.rate / server.capacity for one, _ in found])
    assert np.abs(ratios - 1).max() < 0.15
    assert (np.abs(ratios - 1) <= 0.05).mean() >= 0.8
    assert np.mean([one.low <= server.capacity <= one.high for one, _ in found]) >= 0.8
    # A sweep of ten rates of a minute each takes ten minutes.
    assert max(seconds for _, seconds in found) <= SEARCH.budget_s


@pytest.mark.thorough
def test_a_server_that_stalls_has_an_interval_that_is_wide_enough() -> None:
    server, random = next(server for name, server in SERVERS.items() if "still" in name), np.random.default_rng(7)
    found = [searched(server, random)[0] for _ in range(8)]
    assert sum(one.low <= server.capacity <= one.high for one in found) >= 7


@pytest.mark.thorough
def test_a_server_whose_speed_changes_has_an_interval_that_is_wide_enough() -> None:
    server, random = next(server for name, server in SERVERS.items() if "speed" in name), np.random.default_rng(7)
    found = [searched(server, random)[0] for _ in range(8)]
    assert sum(one.low <= server.capacity <= one.high for one in found) >= 6


def test_cycles_that_differ_by_more_than_their_rates_still_tell_an_interval() -> None:
    """A search of PostgreSQL 15 on a virtual machine, p99=20ms: four steps side by side made a slope of 83, and the
    interval had no end."""
    steps = [(4992, 8, 2), (5817, 8, 32787), (5331, 8, 141), (5480, 8, 269), (5393, 8, 1332), (5523, 12, 6066),
             (5262, 18, 1698), (5386, 27, 12657), (5173, 27, 3609), (5252, 32, 29237), (4984, 32, 13429), (4794, 8, 4),
             (4794, 8, 0), (4794, 8, 0)]  # fmt: skip
    found = estimate([Step(rate, seconds, rate * seconds, missed) for rate, seconds, missed in steps], ALLOWED, 0.02)
    assert found is not None
    assert 2500 < found.low < 4700 < found.rate < 5000 < found.high < 5300
    assert found.steps >= 10


def exact(rates: list[float], capacity: float, slope: float, count: float = 1e6) -> list[Step]:
    """Steps whose shares lie on the line."""
    share = [1 / (1 + (1 - ALLOWED) / ALLOWED * exp(-slope * (rate / capacity - 1))) for rate in rates]
    return [Step(rate, 10, count, count * one) for rate, one in zip(rates, share, strict=True)]


def test_shares_on_a_line_give_its_crossing() -> None:
    found = estimate(exact([480, 490, 495, 505, 510, 520], 500, 30), ALLOWED, 30 / 500)
    assert found is not None
    assert found.rate == pytest.approx(500, rel=2e-3)
    assert found.low < 500 < found.high
    assert found.reach < 0.02


def test_what_lies_beyond_all_steps_is_not_known() -> None:
    assert estimate([Step(100, 10, 1000, 0), Step(200, 10, 2000, 3)], ALLOWED) is None
    assert estimate([Step(100, 10, 1000, 900)], ALLOWED) is None


def test_few_clusters_make_a_wide_interval() -> None:
    """The same shares, but all misses in clusters: steps disagree, and the interval says so."""
    rates = [480.0, 490.0, 495.0, 505.0, 510.0, 520.0]
    sure = estimate(exact(rates, 500, 30, 2e4), ALLOWED, 30 / 500)
    rough = [Step(s.rate, 10, s.count, s.missed * (0.1 if at % 2 else 1.9))
             for at, s in enumerate(exact(rates, 500, 30, 2e4))]  # fmt: skip
    unsure = estimate(rough, ALLOWED, 30 / 500)
    assert sure is not None
    assert unsure is not None
    assert unsure.dispersion > 20 > sure.dispersion
    assert unsure.reach > 3 * sure.reach


def test_a_search_climbs_in_short_steps_and_falls_back_between() -> None:
    wanted = [(ALLOWED, LIMIT_S)]
    first = next_step([[]], wanted, SEARCH, 1000.0)
    assert first is not None
    assert (first.rate, first.seconds, first.whole) == (1000.0, SEARCH.seconds * SHORT, False)
    kept = Step(1000, 2, 2000, 0, whole=False)
    second = next_step([[kept]], wanted, SEARCH, 1000.0)
    assert second is not None
    assert second.rate == pytest.approx(1300)
    third = next_step([[kept, Step(1300, 2, 2600, 900, whole=False)]], wanted, SEARCH, 1000.0)
    assert third is not None
    assert third.rate == pytest.approx((1000 * 1300) ** 0.5)
    assert third.whole


def test_a_step_in_which_the_program_stood_still_is_made_again() -> None:
    wanted = [(ALLOWED, LIMIT_S)]
    kept = Step(1000, 2, 2000, 0, whole=False)
    spoilt = Step(1300, 2, 2600, 2600, whole=False, spoilt=True)
    again = next_step([[kept, spoilt]], wanted, SEARCH, 1000.0)
    assert again is not None
    assert again.rate == pytest.approx(1300)
    first = next_step([[Step(1000, 2, 2000, 2000, whole=False, spoilt=True)]], wanted, SEARCH, 5.0)
    assert first is not None
    assert first.rate == 1000


def test_such_a_step_takes_its_time_and_counts_for_nothing() -> None:
    line = exact([480, 490, 495, 505, 510, 520], 500, 30)
    spoilt = Step(470, 10, 4700, 4700, spoilt=True)
    assert estimate([*line, spoilt], ALLOWED, 30 / 500) == estimate(line, ALLOWED, 30 / 500)
    most = int(SEARCH.budget_s / (10 + SEARCH.between_s))
    assert next_step([[spoilt] * most], [(ALLOWED, LIMIT_S)], SEARCH, 470.0) is None


def test_a_slow_server_gets_short_steps_that_are_long_enough() -> None:
    step = next_step([[]], [(0.01, 1.0)], SEARCH, 50.0)
    assert step is not None
    assert step.seconds == pytest.approx(6.0), "three misses are expected of 300 transactions"


@pytest.mark.parametrize("missed", [0, 1000])
def test_a_search_gives_up_where_every_step_says_the_same(missed: int) -> None:
    steps: list[Step] = []
    while (step := next_step([steps], [(ALLOWED, LIMIT_S)], SEARCH, 100.0)) is not None:
        steps.append(Step(step.rate, step.seconds, 1000, missed, step.whole))
    assert len(steps) <= 14
    assert lowest([steps], [(ALLOWED, LIMIT_S)]) is None


def test_a_short_step_does_not_keep_a_rate_that_a_whole_one_misses() -> None:
    short = [Step(rate, 0.12, 300, missed, whole=False) for rate, missed in ((1500, 0), (1980, 0), (2570, 1), (3340, 100))]
    whole = [Step(rate, 0.5, rate / 2, 0.4 * rate) for rate in (2557, 2849, 2929)]
    found = estimate([*short, *whole], ALLOWED, 0.03)
    assert found is not None
    assert 1980 < found.rate < 2557
    step = next_step([[short[2], *whole]], [(ALLOWED, 0.03)], SEARCH, 2570.0)
    assert step is not None
    assert step.rate < 2557


def flat() -> list[Step]:
    """Steps of M/M/4 with 5 ms and p99=30ms, whose capacity is 600/s: by chance they hardly tell how misses grow."""
    shares = {711.5: 0.0052, 547.3: 0.0109, 468.3: 0.003, 491.7: 0.0082, 499.5: 0.004, 502.9: 0.0047, 522.6: 0.0026,
              541.1: 0.0087, 502.7: 0.0027, 517.3: 0.0046}  # fmt: skip
    return [Step(811.2, 0.6, 487, 487, whole=False), *(Step(rate, 3, 3 * rate, 3 * rate * one) for rate, one in shares.items())]


def test_no_step_lies_as_far_as_an_overload() -> None:
    step = next_step([flat()[:4]], [(ALLOWED, 0.03)], SEARCH, 480.0)
    assert step is not None
    assert 711.5 < step.rate < 811.2


def test_a_rate_at_which_most_steps_are_overloaded_is_not_told() -> None:
    missed = [Step(793.4, 3, 2380, 2380 * share) for share in (0.48, 0.53, 0.75)]
    found = estimate([*flat(), *(Step(rate, 3, 3 * rate, 3 * rate) for rate in (1094, 1112, 1119)), *missed], ALLOWED, 0.03)
    assert found is not None
    assert found.rate < 780


def test_a_chance_overload_below_steps_that_keep_the_objective_does_not_count() -> None:
    kept = exact([480, 490, 495, 505, 510, 520], 500, 30)
    assert estimate([*kept, Step(470, 10, 4700, 3000)], ALLOWED, 30 / 500) == estimate(kept, ALLOWED, 30 / 500)


def test_of_several_objectives_the_lowest_counts() -> None:
    low, high = exact([300, 350, 390, 410, 450], 400, 20), exact([300, 350, 390, 410, 450], 380, 20)
    found = lowest([low, high], [(ALLOWED, 0.05), (ALLOWED, 0.05)])
    assert found is not None
    assert found[0] == 1
    assert found[1].rate == pytest.approx(380, rel=1e-2)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("p99=20ms", Objective("p99=20ms", 0.01, 20_000_000)),
        ("p99.9=1s", Objective("p99.9=1s", 0.001, 1_000_000_000)),
        ("p50=250us", Objective("p50=250us", 0.5, 250_000)),
        ("new_order.p90=5s", Objective("new_order.p90=5s", 0.1, 5_000_000_000, "new_order")),
        ("failed=0.1%", Objective("failed=0.1%", 0.001)),
    ],
)
def test_an_objective_is_read(text: str, known: Objective) -> None:
    assert objectives(text) == (known,)
    assert objectives(f"p10=1s, {text}")[1] == known


@pytest.mark.parametrize("text", ["p99", "p99=20", "p99=-1ms", "p5=1s", "p99.999=1s", "failed=2", "x=1s", "p99=1s,p99=2s"])
def test_what_is_no_objective_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"cannot read|twice"):
        objectives(text)


def test_starts_that_were_never_made_fall_to_all_kinds_by_their_shares() -> None:
    """Of 100 starts a second for 10 s 300 were never made; those of the last second may yet have kept the objective."""
    # The starts are counted with the first kind, whatever they would have been.
    kinds = {"buy": KindOutcomes(525, 0, 0, 0, skipped_starts=300), "look": KindOutcomes(175, 0, 0, 0, skipped_starts=0)}
    asked = [Objective("", 0.1, 1_000_000_000, kind) for kind in ("", "buy", "look")]
    found = [count_missed(one, kinds, None, 100.0) for one in asked]
    assert found == [(900, 200), (675, 150), (225, 50)]


def test_an_objective_in_words() -> None:
    words = [one.words for one in objectives("p99=20ms,new_order.p90=5s,failed=0.1%,p99.9=250us")]
    assert words == ["99% below 20 ms", "90% of new_order below 5 s", "at most 0.1% failed", "99.9% below 250 µs"]


def test_an_open_end_is_infinite() -> None:
    assert Capacity(100, 0, inf, 10, 1, 4, 1).reach == inf
