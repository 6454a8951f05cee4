"""Parts of a cycle that come when it is over: none is lost on the way, and a damaged one harms no other."""

from __future__ import annotations

import queue
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dsbench.cluster.bundle import Bundle, Invitation
from dsbench.cluster.coordinator import Coordinator
from dsbench.cluster.nodes import Nodes
from dsbench.cluster.outcome import Course, encode
from dsbench.columns import COUNTERS
from dsbench.generator import SECOND_WORDS, CycleResult
from dsbench.spec import RunSpec

T = TypeVar("T")
KEY = "scale 1, cycle 1 #1"


class Busy(Coordinator):
    """Nodes are served between any two visits to the event loop."""

    def __init__(self, arriving: list[tuple[str, str, bytes]]) -> None:
        super().__init__(cast(Bundle, None), 1, 3.0)
        self.loop.close()
        self.arriving = arriving

    def ask(self, what: Callable[[], T]) -> T:
        found = what()
        if self.arriving:
            self.late.append(self.arriving.pop(0))
        return found


def nodes(coordinator: Coordinator) -> Nodes:
    made = Nodes(cast(Invitation, SimpleNamespace(coordinator=None)), RunSpec(nodes=1))
    made._coordinator.loop.close()
    made._coordinator = coordinator
    made._cycles = {KEY: (1, 1)}
    coordinator.roster.members = cast(Any, {f"node-{n}": SimpleNamespace(name=f"n{n}") for n in range(10)})
    return made


def part(committed: int) -> bytes:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    counters[0, 0, COUNTERS.index("committed")] = committed
    seconds = np.zeros((0, SECOND_WORDS), "<u8")
    result = CycleResult(counters, np.zeros(1, "<u8"), (), seconds, (), {}, None)
    return encode(result, Course("lease"), [])


def said(news: queue.SimpleQueue[str]) -> list[str]:
    return [news.get() for _ in range(news.qsize())]


@given(st.integers(0, 6))
def test_what_comes_between_two_looks_is_given_once(count: int) -> None:
    coordinator = Busy([(KEY, f"node-{n}", part(n)) for n in range(count)])
    run = nodes(coordinator)
    given_ = [found for _ in range(count + 2) for found in run.late()]
    assert [(cycle, found.node, found.result.total("committed")) for cycle, found in given_] == [
        ((1, 1), f"n{n}", n) for n in range(count)
    ]
    assert run.late() == []


def test_a_damaged_part_is_told_and_the_others_are_kept() -> None:
    coordinator = Busy([])
    run = nodes(coordinator)
    coordinator.late = [
        (KEY, "node-1", part(5)), (KEY, "node-2", part(6)[:-3]), ("prepare #2", "node-4", b"{}"), (KEY, "node-3", part(7)),
    ]  # fmt: skip
    assert [found.node for _cycle, found in run.late()] == ["n1", "n3"]
    (line,) = said(coordinator.news)
    assert line.startswith(f"node n2: its late part of {KEY} is left out: ")
    assert run.late() == []
