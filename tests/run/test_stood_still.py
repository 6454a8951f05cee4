"""A program that is stopped in the middle of a cycle measures its own pause: that is told."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dsbench.measure.loaders import Cycle
from fixtures.program import described
from fixtures.stalled import unless_stalled
from fixtures.started import program

MS = 1_000_000


@pytest.mark.parametrize(
    ("due_ms", "came_ms", "still_ms"),
    [
        (1000, 1200, 0),  # a busy machine
        (1000, 1500, 500),
        (1000, 4000, 1000),  # the cycle ended meanwhile
        (-500, 300, 300),  # before the start nothing is measured
        (2100, 9000, 0),  # nor after the end
    ],
)
def test_what_lies_within_the_cycle_counts(due_ms: int, came_ms: int, still_ms: int) -> None:
    cycle = Cycle(cast(Any, None), cast(Any, SimpleNamespace(duration_ns=2000 * MS)), 1, None)
    start_ns = 10**12
    cycle._look_back(start_ns + due_ms * MS, start_ns + came_ms * MS, start_ns)
    assert cycle.paused_ns == still_ms * MS


class Silent:
    """Clients whose server never answers, until they are told to end."""

    def __init__(self) -> None:
        self.told = ""

    def finished(self) -> bool:
        return bool(self.told)

    def totals(self) -> tuple[int, int]:
        return 0, 0

    def abandon(self, reason: str | None = None) -> None:
        self.told = reason or "no reason"


@pytest.mark.parametrize(
    ("duration_ms", "stops", "given_up_ms"),
    [
        (2000, {}, 12_000),
        (2000, {5000: 30_000}, 42_000),  # after the end nothing is lost of what the server is given
        (2000, {1000: 30_000}, 41_000),  # a stop of 30 s, of which 29 are after the end
        (2000, {0: 500}, 12_000),  # before the end it does not matter
        (2000, {5000: 200}, 12_000),  # a busy machine
        (None, {5000: 30_000}, 630_000),
    ],
)
def test_a_server_is_not_given_up_for_the_time_in_which_its_clients_stood_still(
    duration_ms: int | None, stops: dict[int, int], given_up_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, pending = 0, dict(stops)

    def sleep(seconds: float) -> None:
        nonlocal now
        now += round(seconds * 1e9)
        for at_ms in [at_ms for at_ms in pending if now >= at_ms * MS]:
            now += pending.pop(at_ms) * MS

    monkeypatch.setattr("dsbench.measure.loaders.cycle.now_ns", lambda: now)
    monkeypatch.setattr("time.sleep", sleep)
    source = Silent()
    duration_ns = None if duration_ms is None else duration_ms * MS
    cycle = Cycle(cast(Any, source), cast(Any, SimpleNamespace(duration_ns=duration_ns)), 1, None)
    cycle.wait(0, 10, lambda _committed, _failed: None)
    # It is looked twenty times a second.
    assert given_up_ms <= now / MS <= given_up_ms + 300
    assert "the server did not answer for" in source.told


STOPPED_ONCE = """
import os, signal, time
from types import SimpleNamespace
import dsbench.measure.loaders.cycle as looking

def sleep(seconds):
    if Path("under-way-2").exists() and not Path("stopped").exists():
        Path("stopped").touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(seconds)

looking.time = SimpleNamespace(sleep=sleep, monotonic=time.monotonic)
"""


@unless_stalled
def test_a_stopped_program_tells_it(tmp_path: Path) -> None:
    load = ("--scales", "1", "--cycles", "2", "--duration", "3", "--clients", "2", "--out", "out")
    command = program("run", "mock:?latency_us=500", *load, before=STOPPED_ONCE)
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            assert os.WIFSTOPPED(os.waitpid(run.pid, os.WUNTRACED)[1])
            time.sleep(1.5)
            run.send_signal(signal.SIGCONT)
            out, error = run.communicate(timeout=60)
        finally:
            run.kill()
    assert run.returncode == 0, error
    [archive] = (path for path in (tmp_path / "out").iterdir() if path.is_dir())
    told = [w["message"] for w in described(archive)["warnings"] if w["code"] == "stood-still"]
    assert any("of cycle 2 of scale 1: its rate is too low" in words for words in told), told
    assert "dsbench was suspended for" in out
