"""Whole runs against real databases, through the library."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.archive.conditions import State
from dsbench.measure.cycle import seed_of
from dsbench.measure.journal import RunError
from dsbench.measure.keeping import check_target
from dsbench.measure.loaders import Bench, Cycle, TargetDatabase, now_ns
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.spec import RunSpec, Target, build
from fixtures.program import described
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough
from fixtures.told import kept


def spec_for(url: str, **values: object) -> RunSpec:
    small = {"scales": (1, 2), "cycles": 2, "duration": 0.4, "clients": 3, "seed": 7}
    return build({"target": {"url": url}, **small, **values})


def columns(archive: Archive, table: str, *names: str) -> list[np.ndarray]:
    data = archive.table(table)
    return [np.asarray(data.column(name)) for name in names]


@pytest.mark.parametrize(
    ("call", "workload"),
    mostly_thorough(
        ((call, workload) for call in ("procedure", "statements") for workload in ("tpcb", "select")),
        ("procedure", "select"), ("statements", "tpcb"),
    ),
)
def test_a_ladder_on_postgresql(postgresql: servers.Server, tmp_path: Path, workload: str, call: str) -> None:
    outcome = execute(spec_for(postgresql.url, workload=workload, call=call), tmp_path, Silent())
    assert (outcome.status, outcome.error, outcome.void_scales) == ("complete", None, ())
    archive = Archive.open(outcome.archive)
    assert (archive.run.call, archive.run.engine) == (call, "postgres")
    assert set(archive.run.checks) == {1, 2}
    assert all(c.state is State.HOLDS for checks in archive.run.checks.values() for c in checks)
    scale, cycle, committed, under_way = columns(archive, "cycles", "scale", "cycle", "committed", "in_flight")
    assert sorted(set(zip(scale.tolist(), cycle.tolist(), strict=True))) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    sent, received, failed = columns(archive, "cycles", "messages_sent", "messages_received", "failed")
    assert (committed + failed + under_way).min() > 0, "every thread did something in every cycle"
    # Failed attempts roll back, which is a message of its own; BEGIN goes with the first statement.
    each = 6 if (workload, call) == ("tpcb", "statements") else 1
    assert each * committed.sum() <= sent.sum() <= each * committed.sum() + (each + 1) * failed.sum()
    assert received.sum() >= sent.sum()
    phases = set(archive.table("phases").column("phase").to_pylist())
    assert phases == {"create", "populate", "primary_key", "foreign_key", "clean", "check", "drop"}
    # What only reads leaves nothing behind that is to be cleaned before the next cycle.
    cleaned = sum(phase == "clean" for phase in archive.table("phases").column("phase").to_pylist())
    assert cleaned == (2 if workload == "select" else 4)
    assert TargetDatabase(postgresql.url).state()[0] == "absent", "nothing is left behind"


@pytest.mark.parametrize("url", mostly_thorough(["private:sqlite", "private:postgresql"], "private:postgresql"))
def test_histograms_counters_course_and_history_agree(tmp_path: Path, url: str) -> None:
    outcome = execute(spec_for(url, trace=True, clients=4), tmp_path, Silent())
    assert outcome.status == "complete"
    archive = Archive.open(outcome.archive)
    scale, committed, late = columns(archive, "cycles", "scale", "committed", "commits_after_window")
    bucket_scale, count = columns(archive, "buckets", "scale", "count")
    second_scale, ended = columns(archive, "seconds", "scale", "count")
    traced = archive.table("trace")
    outcomes = np.asarray(traced.column("outcome").to_pylist())
    trace_scale, trace_end = (np.asarray(traced.column(n)) for n in ("scale", "ended_ns"))
    for x in (1, 2):
        counted = committed[scale == x].sum()
        assert counted == count[bucket_scale == x].sum() == ended[second_scale == x].sum()
        inside = (trace_scale == x) & (outcomes == "committed") & (trace_end <= 400_000_000)
        assert counted == inside.sum()
        history = next(c for c in archive.run.checks[x] if c.name == "history rows = committed transactions")
        assert history.state is State.HOLDS
        assert f"history {counted + late[scale == x].sum()}," in history.detail


def test_residence_times_of_the_trace_are_those_of_the_histogram(tmp_path: Path) -> None:
    outcome = execute(spec_for("mock:?latency_us=300", trace=True), tmp_path, Silent())
    archive = Archive.open(outcome.archive)
    trace = archive.table("trace")
    started, ended = (np.asarray(trace.column(n)) for n in ("started_ns", "ended_ns"))
    inside = ended <= 400_000_000
    total, largest = columns(archive, "cycles", "residence_ns", "residence_max_ns")
    assert (ended - started)[inside].sum() == total.sum()
    assert (ended - started)[inside].max() == largest.max()
    low, high, count = columns(archive, "buckets", "low_ns", "high_ns", "count")
    assert (low * count).sum() <= total.sum() <= (high * count).sum()


def test_the_same_seed_gives_the_same_inputs(postgresql: servers.Server) -> None:
    target = TargetDatabase(postgresql.url)
    one, two = (Bench(target, "tpcb", 3, call) for call in ("procedure", "statements"))
    drawn = one.draws(seed_of(7, 3, 1), 5, 200)
    assert drawn == two.draws(seed_of(7, 3, 1), 5, 200)
    for other in (seed_of(8, 3, 1), seed_of(7, 3, 2), seed_of(7, 2, 1)):
        assert drawn != one.draws(other, 5, 200)
    assert drawn != one.draws(seed_of(7, 3, 1), 6, 200)


@pytest.mark.parametrize(
    "options",
    mostly_thorough(
        [
            pytest.param({"prepare": True, "connections": 2}, id="prepared"),
            pytest.param({"reconnect": True}, id="reconnect"),
            pytest.param({"retry": True, "clients": 6, "isolation": "repeatable-read"}, id="retry"),
            pytest.param({"rate": 200.0, "arrival": "constant"}, id="constant"),
            pytest.param({"rate": 200.0, "isolation": "read-committed"}, id="open"),
            pytest.param({"isolation": "serializable"}, id="serializable"),
            pytest.param({"population": "procedure"}, id="population"),
        ],
        "prepared", "reconnect", "retry", "constant",
    ),
)  # fmt: skip
@unless_stalled
def test_options_of_the_loop_on_postgresql(postgresql: servers.Server, tmp_path: Path, options: dict[str, Any]) -> None:
    spec = spec_for(postgresql.url, scales=(1,), cycles=1, **options)
    outcome = execute(spec, tmp_path, Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ()), options
    archive = Archive.open(outcome.archive)
    failed, retries, missed, committed = columns(archive, "cycles", "failed", "retries", "skipped_starts", "committed")
    assert committed.sum() > 0, options
    if "reconnect" in options:
        (sent,) = columns(archive, "cycles", "messages_sent")
        assert sent.sum() >= 2 * committed.sum(), "a login is part of the transaction"
    if "retry" in options:
        assert retries.sum() > 0
        assert failed.sum() >= retries.sum()
    if options.get("arrival") == "constant":
        in_flight, statement_failed = columns(archive, "cycles", "in_flight", "failed")
        assert committed.sum() + statement_failed.sum() + in_flight.sum() + missed.sum() == 80
    measures = set(archive.table("buckets").column("measure").to_pylist()) - {"failed"}
    assert measures == ({"residence", "response"} if "rate" in options else {"residence"})


def test_a_place_without_the_mark_is_refused_and_kept(postgresql: servers.Server, tmp_path: Path) -> None:
    psql = shutil.which("psql") or "psql"

    def sql(text: str) -> str:
        done = subprocess.run([psql, "-XAtq", "-c", text, postgresql.url], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    sql("create schema dsbench; create table dsbench.mine(a int)")
    try:
        with pytest.raises(RunError, match="dsbench") as refused:
            execute(spec_for(postgresql.url), tmp_path, Silent())
        assert refused.value.usage
        assert sql("select count(*) from dsbench.mine") == "0"
        assert list(tmp_path.iterdir()) == [], "no archive was begun"
    finally:
        sql("drop schema dsbench cascade")


@pytest.mark.parametrize("spelled", mostly_thorough(["login", "pass%77ord", "%70assword"], "login", "pass%77ord"))
def test_a_password_is_written_nowhere(postgresql: servers.Server, tmp_path: Path, spelled: str) -> None:
    secret = "pässw0rd-of-mine"
    url = postgresql.url.replace("postgres@", f"postgres:{secret}@")
    if spelled != "login":
        url = f"{postgresql.url}{'&' if '?' in postgresql.url else '?'}{spelled}={secret}"
    outcome = execute(spec_for(url, scales=(1,), cycles=1), tmp_path, Silent())
    assert outcome.status == "complete"
    for file in outcome.archive.rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file
    assert "***" in described(outcome.archive)["spec"]["target"]["url"]


def test_a_void_scale_is_told(postgresql: servers.Server, tmp_path: Path) -> None:
    """A fault planted in the middle of a run is caught by the check."""
    planted = TargetDatabase(postgresql.url)

    class Saboteur(Silent):
        def message(self, text: str) -> None:
            if kept(text, 1, 1):
                planted.fetch("UPDATE dsbench.teller SET tbalance = tbalance + 1 WHERE tid = 3")

    outcome = execute(spec_for(postgresql.url), tmp_path, Saboteur())
    assert (outcome.status, outcome.void_scales) == ("complete", (1,))
    broken = [c["name"] for c in described(outcome.archive)["checks"]["1"] if c["state"] == "broken"]
    assert "account sum = teller sum" in broken


def test_two_runs_against_one_target_do_not_touch_each_other(postgresql: servers.Server, tmp_path: Path) -> None:
    """A run that is refused drops nothing, and the run that has the target goes on."""
    refused: list[str] = []

    class Second(Silent):
        def message(self, text: str) -> None:
            if kept(text, 1, 1):
                with pytest.raises(RunError, match="using this target") as error:
                    execute(spec_for(postgresql.url), tmp_path / "second", Silent())
                refused.append(str(error.value))

    outcome = execute(spec_for(postgresql.url, scales=(1,)), tmp_path / "first", Second())
    assert (outcome.status, len(refused)) == ("complete", 1)
    assert not (tmp_path / "second").exists()


def test_a_place_with_the_mark_of_a_living_process_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.db"
    parent = psutil.Process(os.getppid())
    owner = {"run": "other", "host": platform.node(), "pid": parent.pid, "process_started": parent.create_time()}
    target = TargetDatabase(f"sqlite:///{file}")
    target.create(json.dumps(owner))
    target.close()
    with pytest.raises(RunError, match="run other"):
        execute(spec_for(f"sqlite:///{file}"), tmp_path / "out", Silent())
    assert target.state()[0] == "marked"
    target.drop()
    target.create(json.dumps({**owner, "process_started": 5}))
    target.close()
    outcome = execute(spec_for(f"sqlite:///{file}", scales=(1,), cycles=1), tmp_path / "out", Silent())
    assert outcome.status == "complete", "what a dead run left is dropped"
    assert not file.exists()


def test_a_slow_first_sample_does_not_eat_the_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sampled: list[int] = []
    started: list[tuple[int, int]] = []

    class Slow:
        name = "slow"
        notes: tuple[str, ...] = ()

        def sample(self) -> list[tuple[str, str, float]]:
            time.sleep(0.6)
            sampled.append(now_ns())
            return [("value", "count", 1.0)]

    def start(cycle: Cycle, at_ns: int) -> None:
        started.append((len(sampled), at_ns))
        begin(cycle, at_ns)

    begin = Cycle.start
    monkeypatch.setattr(Cycle, "start", start)
    monkeypatch.setattr("dsbench.measure.run.monitors_for", lambda *_, **__: (Slow(),))
    spec = spec_for("mock:?latency_us=100", scales=(1,), cycles=1, rate=1000.0, arrival="constant")
    archive = Archive.open(execute(spec, tmp_path, Silent()).archive)
    samples, at_ns = started[-1]  # those before are of the calibration
    assert samples == 1, "the first sample is taken before the clients are told when to start"
    assert at_ns > sampled[0], "starts before the sample was taken would all be late"
    (at,) = columns(archive, "monitors", "at_ns")
    assert at.min() <= 0


def test_seconds_of_an_open_loop_count_from_the_intended_start(tmp_path: Path) -> None:
    """A transaction of 10 ms or more, 200 per second for one client: after a second half of the starts wait, for 0.5 s."""
    spec = spec_for("mock:?latency_us=10000", scales=(1,), cycles=1, clients=1, duration=2.0, rate=200.0, arrival="constant")
    archive = Archive.open(execute(spec, tmp_path, Silent()).archive)
    second, longest = columns(archive, "seconds", "second", "max_ns")
    assert longest[second == 1].max() > 0.4e9
    assert all(longest[second == at].max() > 0.1e9 for at in (0, 1))


def test_a_server_that_falls_silent_fails_the_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsbench.measure.cycle.GRACE_S", 0.5)
    stalls = "mock:?latency_us=100&stall_at=100&stall_ms=3000"
    spec = spec_for(stalls, scales=(1,), cycles=1, clients=1, duration=1.0)
    outcome = execute(spec, tmp_path, Silent())
    assert outcome.status == "failed"
    assert "did not answer" in str(outcome.error)
    assert Archive.open(outcome.archive).table("cycles").num_rows == 0


def test_an_unexpected_error_leaves_no_database(postgresql: servers.Server, tmp_path: Path) -> None:
    class Broken(Silent):
        def message(self, text: str) -> None:
            if kept(text, 1, 1):
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        execute(spec_for(postgresql.url), tmp_path, Broken())
    assert TargetDatabase(postgresql.url).state()[0] == "absent"


def test_a_consistent_database_passes_the_check_by_itself(postgresql: servers.Server, tmp_path: Path) -> None:
    found: list[State] = []

    class Check(Silent):
        def message(self, text: str) -> None:
            if kept(text, 1, 2):
                found.extend(c.state for c in check_target(Target(url=postgresql.url), {"scales": (1,)}).conditions)

    execute(spec_for(postgresql.url, scales=(1,)), tmp_path, Check())
    assert found.count(State.HOLDS) >= 8
    assert State.BROKEN not in found, "what only the run knows is not made"
