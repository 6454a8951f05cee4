"""What a run knows of its cycles while it goes on is what its archive says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench.archive import Archive
from dsbench.archive.cycles import read_cycles
from dsbench.measure.history import CycleHistory
from dsbench.stats.cycles import CycleFigures, KindOutcomes
from dsbench.stats.histogram import EMPTY


@pytest.mark.parametrize(
    "asked",
    [
        {"workload": "tpcb", "clients": [1, 2], "target": "mock:"},
        {"workload": "tpcc", "rate": 900.0, "clients": 3, "target": "mock:?latency_us=3000"},
        {"workload": "tp1", "clients": [1, 2], "target": "mock:"},
        {"workload": "tpcb", "clients": 2, "objective": "p90=20ms", "max_cycles": 6, "target": "mock:?latency_us=900"},
    ],
    ids=lambda asked: asked["workload"],
)
def test_a_run_knows_what_its_archive_says(asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[CycleFigures] = []
    add = CycleHistory.add
    monkeypatch.setattr(CycleHistory, "add", lambda self, one: (heard.append(one), add(self, one)))
    target = asked.pop("target")
    archive = dsbench.run(target, scales=(1, 2), cycles=2, duration=0.2, out=tmp_path, **asked)
    opened = Archive.open(archive.path)
    written = read_cycles({name: opened.table(name) for name in ("cycles", "groups", "buckets")})
    assert [plain(one) for one in heard] == [plain(one) for one in written]
    assert len(heard) >= 4
    assert ("rate" in asked or "objective" in asked) == any(one.response for one in heard)


def plain(one: CycleFigures) -> tuple[Any, ...]:
    times = {kind: (h.low_ns.tolist(), h.high_ns.tolist(), h.counts.tolist()) for kind, h in sorted(one.response.items())}
    kinds = dict(sorted(one.kinds.items()))
    return (one.scale, one.stage, one.clients, one.cycle, one.duration_ns, one.ramp_up_ns, kinds, times,
            one.rate_per_s, one.level, one.paused_ns, one.share)  # fmt: skip


def figures(cycle: int, clients: int = 2, rate: float | None = None, level: float | None = None, count: int = 10) -> CycleFigures:
    kinds = {"a": KindOutcomes(count, 0, 0, 0, 0)}
    return CycleFigures(1, "load", clients, cycle, 10**9, 0, kinds, {"": EMPTY}, rate, level, 0, 0)


@pytest.mark.parametrize(
    ("cycles", "peak", "rates"),
    [
        ([figures(1, 2), figures(2, 4, count=20), figures(3, 4, count=30)], False, [20, 30]),
        ([figures(1, 8, count=7), figures(2, 4)], True, [7]),
        ([figures(1, rate=100), figures(2, rate=50, count=5), figures(3, rate=50, count=6)], False, [5, 6]),
        ([figures(1, rate=90, level=100, count=9), figures(2, rate=45, level=50, count=4)], False, [9]),
    ],
    ids=["clients", "peak", "objective", "graduated"],
)
def test_the_rates_that_stand_for_a_scale(cycles: list[CycleFigures], peak: bool, rates: list[float]) -> None:
    assert CycleHistory(cycles).final_rates(peak)[1] == pytest.approx(rates)
