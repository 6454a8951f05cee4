"""Outages out of what clients did: gaps, which event they belong to, and when the service was as before."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest

from dsbench.archive.conditions import Commits
from dsbench.read.answer import _say_outages
from dsbench.read.subjects.outage import (
    EventResult,
    _choose_longest,
    _lengths,
    _median,
    _summary,
    add_commits,
    say_lost,
    say_summary,
)
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
    assert isnan(blind.rate_ns), "nor is it known when it was as before"
    usual = [pause(0, 0.5, 0.6)]
    (seen,) = find_outages([(2 * S, 3 * S)], usual, 1, CALM, 10 * S, blind_ns=30 * MS)
    assert seen.length_ns == 0, "what is missing is shorter than what clients waited without it"


def test_a_median_of_events_has_an_interval_from_six_on() -> None:
    assert median_of([3.0, 1.0, 2.0]).value == 2.0
    assert isnan(median_of([3.0, 1.0, 2.0, 4.0, 5.0]).low), "five hold it with 93.75%"
    six = median_of([3.0, 1.0, 2.0, 4.0, 5.0, inf])
    assert (six.value, six.low, six.high) == (3.5, 1.0, inf)
    assert isnan(median_of([]).value)


def test_a_backlog_that_is_done_is_a_rate_that_is_back() -> None:
    """100/s are due. The second before has 20 more by chance; the first of the three after it does the backlog."""
    rows = course((100, 1), (140, 1), (40, 1), (0, nan), (190, 1200), (92, 1), (95, 1), (93, 1))
    pauses = [pause(0, 2.4, 4.3)]
    due, unasked = (find_outages([(2.5 * S, 4 * S)], pauses, 1, rows, 8 * S, due_tps=tps)[0] for tps in (100.0, None))
    assert due.rate_ns == pytest.approx(1.8 * S), "not before the service was back"
    assert unasked.rate_ns == inf, "a closed loop has no backlog: 93.3 are below 95% of 120"
    assert due.p99_ns == pytest.approx(2.5 * S)


def test_what_could_not_be_seen_counts_as_long() -> None:
    assert _median([3.0, 3.2, nan]) == 3.2
    assert isnan(_median([3.0, nan]))
    assert isnan(_median([nan]))
    assert _median([3.0, inf, inf]) == inf
    assert isnan(_median([1.0, inf, nan])), "the unknown one is in the middle"


def _event(length_s: float, group: str = "", cycle: int = 1, error: str = "") -> EventResult:
    gaps = (Standstill(0, length_s * S, length_s * S),) if length_s > 0 else ()
    outage = Outage(0.0, gaps, 0.0, 0.0, blind=isnan(length_s))
    return EventResult(1, cycle, 1, "kill", group, outage, 0.0, error, "")


class _Seen:
    """What ``_lengths`` reads."""

    def __init__(self, *events: EventResult) -> None:
        self.events = {1: events}

    def of(self, _result: object) -> _Seen:
        return self


def test_the_measure_leaves_out_what_is_not_known_or_failed() -> None:
    assert _lengths(_Seen(_event(nan), _event(nan, cycle=2), _event(1.3, cycle=3))) == {1: 1.3}  # type: ignore[arg-type]
    failed = [_event(0.0, error="no program"), _event(0.0, cycle=2, error="no program"), _event(1.3, cycle=3)]
    assert _lengths(_Seen(*failed)) == {1: 1.3}  # type: ignore[arg-type]
    assert isnan(_lengths(_Seen(_event(nan)))[1])  # type: ignore[arg-type]
    assert _lengths(_Seen(_event(0.0), _event(0.5))) == {1: 0.5}  # type: ignore[arg-type]


def test_writers_are_told_of_where_readers_have_another_server() -> None:
    write = [_event(0.352, "write"), _event(0.1, "write", 2)]
    read = [_event(0.036, "read"), _event(0.2, "read", 2)]
    chosen = _choose_longest([write, read], [[_summary(write)], [_summary(read)]])
    assert chosen == tuple(write), "their median is 226 ms, that of the readers 118 ms"
    assert _summary(chosen).named == "kill, clients of write"
    unknown = [[_event(nan, "read")], [_event(0.0, "write")]]
    assert _choose_longest(unknown, [[_summary(one)] for one in unknown])[0].group == "read", "it may have been longer"
    assert _choose_longest([[_event(nan, "write")], read], [[_summary([_event(nan, "write")])], [_summary(read)]]) == tuple(read)


def test_a_service_that_went_on_is_said_with_what_could_be_missed() -> None:
    usual = [pause(0, 0.5, 0.55)]
    (found,) = find_outages([(2 * S, 3 * S)], [*usual, pause(0, 2.1, 2.145)], 1, CALM, 10 * S)
    assert (found.length_ns, found.usual_ns) == (0.0, 50 * MS)
    summary = _summary([replace(_event(0.0), outage=found)])
    assert say_summary(summary) == "Kill: the service did not stop for more than 50 ms."
    assert _say_outages([summary]) == "went on without a pause of more than 50 ms (kill)"
    some = say_summary(_summary([_event(2.0), _event(nan, cycle=2)]))
    assert "clients were back" not in some, "not known"
    unknown = _summary([_event(nan)])
    assert _say_outages([unknown]) == "had outages of unknown length (kill)"


def test_a_loss_of_one_kind_is_not_hidden_by_another() -> None:
    def all_of(*kinds: tuple[int, int, int]) -> tuple[int, int | None, int | None]:
        found = add_commits([Commits(found=here, acknowledged=said, unknown=open_) for here, said, open_ in kinds])
        return found.lost, found.lost_at_most, found.unknown

    assert all_of((102, 100, 2), (98, 100, 0)) == (2, 2, 2), "what took place of unknown end is no found loss"
    assert all_of((105, 100, 5), (97, 100, 3)) == (3, 6, 8)


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
