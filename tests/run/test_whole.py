"""A cycle is in the archive with all its nodes or not at all, whatever ends the writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from dsbench.archive import Archive, Writer
from dsbench.measure import cycle, rows
from dsbench.measure.cycle_log import Measured
from dsbench.measure.history import CycleHistory
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import Bench, CycleResult, TargetDatabase, now_ns
from dsbench.measure.loaders.results import NodePart, NodeResult
from dsbench.measure.moments import Silent
from dsbench.spec import RunSpec

SPEC = RunSpec.model_validate(
    {"target": {"url": "mock:?latency_us=500&fail_every=20"}, "scales": [1], "cycles": 2, "duration": 0.5,
     "clients": 2, "nodes": 2}
)  # fmt: skip
KEY = {"scale": 1, "stage": "load", "cycle": 1, "clients": 2}


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    target = TargetDatabase(SPEC.target.url)
    target.create("x")
    yield Bench(target, "tpcb", 1, "statements", {})
    target.close()


@pytest.fixture(scope="module")
def parts(bench: Bench) -> list[NodePart]:
    return [NodePart(node, "", NodeResult(node, _load(bench, first)), True) for node, first in (("n1", 0), ("n2", 2))]


@pytest.fixture
def setting(bench: Bench, tmp_path: Path) -> Any:
    journal = Journal.begin(Writer.create(tmp_path, "a"), Silent(), SPEC)
    journal.note(kinds=list(bench.kinds), call="statements", calibration=None)
    return SimpleNamespace(journal=journal, spec=SPEC, bench=bench)


def _load(bench: Bench, first: int) -> CycleResult:
    running = bench.cycle(SPEC, 1, None, node=first // 2, nodes=2)
    running.connect(5, lambda *_: None)
    start = now_ns() + 30_000_000
    running.start(start)
    running.wait(start, 5, lambda *_: None)
    return running.join()


def _write(setting: Any, parts: list[NodePart]) -> None:
    load = setting.bench.fill(SPEC, nodes=2)
    cycle._write(setting, KEY, Measured(parts, [], [], [], None, load), None)


class Died(BaseException):
    """The end of the process."""


def _die_at(monkeypatch: pytest.MonkeyPatch, table: str, end: str) -> None:
    real = Writer.table

    def dying(writer: Writer, name: str, part: str, data: pa.Table) -> None:
        if name == table and part.endswith(end):
            raise Died
        real(writer, name, part, data)

    monkeypatch.setattr(Writer, "table", dying)


def _nodes(archive: Archive, table: str) -> list[str]:
    return sorted(set(archive.table(table).column("node").to_pylist()))


@pytest.mark.parametrize(
    ("table", "end"), [("nodes", ""), ("errors", "n1"), ("seconds", "n2"), ("buckets", "n2"), ("cycles", "")]
)
def test_a_cycle_that_was_cut_between_its_nodes_does_not_count(
    setting: Any, parts: list[NodePart], monkeypatch: pytest.MonkeyPatch, table: str, end: str
) -> None:
    _die_at(monkeypatch, table, end)
    with pytest.raises(Died):
        _write(setting, parts)
    path = setting.journal.writer.path
    assert CycleHistory.read(path).last(1) == 0
    archive = Archive.open(path)
    assert [archive.table(name).num_rows for name in (*rows.DETAILS, "cycles")] == [0] * (len(rows.DETAILS) + 1)


def test_what_a_killed_attempt_left_is_not_in_the_next(
    setting: Any, parts: list[NodePart], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(Writer, "forget", lambda *_: None)
        _die_at(killed, "cycles", "")
        with pytest.raises(Died):
            _write(setting, parts)
    path = setting.journal.writer.path
    assert _nodes(Archive.open(path), "seconds") == ["n1", "n2"]
    _write(setting, [parts[0], NodePart("n2", "gone", None, False)])
    archive = Archive.open(path)
    assert [_nodes(archive, name) for name in ("cycles", "seconds", "buckets", "errors", "nodes")] == [
        ["n1"], ["n1"], ["n1"], ["n1"], ["n1", "n2"],
    ]  # fmt: skip
    assert CycleHistory.read(path).last(1) == 1


def test_all_nodes_are_in_one_part(
    setting: Any, parts: Sequence[NodePart]
) -> None:
    _write(setting, list(parts))
    writer: Writer = setting.journal.writer
    assert [path.name for path in (writer.path / "cycles").iterdir()] == ["scale-00001_cycle-00001.parquet"]
    written = Archive.open(writer.path).table("cycles")
    assert sum(written.column("committed").to_pylist()) == sum(
        part.found.result.total("committed") for part in parts if part.found
    )



def test_forgetting_spares_other_cycles(setting: Any, parts: list[NodePart]) -> None:
    writer: Writer = setting.journal.writer
    _write(setting, parts)
    for name in ("scale-00001_cycle-000010_n1", "scale-00010_cycle-00001_n1"):
        writer.rows("errors", name, Archive.open(writer.path).table("errors").to_pylist()[:1])
    writer.forget(rows.DETAILS, "scale-00001_cycle-00001")
    assert len(list((writer.path / "errors").iterdir())) == 2
    assert writer.has("cycles", "scale-00001_cycle-00001")
    assert not writer.has("seconds", "scale-00001_cycle-00001_n1")
