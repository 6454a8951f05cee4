"""Servers that fall silent in the middle of a run: it ends by itself, in order, and hears the user all the time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from dsbench import servers
from dsbench.spec import Target
from fixtures.kept import data_of, finished, servers_of
from fixtures.program import described
from fixtures.stalled import unless_stalled
from fixtures.started import program, wait_for_cycle, wait_until_under_way
from fixtures.thorough import mostly_thorough

IMPATIENT = """
from dsbench.measure.monitors import sampler, sessions
from dsbench.measure import cycle
cycle.GRACE_S, sampler.PATIENCE_S, sessions.PATIENCE_S = 4.0, 2.0, 2.0
"""
"""dsbench with less patience for a server, so that a test need not wait for all of it."""

LADDER = ["--scales", "1", "--cycles", "2", "--duration", "3", "--clients", "2", "--seed", "1", "--out", "out",
          "--placement", "free"]


PROGRAMS = {"private:postgresql": "postgres", "private:mariadb": "mariadbd", "private:firebird": "firebird"}


@pytest.fixture
def target() -> str:
    """The server of ``running``; a test may name another one of ``PROGRAMS``."""
    return "private:postgresql"


@pytest.fixture
def running(target: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run against a private server; whatever is left of both is ended with the test."""
    command = program("run", target, *LADDER, before=IMPATIENT)
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    yield process
    left = servers_of(process.pid, PROGRAMS[target]) if process.poll() is None else []
    for one in [process, *left]:
        with suppress(psutil.NoSuchProcess):
            one.kill()
    process.communicate()


def silence(process: subprocess.Popen[str], folder: Path, program: str = "postgres") -> tuple[Path, list[psutil.Process]]:
    """Stops every server process in the second cycle; gives the archive and those processes."""
    archive = wait_for_cycle(process, folder, 1)
    wait_until_under_way(process, folder, 2)
    silenced = servers_of(process.pid, program)
    assert silenced
    for one in silenced:
        with suppress(psutil.NoSuchProcess):
            one.suspend()
    return archive, silenced


def check_end(process: subprocess.Popen[str], archive: Path, silenced: list[psutil.Process]) -> None:
    """What holds however such a run ended."""
    assert finished(archive) == [1]
    _gone, alive = psutil.wait_procs(silenced, timeout=60)
    assert alive == [], "the private server was stopped"
    assert data_of(process.pid) == []


@pytest.mark.parametrize("target", mostly_thorough(PROGRAMS, "private:postgresql"))
@unless_stalled
def test_a_silent_server_ends_the_run_with_one_error(
    running: subprocess.Popen[str], target: str, tmp_path: Path
) -> None:
    archive, silenced = silence(running, tmp_path, PROGRAMS[target])
    _, err = running.communicate(timeout=120)
    assert running.returncode == 1, err
    (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert error.startswith("error: scale 1, cycle 2: the connection was lost"), error
    assert "did not answer" in error
    assert "dsbench run --resume" in err
    assert "Traceback" not in err
    assert described(archive)["status"] == "failed"
    check_end(running, archive, silenced)


@pytest.mark.thorough
def test_ctrl_c_ends_a_run_whose_server_is_silent(running: subprocess.Popen[str], tmp_path: Path) -> None:
    archive, silenced = silence(running, tmp_path)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=120)
    assert (running.returncode, "error: stopped by SIGINT" in err) == (130, True), err
    assert described(archive)["status"] == "cut-short"
    check_end(running, archive, silenced)


ASKING = """
import signal, sys, threading, time
from dsbench.measure.loaders import CoreError, TargetDatabase
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may have ignored
target = TargetDatabase(sys.argv[1])
target.fetch("SELECT 1")
def ask():
    try:
        target.fetch("SELECT 2")
    except CoreError as error:
        print(error.kind, flush=True)
monitor = threading.Thread(target=ask)
"""
"""A session with the server of its argument, which is to fall silent before it asks again."""

IN_MONITOR = ASKING + """
print("ready", flush=True)
sys.stdin.readline()
monitor.start()
time.sleep(0.5)
target.close()
monitor.join()
"""
IN_MAIN = ASKING + """
print("ready", flush=True)
sys.stdin.readline()
print("asking", flush=True)
target.fetch("SELECT 3")
"""


@pytest.fixture
def silent() -> Iterator[tuple[servers.Server, list[psutil.Process]]]:
    """A private PostgreSQL, and a list to be filled with those of its processes that stand still."""
    with servers.start(Target(url="private:postgresql"), 8) as server:
        stopped: list[psutil.Process] = []
        yield server, stopped
        for one in stopped:
            with suppress(psutil.NoSuchProcess):
                one.resume()


def ask(silent: tuple[servers.Server, list[psutil.Process]], program: str) -> subprocess.Popen[str]:
    """``program`` up to the moment in which it is to ask; the server stands still by then."""
    server, stopped = silent
    process = subprocess.Popen(
        [sys.executable, "-c", program, server.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "ready\n"
    stopped += [psutil.Process(pid) for pid in server.pids()]
    for one in stopped:
        one.suspend()
    process.stdin.write("go\n")
    process.stdin.flush()
    return process


def test_close_ends_a_query_of_another_thread(silent: tuple[servers.Server, list[psutil.Process]]) -> None:
    process = ask(silent, IN_MONITOR)
    try:
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out) in ((0, "disconnected\n"), (0, "unknown\n"))


def test_ctrl_c_is_heard_while_the_main_thread_asks(silent: tuple[servers.Server, list[psutil.Process]]) -> None:
    process = ask(silent, IN_MAIN)
    assert process.stdout is not None
    assert process.stdout.readline() == "asking\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=40)  # Less than after which the query would be given up by itself.
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGINT
