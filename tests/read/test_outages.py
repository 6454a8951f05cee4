"""Outages out of what clients did: gaps, which event they belong to, and when the service was as before."""

from __future__ import annotations

from math import inf, isnan, nan

import numpy as np
import pytest

from dsbench.archive.conditions import Commits
from dsbench.read.subjects.outage import add_commits, say_lost
from dsbench.stats.outages import Outage, Pause, Standstill, find_gaps, find_outages, median_of

MS, S = 1e6, 1e9


def course(*rows: tuple[float, float]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Transactions, and p99 in ms, of each second."""
    return np.array([(count, p99 * MS) for count, p99 in rows], dtype=float)


CALM = course(*[(100, 1)] * 10)


def pause(client: int, began: float, ended: float, wanted: float | None = None) -> Pause:
    """Times in s; a client of a closed loop wants its next transaction at once."""
    return Pause(client, began * S, (began if wanted is None else wanted) * S, ended * S)


def find(events: list[tuple[float, float]], *pauses: Pause, clients: int = 1, rows: object = CALM) -> tuple[Outage, ...]:
    times = [(at * S, done * S) for at, done in events]
    return find_outages(times, pauses, clients, rows, len(rows) * S)  # type: ignore[arg-type]


def test_a_gap_is_where_all_clients_pause_at_once() -> None:
    pauses = [pause(0, 1, 3), pause(1, 1.5, 3.2), pause(2, 1.2, 2.9), pause(0, 5, 6), pause(1, 5.5, 7)]
    assert find_gaps(pauses, 3) == (Standstill(1.5 * S, 2.9 * S, 3.2 * S),), "two of three is none"
    assert find_gaps(pauses[:2], 2) == (Standstill(1.5 * S, 3 * S, 3.2 * S),)
    assert find_gaps([pause(0, 1, 2), pause(0, 2, 3)], 1) == (Standstill(1 * S, 2 * S, 2 * S), Standstill(2 * S, 3 * S, 3 * S))
    assert find_gaps([], 3) == ()
    assert find_gaps([pause(0, 0, 0.009)], 1) == (), "shorter than can be told"


def test_a_client_that_never_comes_back_leaves_the_service_up() -> None:
    assert find_gaps([pause(0, 1, 2), pause(1, 1, inf)], 2) == (Standstill(1 * S, 2 * S, inf),)
    assert find_gaps([pause(0, 1, inf), pause(1, 2, inf)], 2) == (Standstill(2 * S, inf, inf),)


def test_who_wants_nothing_is_no_outage_and_hides_none() -> None:
    idle = pause(1, 0.5, inf, inf)
    assert find_gaps([pause(0, 3, inf, inf), idle], 2) == (), "an open loop waits for its next start at the end"
    assert find_gaps([pause(0, 1, 4, 3.5), idle], 2) == (Standstill(3.5 * S, 4 * S, 4 * S),), "wanted half a second"
    ended_early = pause(1, 0.2, inf, inf)
    assert find_gaps([pause(0, 2, 3), ended_early], 2) == (Standstill(2 * S, 3 * S, 3 * S),)
    late = pause(1, 0.5, 9, 8.9)
    assert find_gaps([pause(0, 2, 3), late], 2) == (Standstill(2 * S, 3 * S, 3 * S),), "it came long after on its own"


def test_gaps_are_of_the_event_that_makes_them() -> None:
    first, second = find(
        [(2, 2.4), (6, 8)], pause(0, 1.99, 2.5), pause(0, 2.6, 3.0), pause(0, 4.0, 4.3), pause(0, 5.9, 9)
    )
    assert [gap.began_ns / S for gap in first.gaps] == [1.99, 2.6], "what comes long after it is not its doing"
    assert (first.length_ns, first.without_ns) == (pytest.approx(0.51 * S), pytest.approx(0.91 * S))
    assert [gap.length_ns / S for gap in second.gaps] == [pytest.approx(3.1)]
    both = find([(2, 3), (3, 4)], pause(0, 1.99, 4.2))
    assert [one.length_ns / S for one in both] == [pytest.approx(2.21)] * 2, "the second came while nothing was served"
    first, second = find([(1, 2), (3, 3.2)], pause(0, 1, 2.01), pause(0, 2.999, 3.3))
    assert [one.length_ns / S for one in (first, second)] == [pytest.approx(1.01), pytest.approx(0.301)]
    (nothing,) = find([(2, 2)])
    assert (nothing.gaps, nothing.length_ns, nothing.all_ns, nothing.rate_ns) == ((), 0.0, 0.0, 0.0)
    (usual,) = find([(2, 2)], pause(0, 0.5, 0.53), pause(0, 2.0, 2.03), pause(0, 2.1, 2.12))
    assert usual.gaps == (), "as long as without an event"


def test_the_rate_is_back_where_three_seconds_have_95_per_cent_of_it() -> None:
    rows = [(100, 2), (104, 2), (96, 2), (20, 900), (60, 40), (90, 3), (94, 2.1), (104, 2), (99, 2), (100, 2)]
    (found,) = find([(3.25, 3.8)], pause(0, 3.2, 3.9), rows=course(*rows))
    assert found.rate_ns == pytest.approx((5 - 3.25) * S), "90, 94 and 104 are 96 on average"
    assert found.p99_ns == pytest.approx((6 - 3.25) * S), "the mean of 2.1, 2 and 2 is below 2 / 0.95"
    (never,) = find([(3.25, 3.8)], pause(0, 3.2, 3.9), rows=course(*rows[:5], *[(50, 4)] * 5))
    assert (never.rate_ns, never.p99_ns) == (inf, inf)
    (late,) = find([(7.5, 7.8)], pause(0, 7.4, 7.9), rows=course(*rows[:8], (99, 2), (99, 2)))
    assert isnan(late.rate_ns), "two seconds are left"


def test_what_did_not_recover_is_no_measure_of_the_next() -> None:
    rows = course(*[(100, 1)] * 3, *[(40, 9)] * 9)
    first, second = find([(3, 3.5), (8, 8.5)], pause(0, 3, 3.5), pause(0, 8, 8.5), rows=rows)
    assert first.rate_ns == inf
    assert isnan(second.rate_ns)


def test_what_nobody_knows_is_not_told() -> None:
    (early,) = find([(0.5, 0.8)], pause(0, 0.4, 0.9))
    assert isnan(early.rate_ns), "no whole second before it"
    rows = course((100, 1), (100, 1), (0, nan), (0, nan))
    (gone,) = find([(2, 3)], pause(0, 1.9, inf), rows=rows)
    assert (gone.length_ns, gone.rate_ns, gone.p99_ns) == (inf, inf, inf)
    (blind,) = find_outages([(2 * S, 3 * S)], [], 1, CALM, 10 * S, blind_ns=30 * MS)
    assert isnan(blind.length_ns), "clients had more pauses than are kept"
    usual = [pause(0, 0.5, 0.6)]
    (seen,) = find_outages([(2 * S, 3 * S)], usual, 1, CALM, 10 * S, blind_ns=30 * MS)
    assert seen.length_ns == 0, "what is missing is shorter than what clients waited without it"


def test_a_median_of_events_has_an_interval_from_six_on() -> None:
    assert median_of([3.0, 1.0, 2.0]).value == 2.0
    assert isnan(median_of([3.0, 1.0, 2.0, 4.0, 5.0]).low), "five hold it with 93.75%"
    six = median_of([3.0, 1.0, 2.0, 4.0, 5.0, inf])
    assert (six.value, six.low, six.high) == (3.5, 1.0, inf)
    assert isnan(median_of([]).value)


@pytest.mark.parametrize(
    ("found", "unknown", "words"),
    [
        (1000, 0, "none of 1,000 acknowledged commits is lost"),
        (1004, 4, "none of 1,000 acknowledged commits is lost"),
        (1001, 4, "no loss shows among 1,000 acknowledged commits (3 of unknown end could hide one)"),
        (997, 0, "3 of 1,000 acknowledged commits are lost"), (999, 0, "1 of 1,000 acknowledged commits is lost"),
        (997, 2, "3 to 5 of 1,000 acknowledged commits are lost"),
        (997, None, "3 or more of 1,000 acknowledged commits are lost"),
        (1000, None, "no loss shows among 1,000 acknowledged commits (those of a lost node could hide one)"),
    ],
)  # fmt: skip
def test_lost_commits_are_told_as_far_as_they_are_known(found: int, unknown: int | None, words: str) -> None:
    assert say_lost(add_commits([Commits(found=found, acknowledged=1000, unknown=unknown)])) == words
