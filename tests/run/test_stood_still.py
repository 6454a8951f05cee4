"""A program that is stopped in the middle of a cycle measures its own pause: that is told."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dsbench.measure.loaders import Cycle
from fixtures.program import described
from fixtures.started import Begin, wait_for_cycle, wait_until_under_way

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
    assert cycle.still_ns == still_ms * MS


def test_a_stopped_program_tells_it(begin: Begin, tmp_path: Path) -> None:
    run = begin("mock:?latency_us=500", "--scales", "1", "--cycles", "2", "--duration", "3", "--threads", "2")
    archive = wait_for_cycle(run, tmp_path, 1)
    wait_until_under_way(run, tmp_path, 2)
    run.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    run.send_signal(signal.SIGCONT)
    out, error = run.communicate(timeout=60)
    assert run.returncode == 0, error
    told = [w["message"] for w in described(archive)["warnings"] if w["code"] == "stood-still"]
    assert any("of cycle 2 of scale 1: its rate is too low" in words for words in told), told
    assert "dsbench stood still for" in out
