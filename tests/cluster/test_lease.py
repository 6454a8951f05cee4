"""Leases run out while a machine sleeps, and the load ends when it wakes up."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dsbench.cluster import coordinator
from dsbench.cluster.clock import Estimate
from dsbench.cluster.lease import Lease
from dsbench.cluster.link import Link
from dsbench.cluster.node import Node
from dsbench.cluster.outcome import decode
from dsbench.generator import now_ns
from dsbench.spec import RunSpec
from fixtures.house import House
from fixtures.intruder import Intruder
from fixtures.waiting import until

KEY = "scale 1, cycle 1 #1"
ENDED = "no word from the coordinator: the lease ran out"


class Clock:
    """Goes on when it is told."""

    def __init__(self) -> None:
        self.at_s = 100.0

    def __call__(self) -> float:
        return self.at_s


def test_a_lease_runs_out_unless_a_beat_was_sent_in_time() -> None:
    clock = Clock()
    lease = Lease(6.0, clock)
    clock.at_s = 104.0
    lease.renew(103.0)
    lease.renew(101.0)
    clock.at_s = 108.9
    assert not lease.expired
    clock.at_s = 109.0
    assert lease.expired


@pytest.mark.skipif(sys.platform != "linux", reason="the clock that counts sleep has another name elsewhere")
def test_a_lease_counts_by_the_clock_that_goes_on_in_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    lease = Lease(6.0)
    assert before <= lease.now_s() <= time.clock_gettime(time.CLOCK_BOOTTIME)
    # An hour of sleep, after which the monotonic clock is where it was.
    asleep = {time.CLOCK_BOOTTIME: lease.now_s() + 3600, time.CLOCK_MONOTONIC: time.monotonic()}
    monkeypatch.setattr(time, "clock_gettime", asleep.__getitem__)
    assert lease.expired


def test_a_beat_counts_from_before_the_sleep_in_which_its_answer_came() -> None:
    clock, node = Clock(), Node(lambda *_: {})
    node.lease, node.key = Lease(6.0, clock), KEY
    sent: list[str] = []

    async def beat(_operation: str, **_message: Any) -> dict[str, Any]:
        sent.append("beat")
        if len(sent) == 2:
            clock.at_s += 3600  # The machine slept, and the answer was there when it woke up.
        if len(sent) == 3:
            return {"known": False, "key": KEY, "stop": "", "goodbye": ""}
        return {"known": True, "key": KEY, "stop": "", "goodbye": ""}

    async def until_it_ends() -> None:
        link = Link(node, cast(Any, None), cast(Any, None), "token")
        link._channel = cast(Any, SimpleNamespace(abort=lambda: None))
        link._call = beat  # type: ignore[method-assign,assignment]  # in the place of the coordinator
        await asyncio.wait_for(link._beat(), 60)

    asyncio.run(until_it_ends())
    with pytest.raises(Exception, match=ENDED):
        node.check()


class Coordinator:
    """Orders one long cycle and answers no more."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order

    def ask(self, operation: str, **_message: Any) -> Any:
        answers = {"order": self._order, "ready": now_ns() + 1_500_000_000, "armed": True}
        return answers[operation]

    def tell(self, operation: str, **_message: Any) -> None:
        raise OSError(operation)

    def carry(self, _key: str, _data: bytes) -> None:
        raise OSError

    def clocks(self, _pings: int) -> Estimate:
        return Estimate(0, 1)


def test_a_node_whose_beats_are_far_apart_hears_that_the_run_is_over(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "_FAREWELL_S", 0.0)
    with Intruder(house.bundle(1)) as node:
        assert node.enrol()["refused"] == ""
        closing = threading.Thread(target=house.coordinator.close, args=("over",))
        closing.start()
        assert until(lambda: house.coordinator.goodbye == "over")
        time.sleep(0.1)
        assert node.ask("beat", key="", totals=[0, 0, 0])["goodbye"] == "over"
    closing.join(20)
    assert not closing.is_alive()


def test_the_load_ends_when_the_machine_wakes_up_after_its_lease() -> None:
    url = "mock:?latency_us=500"
    spec = RunSpec.model_validate({"target": {"url": url}, "threads": 2, "duration": 3000, "nodes": 1})
    order = {
        "kind": "cycle", "url": url, "spec": {k: v for k, v in spec.model_dump(mode="json").items() if k != "target"},
        "scale": 1, "seed": 1, "nodes": 1, "stage": "load", "number": 0,
    }  # fmt: skip
    clock, node = Clock(), Node(lambda *_: {})
    node.lease = Lease(6.0, clock)
    load = threading.Thread(target=node.take_part, args=(cast(Any, Coordinator(order)), KEY), daemon=True)
    load.start()
    while load.is_alive() and node.totals[1] == 0:
        time.sleep(0.01)
    clock.at_s += 5.9
    time.sleep(0.2)
    assert load.is_alive(), "it slept for less than its lease"
    clock.at_s += 0.1
    load.join(60)
    assert not load.is_alive()
    found = decode(node.outbox[KEY], "n1")
    assert found.course.ended == ENDED
    assert found.result.total("committed") + found.result.total("in_flight") > 0
