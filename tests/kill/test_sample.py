"""A few kills with a fixed seed, of all that ``python -m tests.kill`` makes."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.kill.commands import COMMANDS, kill, usual
from tests.kill.one import FOREIGN, Killer, foreign

pytestmark = pytest.mark.thorough
SAMPLE = [
    ("sqlite", "drop", signal.SIGKILL),
    ("sqlite", "seal", signal.SIGKILL),
    ("postgresql", "populate", signal.SIGKILL),
    ("firebird embedded", "keys", signal.SIGINT),
]


@pytest.mark.parametrize(("product", "phase", "number"), SAMPLE)
def test_a_killed_run_loses_nothing_and_leaves_nothing(product: str, phase: str, number: signal.Signals) -> None:
    killed = Killer("").kill(f"sample/{product}/{phase}", product, phase, number)
    assert killed.violations == []


@pytest.fixture
def url() -> Iterator[str]:
    with foreign() as server:
        yield server.url


@pytest.mark.parametrize(("phase", "number"), [("check", signal.SIGKILL), ("cycle", signal.SIGTERM)])
def test_on_a_server_that_is_not_the_runs(url: str, phase: str, number: signal.Signals) -> None:
    killed = Killer(url).kill(f"sample/{phase}", FOREIGN, phase, number)
    assert killed.violations == []


@pytest.mark.parametrize("command", ["drop", "publish"])
def test_a_killed_command_is_done_by_the_next_one(command: str) -> None:
    assert kill(command, usual(COMMANDS[command]), f"sample/{command}").violations == []
