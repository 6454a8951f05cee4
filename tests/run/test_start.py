"""The common start of a cycle: nobody is late for it, or it is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.archive import Writer
from dsbench.archive.columns import COUNTERS
from dsbench.measure import cycle, cycle_log
from dsbench.measure.cycle_log import Measured
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import SECOND_WORDS, Bench, CycleLoad, CycleResult, TargetDatabase
from dsbench.measure.loaders.loader import Wanted
from dsbench.measure.loaders.results import NodePart, NodeResult
from dsbench.measure.moments import Silent
from dsbench.measure.monitors import Known
from dsbench.measure.monitors.host import Lasting
from dsbench.measure.monitors.sessions import SessionSampler
from dsbench.measure.setting import ScaleContext
from dsbench.spec import RunSpec

MS = 1_000_000


def result(first_starts_ns: list[int | None]) -> CycleResult:
    """Clients by their first starts; ``None`` for one that finished nothing within the cycle."""
    counters = np.zeros((len(first_starts_ns), 1, len(COUNTERS)), dtype="<u8")
    for client, start_ns in enumerate(first_starts_ns):
        if start_ns is not None:
            counters[client, 0, COUNTERS.index("first_start_ns")] = start_ns
            counters[client, 0, COUNTERS.index("last_end_ns")] = start_ns + 1
    groups = np.zeros(len(counters), dtype="<u8")
    return CycleResult(counters, groups, (), np.zeros((0, SECOND_WORDS), "<u8"), (), {}, None)


BENCH = Bench(TargetDatabase("mock:"), "select", 1, None)


def load(asked: RunSpec) -> CycleLoad:
    return BENCH.fill(asked)


def spec(**more: Any) -> RunSpec:
    return RunSpec.model_validate({"duration": 10.0, **more})


@pytest.mark.parametrize(
    ("more", "starts", "late_ns"),
    [
        ({}, [0, 900 * MS], 0),
        ({}, [100 * MS, 900 * MS], 0),
        ({}, [101 * MS, 900 * MS], 101 * MS),
        ({}, [None, 101 * MS], 101 * MS),
        ({}, [None, None], 0),
        ({}, [], 0),
        ({"duration": 0.1}, [5 * MS], 0),
        ({"duration": 0.1}, [6 * MS], 6 * MS),
        ({"ramp_up": 1.0}, [101 * MS], 0),
        ({"rate": 5.0}, [101 * MS], 0),
        ({"pace": "terminals", "workload": "tpcc"}, [101 * MS], 0),
    ],
)
def test_a_late_start_is_one_of_all_clients(more: dict[str, Any], starts: list[int | None], late_ns: int) -> None:
    assert cycle_log.late_start_ns(load(spec(**more)), result(starts)) == late_ns


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=20), st.floats(0.01, 100))
def test_a_client_in_time_is_enough(starts: list[int], duration: float) -> None:
    asked = load(spec(duration=duration))
    assert cycle_log.late_start_ns(asked, result([*starts, 0])) == 0
    assert cycle_log.late_start_ns(asked, result([s + 10**9 + 1 for s in starts])) == min(starts) + 10**9 + 1


def test_a_late_start_is_a_warning_of_the_run(tmp_path: Path) -> None:
    journal = Journal.begin(Writer.create(tmp_path, "a"), Silent(), spec())
    for nodes in (0, 1):
        setting = cast(ScaleContext, SimpleNamespace(journal=journal, spec=spec(nodes=nodes)))
        for number, start_ns in ((1, 250 * MS), (2, 3 * MS)):
            wanted = cast(Wanted, SimpleNamespace(scale=7, number=number, stage=SimpleNamespace(cold_each=0)))
            part = NodePart("local", "", NodeResult("local", result([start_ns])), True)
            cycle_log._warn_of_late_start(setting, wanted, Measured([part], [], [], [], None, load(spec())))
    (warning,) = journal.record.warnings
    assert (warning.code, warning.scale) == ("late-start", 7)
    assert warning.message.startswith("cycle 1 of scale 7 began 250.0 ms late")


class Slow:
    """A source of load that takes a second to say how long before the start it has to be known."""

    def __init__(self, asked: RunSpec) -> None:
        self.load = load(asked)
        self.now_ns = 10**12
        self.left_ns = 0

    def cycle(self, *_: Any) -> Slow:
        return self

    def pids(self) -> list[int]:
        return []

    @property
    def lead_ns(self) -> int:
        self.now_ns += 10**9
        return 20 * MS

    def start(self, at_ns: int) -> None:
        self.left_ns = at_ns - self.now_ns

    def collect(self) -> list[NodePart]:
        return []

    def connect(self, *_: Any) -> None:
        """They are."""

    wait = abandon = seconds = connect


@pytest.mark.parametrize("ramp_up", [0.0, 2.0])
def test_the_whole_lead_is_left_when_the_start_is_told(monkeypatch: pytest.MonkeyPatch, ramp_up: float) -> None:
    slow = Slow(spec(ramp_up=ramp_up))
    monkeypatch.setattr(cycle, "now_ns", lambda: slow.now_ns)
    monkeypatch.setattr(cycle, "Sampler", lambda _: SimpleNamespace(first=int, go=max, stop=list, notes=()))
    monkeypatch.setattr(cycle, "sample_sessions", lambda *_: SessionSampler(None))
    given = {"spec": spec(ramp_up=ramp_up), "bench": None, "load": slow, "monitors": (), "known": Known({})}
    given |= {"target": None, "lasting": Lasting(), "outages": None}
    setting = SimpleNamespace(**given, watch=lambda *_: None)
    wanted = Wanted(setting.spec, BENCH, BENCH.load(""), 1, 1, 1, None)
    cycle._measure_once(cast(ScaleContext, setting), wanted)
    assert slow.left_ns == 20 * MS + round(ramp_up * 1e9)
