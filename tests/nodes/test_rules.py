"""The rules between a run and its nodes, without a network: leases, clocks, leads, names, who starts."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dsbench.measure.loaders import now_ns
from dsbench.measure.loaders.results import MISSED
from dsbench.measure.nodes import rules
from dsbench.measure.nodes.dask_setup import LINES, SparingLog
from dsbench.measure.nodes.members import Member, plain_name, settle
from dsbench.measure.nodes.node import Interrupted, Node, _spec
from dsbench.measure.nodes.nodes import Turn, Work
from dsbench.measure.nodes.outcome import NodeLimits, decode
from dsbench.measure.nodes.rules import PINGS, Lease, estimate
from dsbench.spec import RunSpec

KEY = "scale 1, cycle 1 #1"
ENDED = "no message from the coordinator: the lease expired"


class Clock:
    """Goes on when it is told."""

    def __init__(self) -> None:
        self.at_s = 100.0

    def __call__(self) -> float:
        return self.at_s


def test_a_lease_runs_out_unless_an_answer_was_heard() -> None:
    clock = Clock()
    lease = Lease(6.0, clock)
    clock.at_s = 104.0
    lease.renew(103.0)
    lease.renew(101.0)  # an answer that was overtaken changes nothing
    clock.at_s = 108.9
    assert not lease.expired
    clock.at_s = 109.0
    assert lease.expired


@pytest.mark.skipif(sys.platform != "linux", reason="the clock that counts sleep has another name elsewhere")
def test_a_lease_counts_by_the_clock_that_goes_on_in_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(6.0)
    # An hour of sleep, after which the monotonic clock is where it was.
    asleep = {time.CLOCK_BOOTTIME: lease.clock() + 3600, time.CLOCK_MONOTONIC: time.monotonic()}
    monkeypatch.setattr(time, "clock_gettime", asleep.__getitem__)
    assert lease.expired


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3)), min_size=1, max_size=8))
def test_the_node_stops_before_it_is_given_up(ways: list[tuple[float, float]]) -> None:
    """Beats with any delays there and back, of which the last answer is heard and nothing after it."""
    clock, node = Clock(), Node()
    node.lease = Lease(6.0, clock)
    heard_s = clock.at_s
    for heard, (there, back) in enumerate(ways):
        clock.at_s += there
        asyncio.run(node.beat(heard))
        clock.at_s += back
        heard_s = clock.at_s
    clock.at_s = heard_s + 6.0
    assert node.lease.expired, "the coordinator gives it up now"


def test_an_answer_that_nobody_heard_renews_nothing() -> None:
    clock, node = Clock(), Node()
    node.lease = Lease(6.0, clock)
    asyncio.run(node.beat(0))
    clock.at_s += 5.0
    asyncio.run(node.beat(0))  # The first answer was lost.
    clock.at_s += 1.0
    assert node.lease.expired


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
        answer = here[0] - offset
        here[0] += back
        return answer

    found = asyncio.run(estimate(ask, PINGS, lambda: here[0]))
    assert abs(found.offset_ns - offset) <= found.error_ns
    assert found.error_ns == min((there + back + 1) // 2 for there, back in ways)
    assert found.there(here[0] + found.offset_ns) == here[0]


def test_the_lead_grows_when_a_start_was_missed_and_shrinks_again() -> None:
    own = rules.Lead(2)
    quiet = own.ns([])
    assert quiet == rules.BASE_NS + 2 * rules.PER_NODE_NS
    assert own.ns([1_000_000, 5]) == quiet + rules.ERRORS * 1_000_000
    leads = []
    for was_missed in (True, True, False, False, False):
        own.learn(missed=was_missed)
        leads.append(own.ns([]) // quiet)
    assert leads == [3, 9, 3, 1, 1]
    for _ in range(20):
        own.learn(missed=True)
    assert own.ns([]) < 30 * 10**9


def member(name: str, shown: str) -> Member:
    return Member(name, shown, {}, "tls://somewhere", None, None, 0.0)


def test_numbers_and_names_do_not_depend_on_who_comes_first() -> None:
    members = [member("node-10", "host"), member("node-2", "host"), member("node-1", "host")]
    settle(members)
    assert sorted((m.number, m.member, m.name) for m in members) == [
        (0, "node-1", "host"), (1, "node-2", "host-2"), (2, "node-10", "host-10"),
    ]  # fmt: skip


def test_no_node_can_take_the_name_that_another_gets() -> None:
    members = [member("node-1", "host-3"), member("node-2", "host"), member("node-3", "host")]
    settle(members)
    assert [m.name for m in members] == ["host-3", "host", "host-3-3"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "local", "..", "x" * 500, "x\nERROR: mine\x1b[2J"])
def test_a_node_cannot_name_a_path_or_break_a_line(name: str) -> None:
    shown = plain_name(name)
    assert shown not in ("", "local", ".", "..")
    assert "/" not in shown
    assert shown.isprintable()
    assert len(shown) <= 70


def test_only_who_is_armed_in_time_starts() -> None:
    cycle = Turn(KEY, {"a": Work({}), "b": Work({}), "c": Work({})})
    assert cycle.arm(cycle.works["a"], 5)
    assert not cycle.arm(cycle.works["b"], 0), "the start was too soon for it"
    cycle.works["c"].lose("its connection ended")
    assert not cycle.arm(cycle.works["c"], 5)
    assert cycle.decide() == ["b"]
    assert not cycle.arm(cycle.works["b"], 4)


def test_the_first_reason_for_a_loss_counts_and_a_result_is_never_lost() -> None:
    work = Work({})
    work.lose("no heartbeat")
    work.lose("later")
    assert (work.missing, work.open) == ("no heartbeat", False)
    given_ = Work({}, data=b"1")
    given_.lose("its connection ended")
    assert (given_.missing, given_.data) == ("", b"1")


def test_the_log_is_no_weapon() -> None:
    lines: list[str] = []
    log = SparingLog(lines.append)
    for number in range(1000):
        log("a", f"line {number}")
    log("b", "another kind")
    assert (len(lines), lines[-1]) == (LINES + 1, "another kind")
    log.close()
    assert lines[-1] == f"a: {1000 - LINES} more"


def order(url: str) -> dict[str, Any]:
    spec = RunSpec.model_validate({"target": {"url": url}, "clients": 2, "duration": 3000, "nodes": 1})
    return {
        "kind": "cycle", "url": url, "reads": "", "own": {}, "spec": spec.model_dump(mode="json", exclude={"target"}),
        "scale": 1, "seed": 1, "nodes": 1, "stage": "load", "number": 0, "beside": {"host": "", "roots": []},
    }  # fmt: skip


def test_the_load_ends_when_the_machine_wakes_up_after_its_lease() -> None:
    clock, node = Clock(), Node()
    node.lease = Lease(6.0, clock)

    async def lead() -> None:
        await node.begin(KEY, order("mock:?latency_us=500"))
        await node.ready(KEY)
        assert await node.arm(KEY, now_ns() + 1_500_000_000, 0) > 0
        await node.go(KEY)
        while node._share.totals[1] == 0:
            await asyncio.sleep(0.01)
        clock.at_s += 5.9
        await asyncio.sleep(0.2)
        assert node.working, "it slept for less than its lease"
        clock.at_s += 0.1
        await asyncio.wait_for(node.result(KEY), 60)

    asyncio.run(lead())
    found = decode(node.results[KEY], "n1", NodeLimits(2, 1, 1))
    assert found.course.ended == ENDED
    assert found.result.total("committed") + found.result.total("in_flight") > 0


def test_a_node_that_was_armed_and_not_told_to_go_does_not_load() -> None:
    node = Node()
    node.lease = Lease(600.0)

    async def lead() -> None:
        await node.begin(KEY, order("mock:"))
        await node.ready(KEY)
        assert await node.arm(KEY, now_ns() + 20_000_000, 0) > 0
        await asyncio.sleep(0.05)
        await node.go(KEY)
        await asyncio.wait_for(node.result(KEY), 60)

    asyncio.run(lead())
    found = decode(node.results[KEY], "n1", NodeLimits(2, 1, 1))
    assert (found.course.ended, found.result.total("committed")) == (MISSED, 0)


@pytest.mark.parametrize("own", [{"target": {"url": "mock:"}}, {"nodes": 3}, {"rate": -1.0}, {"duration": "5"}])
def test_a_cycle_has_nothing_of_its_own_but_rate_duration_and_what_fits_to_its_server(own: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _spec({**order("mock:"), "own": own})
    own = {"rate": 1e-6, "duration": 2, "event": "1s:kill", "reads": "standby"}
    spec = _spec({**order("mock:"), "own": own})
    assert (spec.rate, spec.keeps_pauses, spec.reads_elsewhere) == (1e-6, True, True)


@pytest.mark.parametrize("name", ["url", "reads"])
def test_a_node_loads_no_library_of_another_machine(name: str) -> None:
    with pytest.raises(Interrupted, match="do not load libraries"):
        _spec({**order("mock:"), name: "firebird://h//d.fdb?client_library=/x.so"})


def test_a_worker_is_of_one_run_at_a_time() -> None:
    clock, node = Clock(), Node()

    async def lead() -> None:
        assert (await node.enrol("one", 6.0))["busy"] is False
        node.lease = Lease(6.0, clock)
        node.results["a"] = b"of one"
        assert (await node.enrol("other", 6.0)) == {"busy": True}
        assert (await node.enrol("one", 6.0))["results"] == ["a"], "who comes back finds what it left"
        await node.dismiss("the run is complete")
        assert (await node.enrol("other", 6.0))["results"] == []
        node.lease = Lease(6.0, clock)
        clock.at_s += 6
        assert (await node.enrol("third", 6.0))["busy"] is False, "the run of old is silent"
        with pytest.raises(Interrupted, match="another task has begun"):
            await node.ready("of old")

    asyncio.run(lead())


def test_a_result_of_a_load_that_still_ends_is_told_to_who_comes_back() -> None:
    node = Node()

    async def lead() -> None:
        await node.enrol("one", 600.0)
        with node._busy:
            await node.begin(KEY, order("mock:"))
            assert (await node.enrol("one", 600.0))["results"] == [KEY]
        await node.end(KEY, "so it was")

    asyncio.run(lead())
    for thread in threading.enumerate():
        if thread.name == "dsbench-load":
            thread.join(60)
