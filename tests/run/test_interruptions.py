"""Runs that end early: by a signal, by a lost connection, by a full disk. As a user would see it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.measure.loaders import TargetDatabase
from dsbench.spec import Target
from fixtures.kept import data_of, finished, servers_of
from fixtures.program import Program, described, only_archive
from fixtures.stalled import unless_stalled
from fixtures.started import Begin, wait_for_cycle, wait_until_under_way
from fixtures.thorough import mostly_thorough

LADDER = ["--scales", "1", "--cycles", "3", "--duration", "1.5", "--clients", "3", "--seed", "1"]

PROGRAMS = {
    "private:sqlite": "",
    "private:postgresql": "postgres",
    "private:mariadb": "mariadbd",
    "private:firebird": "firebird",
    "private:firebird@5?embedded=on": "",
}
"""Private targets, and the server program of each; engines in the process of dsbench have none."""


SIGNALS = [
    *((target, signal.SIGINT, 130) for target in PROGRAMS),
    *((target, signal.SIGTERM, 143) for target in ("private:sqlite", "private:postgresql", "private:firebird@5?embedded=on")),
]


@pytest.mark.parametrize(("target", "number", "code"), mostly_thorough(SIGNALS, SIGNALS[0]))
def test_a_signal_leaves_a_readable_archive_and_nothing_else(
    begin: Begin, tmp_path: Path, called: Program, dsbench: Program, target: str, number: signal.Signals, code: int
) -> None:
    process = begin(target, *LADDER)
    archive = wait_for_cycle(process, tmp_path, 1)
    wait_until_under_way(process, tmp_path, 2)
    servers_of_run = servers_of(process.pid, PROGRAMS[target])
    assert bool(servers_of_run) == bool(PROGRAMS[target])
    data = data_of(process.pid)
    assert data
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "error: stopped by " + number.name in err
    assert "--resume" in err
    assert described(archive)["status"] == "cut-short"
    kept = finished(archive)
    assert kept in ([1], [1, 2]), "the machine may have been slow to send the signal"
    assert "The run was cut short: " in out
    _gone, alive = psutil.wait_procs(servers_of_run, timeout=60)
    assert not alive
    assert not any(path.exists() for path in data)
    # An engine reads its configuration once in a process.
    resumed = (dsbench if "embedded" in target else called)("run", "--resume", str(archive))
    assert resumed.returncode == 0, resumed.stderr
    assert finished(archive) == [1, 2, 3]
    assert described(archive)["status"] == "complete"
    assert [s["first_cycle"] for s in described(archive)["segments"]] == [1, len(kept) + 1]


def test_a_killed_server_is_told_with_the_way_to_go_on(begin: Begin, tmp_path: Path, called: Program) -> None:
    """As a user sees it, whatever the run was doing just then; every product is killed in ``test_killed``."""
    process = begin("private:postgresql", *LADDER)
    archive = wait_for_cycle(process, tmp_path, 1)
    for child in servers_of(process.pid, "postgres"):
        with suppress(psutil.NoSuchProcess):  # they end with the first one
            child.kill()
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1
    (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert error.startswith("error: scale 1, cycle ")
    assert "connection was lost" in error
    assert f"hint: finished cycles are kept; when the server works again: dsbench run --resume out/{archive.name}" in err
    assert "Traceback" not in err
    shown = called("show", str(archive), "--json")
    assert json.loads(shown.stdout)["run"]["status"] == "failed"


def test_a_killed_pooler_is_named_and_not_the_server(begin: Begin, tmp_path: Path) -> None:
    process = begin("private:postgresql?pooler=pgbouncer", *LADDER)
    archive = wait_for_cycle(process, tmp_path, 1)
    for child in servers_of(process.pid, "pgbouncer"):
        child.kill()
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1
    assert re.search(r"^error: scale 1, .*; PgBouncer 1\.\S+ ended", err, re.MULTILINE), err
    assert re.search(r"^hint: check the free memory .*; then: dsbench run --resume out/\S+$", err, re.MULTILINE), err
    assert described(archive)["status"] == "failed"


END_ONE_CLIENT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
    "AND application_name = 'dsbench' AND query LIKE '%tpcb_transaction(%' AND query NOT LIKE 'CREATE%' LIMIT 1"
)


@pytest.mark.thorough
def test_one_lost_connection_is_a_failure_of_one_transaction(begin: Begin, tmp_path: Path) -> None:
    with servers.start(Target(url="private:postgresql"), 20) as server:
        process = begin(server.url, *LADDER[:2], "--cycles", "2", "--duration", "3", *LADDER[6:])
        wait_until_under_way(process, tmp_path, 1)
        give_up = time.monotonic() + 60
        while not (killed := TargetDatabase(server.url).fetch(END_ONE_CLIENT)):
            assert time.monotonic() < give_up, "no client was at work"
            time.sleep(0.1)
        assert len(killed) == 1
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    errors = Archive.open(only_archive(tmp_path / "out")).table("errors").to_pylist()
    assert [e for e in errors if e["error"] in ("disconnected", "unknown")], errors


END_CLEANING = (
    "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND application_name = 'dsbench' "
    "AND query LIKE 'VACUUM (ANALYZE)%'"
)


@pytest.mark.thorough
@pytest.mark.parametrize(("sessions", "code"), [(1, 0), (3, 1)])
@unless_stalled
def test_a_session_that_is_ended_while_it_cleans_is_followed_by_another(
    begin: Begin, tmp_path: Path, sessions: int, code: int
) -> None:
    """Not by any number of them: somebody may end whatever takes long."""
    with (
        servers.start(Target(url="private:postgresql"), 20) as server,
        closing(TargetDatabase(server.url)) as target,
        closing(TargetDatabase(server.url)) as holder,
    ):
        process = begin(server.url, *LADDER[:4], "--duration", "0.5", *LADDER[6:])
        wait_until_under_way(process, tmp_path, 1)
        # Clients insert beside this lock, and the cleaning before the next cycle waits for it.
        holder.fetch("BEGIN")
        holder.fetch("LOCK TABLE dsbench.history IN SHARE UPDATE EXCLUSIVE MODE")
        ended: set[str | None] = set()
        while len(ended) < sessions and process.poll() is None:
            ended |= {row["pid"] for row in target.fetch(END_CLEANING)}  # One that is dying may be ended again.
            time.sleep(0.01)
        holder.fetch("ROLLBACK")
        _, err = process.communicate(timeout=90)
    assert (process.returncode, "Traceback" in err) == (code, False), err
    archive = only_archive(tmp_path / "out")
    told = (archive / "results.log").read_text().count("the VACUUM session was terminated")
    assert len(ended) == sessions
    if code == 0:
        assert (told, finished(archive)) == (1, [1, 2, 3])
    else:
        assert (told, finished(archive)) == (2, [1])
        assert "connection was lost" in err


def test_a_resumed_run_keeps_its_specification(called: Program, tmp_path: Path) -> None:
    done = called("run", "private:sqlite", *LADDER[:2], "--cycles", "1", "--duration", "0.5", "--out", "out")
    assert done.returncode == 0, done.stderr
    archive = only_archive(tmp_path / "out")
    again = called("run", "--resume", str(archive))
    assert (again.returncode, "is complete" in again.stderr) == (2, True)
    changed = called("run", "--resume", str(archive), "--clients", "9")
    assert (changed.returncode, "--clients" in changed.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting a small disk needs root")
@pytest.mark.parametrize("limit", mostly_thorough(["size=160k", "nr_inodes=14", "size=400k"], "size=160k"))
def test_a_full_disk_loses_nothing_that_was_finished(called: Program, tmp_path: Path, limit: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "tmpfs", str(small)], check=False)
    assert mounted.returncode == 0
    try:
        arguments = ["--scales", "1", "--cycles", "12", "--duration", "0.2", "--clients", "2"]
        database = tmp_path / "run.db"
        done = called("run", f"sqlite:///{database}", *arguments, "--out", str(small))
        assert not database.exists(), "the database goes, whatever the archive's disk does"
        assert done.returncode == 1, done.stderr
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        archive = only_archive(small)
        kept = finished(archive)
        assert kept == list(range(1, len(kept) + 1))
        assert called("show", str(archive)).returncode == 0
    finally:
        subprocess.run(["umount", str(small)], check=True)
