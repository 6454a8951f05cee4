"""The client's own ceiling: what is measured, what a run keeps of it. No figure is judged by its size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dsbench import spec
from dsbench.archive import Archive
from dsbench.measure import calibration
from dsbench.measure.calibration import MOCK, NULL, TCP, UNIX, calibrate, lines, null_postgresql, of_run
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.servers.folder import MARK
from fixtures.kept import warned
from fixtures.program import Program


def _unseen(_done: int, _total: int) -> None:
    pass


def test_every_ceiling_is_a_rate_with_its_cpu_time() -> None:
    asked = spec.build({"workload": "select", "clients": 3, "duration": 0.1, "prepare": True})
    found = calibrate(asked, _unseen, wakes=3)
    places = {(c.against, c.transport, c.clients) for c in found.ceilings}
    assert {(NULL, UNIX, 1), (NULL, UNIX, 3), (NULL, TCP, 1), (NULL, TCP, 3), (MOCK, "", 1)} <= places
    assert all(c.rate_tps > 0 and c.user_ns + c.system_ns > 0 for c in found.ceilings)
    assert found.ceiling_tps == found.ceilings[-1].rate_tps
    cost = found.measuring
    assert cost["read_ns"] > 0
    assert cost["recording_ns"] > 0
    assert cost["late_p50_ns"] <= cost["late_p99_ns"] <= cost["late_max_ns"]
    text = "\n".join(lines(found))
    assert "null PostgreSQL, unix socket" in text
    assert "prepared once" in text
    assert json.loads(json.dumps(found.described()))["ceilings"][0]["against"] == MOCK


@pytest.mark.parametrize(
    ("engine", "url", "last"),
    [
        ("sqlite", "sqlite:///x.db", (MOCK, "")),
        ("postgres", "postgresql://me@/db?host=/run/sockets", (NULL, UNIX)),
        ("postgres", "postgresql:///db", (NULL, UNIX)),
        ("postgres", "postgresql://me:word@db.example:5433/db", (NULL, TCP)),
    ],
)
def test_a_run_is_compared_with_what_is_like_it(engine: str, url: str, last: tuple[str, str]) -> None:
    asked = spec.build({"clients": 2, "rate": 100, "connections": 5, "workload": "tpcb"})
    call = "statements" if engine == "sqlite" else "procedure"
    found = of_run(asked, engine, url, call, _unseen)
    nearest = found.ceilings[-1]
    assert (nearest.against, nearest.transport) == last
    assert found.call == call
    assert found.ceiling_tps == nearest.rate_tps > 0


def test_the_null_server_is_there_within_its_block_only() -> None:
    with null_postgresql() as urls:
        (home,) = parse_qs(urlsplit(urls[UNIX]).query)["host"]
        assert (Path(home) / MARK).exists(), "a later run removes what a killed one leaves"
        for url in urls.values():
            assert TargetDatabase(url).fetch("SELECT a, b FROM t") == [{"n": None}]
    for url in urls.values():
        with pytest.raises(CoreError):
            TargetDatabase(url).fetch("SELECT 1")


def test_a_run_keeps_its_ceiling(called: Program, tmp_path: Path) -> None:
    done = called("run", "--scales", "1", "--cycles", "1", "--duration", "0.2", "--clients", "2", "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    path = next(p for p in (tmp_path / "out").iterdir() if p.is_dir())
    kept = Archive.open(path).run.calibration
    assert kept is not None
    assert kept.ceiling_tps == kept.ceilings[-1].rate_tps
    assert {c.against for c in kept.ceilings} == {MOCK}


def test_a_client_that_cannot_calibrate_still_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise OSError("no room")


    monkeypatch.setattr(calibration, "of_run", fail)
    values = {"target": {"url": "mock:"}, "scales": (1,), "cycles": 1, "duration": 0.1, "clients": 1}
    outcome = execute(spec.build(values), tmp_path, Silent())
    archive = Archive.open(outcome.archive)
    assert (archive.run.calibration, [code for code, _ in warned(archive)]) == (None, ["calibration"])


def test_what_cannot_be_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = calibration._ceiling

    def fail(target: Any, spec: Any, against: str, transport: str, clients: int, watch: Any) -> Any:
        if transport == TCP and clients == 2:
            raise CoreError("disconnected", "", f"{against}, {clients} clients: the server did not answer")
        return measured(target, spec, against, transport, clients, watch)

    monkeypatch.setattr(calibration, "_ceiling", fail)
    found = calibrate(spec.build({"workload": "select", "clients": 2, "duration": 0.05}), _unseen, wakes=3)
    assert {(c.transport, c.clients) for c in found.ceilings} == {("", 1), ("", 2), (UNIX, 1), (UNIX, 2), (TCP, 1)}
    assert found.left_out == (f"TCP: {NULL}, 2 clients: the server did not answer",)
    assert f"left out, TCP: {NULL}, 2 clients: the server did not answer" in list(lines(found))


def test_who_does_not_answer_a_calibration_is_named_and_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "GRACE_S", -10.0)
    with pytest.raises(CoreError, match=f"^{MOCK}, 1 clients: .*did not answer for") as told:
        calibrate(spec.build({"workload": "select", "clients": 1, "duration": 2}), _unseen, wakes=3)
    assert "CPU" in told.value.remedy


def test_the_command_prints_a_table_or_a_document(called: Program) -> None:
    table = called("doctor", "--calibrate", "--clients", "2", "--duration", "0.1")
    assert table.returncode == 0, table.stderr
    assert "mock engine" in table.stdout
    document = called("doctor", "--calibrate", "--clients", "2", "--duration", "0.1", "--workload", "tpcb", "--json")
    assert json.loads(document.stdout)["workload"] == "tpcb"
