"""The rules between coordinator and nodes, without a network: leases, clocks, who is admitted, who starts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.cluster.clock import PINGS, Estimate, estimate
from dsbench.cluster.lease import BEATS, Lease
from dsbench.cluster.roster import Roster
from dsbench.cluster.turn import Turn

VERSIONS = {"dsbench": "1", "distributed": "2", "python": "3.11"}
FACTS: Mapping[str, Any] = {"versions": VERSIONS, "pid": 7}


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.floats(-5, 0, allow_nan=False), st.floats(0, 3, allow_nan=False))
def test_the_node_stops_before_it_is_given_up(beat_sent: float, travelled: float) -> None:
    clock = Time()
    lease = Lease(6.0, clock)
    clock.now += 5
    sent = clock.now + beat_sent
    lease.renew(sent)
    roster = admitted("node-1")
    roster.beat("node-1", "tls://node-1", (0, 0, 0), sent + travelled)
    for _ in range(400):
        clock.now += 0.05
        if roster.overdue(clock.now):
            break
    assert roster.overdue(clock.now)
    assert lease.expired


def test_a_lease_is_renewed_from_when_the_beat_was_sent() -> None:
    clock = Time()
    lease = Lease(6.0, clock)
    assert lease.beat_s == 6.0 / BEATS
    clock.now = 105.0
    lease.renew(104.0)
    lease.renew(101.0)  # an answer that was overtaken changes nothing
    clock.now = 109.9
    assert not lease.expired
    clock.now = 110.0
    assert lease.expired


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)), min_size=PINGS, max_size=PINGS),
)
def test_the_offset_is_within_its_error_however_uneven_the_ways(offset: int, ways: list[tuple[int, int]]) -> None:
    here = [10**18]
    pending = iter(ways)

    async def ask() -> int:
        there, back = next(pending)
        here[0] += there
        answer = here[0] + offset
        here[0] += back
        return answer

    found = asyncio.run(estimate(ask, lambda: here[0]))
    assert abs(found.offset_ns - offset) <= found.error_ns
    assert found.error_ns == min((there + back + 1) // 2 for there, back in ways)
    assert found.here(here[0] + found.offset_ns) == here[0]


def admitted(*members: str, nodes: int = 4) -> Roster:
    roster = Roster(nodes, 6.0, VERSIONS)
    for member in members:
        assert roster.enrol(member, "t", "host", FACTS, 100.0) == ""
        roster.present(member, f"tls://{member}", 100.0)
    return roster


@pytest.mark.parametrize("what", VERSIONS)
def test_another_version_is_named(what: str) -> None:
    facts = {"versions": {**VERSIONS, what: "9"}}
    assert Roster(1, 6.0, VERSIONS).enrol("node-1", "t", "a", facts, 0.0) == (
        f"it has {what} 9, the coordinator has {VERSIONS[what]}"
    )


def test_numbers_and_names_do_not_depend_on_who_comes_first() -> None:
    roster = admitted("node-10", "node-2", "node-1")
    roster.settle()
    assert [(m.member, m.number, m.name) for m in roster.here] == [
        ("node-1", 0, "host"), ("node-2", 1, "host-2"), ("node-10", 2, "host-10"),
    ]  # fmt: skip


def test_no_node_can_take_the_name_that_another_gets() -> None:
    roster = Roster(3, 6.0, VERSIONS)
    for member, name in (("node-1", "host-3"), ("node-2", "host"), ("node-3", "host")):
        roster.enrol(member, "t", name, FACTS, 100.0)
    roster.settle()
    assert [m.name for m in roster.numbered()] == ["host-3", "host", "host-3-3"]


def test_who_comes_back_keeps_its_place() -> None:
    roster = admitted("node-1", "node-2", nodes=2)
    roster.settle()
    assert "has its 2 nodes" in roster.enrol("node-3", "x", "c", FACTS, 101.0)
    assert "is in use by host" in roster.enrol("node-2", "another", "thief", FACTS, 101.0)
    roster.lose("node-2", "the cable")
    assert not roster.beat("node-2", "tls://node-2", (0, 0, 0), 101.0)
    assert [m.member for m in roster.here] == ["node-1"]
    assert roster.enrol("node-2", "t", "host", FACTS, 102.0) == ""
    roster.present("node-2", "tls://b2", 102.0)
    assert [(m.number, m.name) for m in roster.here] == [(0, "host"), (1, "host-2")]
    roster.lose("node-2", "killed")
    assert roster.enrol("node-2", "a new process", "host", FACTS, 103.0) == ""
    roster.present("node-2", "tls://b3", 103.0)
    assert (roster.here[1].number, roster.here[1].losses) == (1, ["the cable", "killed"])


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "local", "..", "x" * 500])
def test_a_node_cannot_name_a_path(name: str) -> None:
    roster = Roster(1, 6.0, VERSIONS)
    roster.enrol("node-1", "t", name, FACTS, 0.0)
    shown = roster.members["node-1"].name
    assert shown not in ("", "local", ".", "..")
    assert "/" not in shown
    assert len(shown) <= 70


def turn(*members: str) -> Turn:
    return Turn("scale 1, cycle 1 #1", {member: {} for member in members})


def test_only_who_is_armed_in_time_starts() -> None:
    cycle = turn("a", "b", "c")
    assert not cycle.arm("a", 1), "there is no start yet"
    cycle.ready = {"a": Estimate(0, 1), "b": Estimate(0, 1)}
    assert cycle.connecting == ["c"]
    cycle.start_ns = 10
    assert cycle.arm("a", 5)
    cycle.decide()
    assert not cycle.arm("b", 4)
    assert cycle.waiting == ["a"]
    assert set(cycle.missing) == {"b", "c"}


def test_a_result_counts_once_and_not_when_it_is_late() -> None:
    cycle = turn("a", "b")
    assert cycle.deliver("a", b"1")
    assert cycle.deliver("a", b"2"), "a repetition is acknowledged"
    assert cycle.results == {"a": b"1"}
    cycle.lose("b", "no beat")
    assert not cycle.deliver("b", b"3")
    assert not cycle.deliver("stranger", b"4")
    cycle.lose("a", "it has given its result already")
    assert cycle.missing == {"b": "no beat"}
    assert cycle.waiting == []


def test_the_coordinators_own_sleep_is_not_the_nodes_fault() -> None:
    roster = admitted("node-1")
    roster.grant(20.0)
    assert roster.overdue(125.9) == []
    assert [m.member for m in roster.overdue(126.0)] == ["node-1"]
