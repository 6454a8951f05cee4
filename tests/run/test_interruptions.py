"""Runs that end early: by a signal, by a server that dies, by a full disk. As a user would see it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.generator import Target
from dsbench.servers.folder import MARK, PREFIX
from dsbench.spec import Target as TargetSpec
from fixtures.program import Program, described, only_archive

LADDER = ["--scales", "1", "--cycles", "3", "--duration", "3", "--threads", "3", "--seed", "1"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that a test starts; ended when it is over, whatever happened."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def begin(running: list[subprocess.Popen[str]], tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dsbench", "run", *arguments, "--out", "out"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    running.append(process)
    return process


def wait_for_cycle(tmp_path: Path, cycle: int, *, clean: bool = False) -> Path:
    """Waits until ``cycle`` of scale 1 is written, or the ``clean`` before it has ended; gives the archive."""
    pattern = f"phases/*_cycle-{cycle:05d}_clean" if clean else f"cycles/*_cycle-{cycle:05d}_*"
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        if found := list(tmp_path.glob(f"out/*/{pattern}.parquet")):
            return found[0].parent.parent
        time.sleep(0.05)
    raise AssertionError(f"{pattern} was not there after 60 s")


def finished(archive: Path) -> list[int]:
    return sorted(set(Archive.open(archive).table("cycles").column("cycle").to_pylist()))


PROGRAMS = {
    "private:sqlite": "",
    "private:postgresql": "postgres",
    "private:mariadb": "mariadbd",
    "private:firebird": "firebird",
}
"""Private targets, and the server program of each; SQLite has none."""


def server_of(parent: int, target: str) -> list[psutil.Process]:
    """Processes of the server that the run has started, the first one first."""
    children = psutil.Process(parent).children(recursive=True)
    return [child for child in children if PROGRAMS[target] and PROGRAMS[target] in child.name()]


def data_of(owner: int) -> list[Path]:
    """Folders that a run keeps its private server in, by the marks in them."""
    found = []
    for mark in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{MARK}"):
        with suppress(OSError, ValueError):  # of other programs, which come and go
            if json.loads(mark.read_text())["owner"] == owner:
                found.append(mark.parent)
    return found


SIGNALS = [
    *((target, signal.SIGINT, 130) for target in PROGRAMS),
    *((target, signal.SIGTERM, 143) for target in ("private:sqlite", "private:postgresql")),
]


@pytest.mark.parametrize(("target", "number", "code"), SIGNALS)
def test_a_signal_leaves_a_readable_archive_and_nothing_else(
    running: list[subprocess.Popen[str]],
    tmp_path: Path,
    dsbench: Program,
    target: str,
    number: signal.Signals,
    code: int,
) -> None:
    process = begin(running, tmp_path, target, *LADDER)
    archive = wait_for_cycle(tmp_path, 1)
    time.sleep(0.5)
    servers_of_run = server_of(process.pid, target)
    assert bool(servers_of_run) == bool(PROGRAMS[target])
    data = data_of(process.pid)
    assert data
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert "error: stopped by " + number.name in err
    assert "--resume" in err
    assert described(archive)["status"] == "cut-short"
    assert finished(archive) == [1]
    assert "status: cut-short" in out
    _gone, alive = psutil.wait_procs(servers_of_run, timeout=10)
    assert not alive
    assert not any(path.exists() for path in data)
    resumed = dsbench("run", "--resume", str(archive))
    assert resumed.returncode == 0, resumed.stderr
    assert finished(archive) == [1, 2, 3]
    assert described(archive)["status"] == "complete"
    assert [s["first_cycle"] for s in described(archive)["segments"]] == [1, 2]


SERVERS = [
    ("private:postgresql", []),
    ("private:mariadb", []),
    ("private:firebird", []),
    ("private:firebird", ["--set", "ServerMode=Classic"]),
]


@pytest.mark.parametrize(("target", "settings"), SERVERS, ids=lambda value: "".join(value).removeprefix("private:"))
def test_a_server_killed_in_cycle_2_of_3(
    running: list[subprocess.Popen[str]], tmp_path: Path, dsbench: Program, target: str, settings: list[str]
) -> None:
    process = begin(running, tmp_path, target, *settings, *LADDER)
    archive = wait_for_cycle(tmp_path, 2, clean=True)
    time.sleep(1.2)  # until the clients are connected and at work
    for child in server_of(process.pid, target):
        child.kill()
    _, err = process.communicate(timeout=90)
    assert process.returncode == 1
    assert "cycle 2" in err
    assert "connection was lost" in err
    assert f"hint: finished cycles are kept; once the server works again: dsbench run --resume out/{archive.name}" in err
    assert finished(archive) == [1]
    assert not data_of(process.pid), "nothing of the dead server is left"
    shown = dsbench("show", str(archive), "--json")
    assert json.loads(shown.stdout)["run"]["status"] == "failed"
    resumed = dsbench("run", "--resume", str(archive))
    assert resumed.returncode == 0, resumed.stderr
    assert finished(archive) == [1, 2, 3]


def test_one_lost_connection_is_a_failure_of_one_transaction(
    running: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    with servers.start(TargetSpec(url="private:postgresql"), 20) as server:
        process = begin(running, tmp_path, server.url, *LADDER[:2], "--cycles", "2", *LADDER[4:])
        wait_for_cycle(tmp_path, 1)
        time.sleep(0.7)
        killed = Target(server.url).fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'dsbench' AND query LIKE '%tpcb%' LIMIT 1"
        )
        assert len(killed) == 1
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    errors = Archive.open(only_archive(tmp_path / "out")).table("errors").to_pylist()
    assert [e for e in errors if e["error"] in ("disconnected", "unknown")], errors


def test_a_resumed_run_keeps_its_specification(dsbench: Program, tmp_path: Path) -> None:
    done = dsbench("run", "private:sqlite", *LADDER[:2], "--cycles", "1", "--duration", "0.5", "--out", "out")
    assert done.returncode == 0, done.stderr
    archive = only_archive(tmp_path / "out")
    again = dsbench("run", "--resume", str(archive))
    assert (again.returncode, "is complete" in again.stderr) == (2, True)
    changed = dsbench("run", "--resume", str(archive), "--threads", "9")
    assert (changed.returncode, "--threads" in changed.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting a small disk needs root")
@pytest.mark.parametrize("limit", ["size=160k", "nr_inodes=14", "size=400k"])
def test_a_full_disk_loses_nothing_that_was_finished(dsbench: Program, tmp_path: Path, limit: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "tmpfs", str(small)], check=False)
    assert mounted.returncode == 0
    try:
        arguments = ["--scales", "1", "--cycles", "12", "--duration", "0.2", "--threads", "2"]
        database = tmp_path / "run.db"
        done = dsbench("run", f"sqlite:///{database}", *arguments, "--out", str(small))
        assert not database.exists(), "the database goes, whatever the archive's disk does"
        assert done.returncode == 1, done.stderr
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        archive = only_archive(small)
        kept = finished(archive)
        assert kept == list(range(1, len(kept) + 1))
        assert dsbench("show", str(archive)).returncode == 0
    finally:
        subprocess.run(["umount", str(small)], check=True)
