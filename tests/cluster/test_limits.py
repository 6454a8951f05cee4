"""What strangers and members may take of the coordinator: enough to join, too little to end a run."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from dsbench.cluster import frames, limits
from dsbench.cluster.turn import Turn
from fixtures.house import House
from fixtures.intruder import Intruder
from fixtures.nodes import Bed, ended
from fixtures.waiting import until


def test_who_says_too_much_is_cut(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    with Intruder(house.bundle(1)) as intruder:
        intruder.send({"id": 1, "op": "enrol", "token": "x" * frames.LONGEST})
        assert intruder.cut
    house.until_logged(f"more than {frames.LONGEST}")
    with Intruder(house.bundle(1)) as intruder:
        intruder.enrol()
        intruder.send({"id": 1, "op": "clock"}, length=frames.LONGEST_DATA)
        assert intruder.cut
    house.gone("node-1")
    monkeypatch.setattr(limits, "MESSAGES_PER_S", 0.1)  # A slow machine asks no faster than more are allowed.
    with Intruder(house.bundle(1)) as intruder:
        intruder.enrol()
        with pytest.raises(OSError):  # noqa: PT011  reset or closed
            ask_on_and_on(intruder)
    house.until_logged("messages a second")
    house.gone("node-1")
    monkeypatch.setattr(limits, "PENDING", 3)
    with Intruder(house.bundle(1)) as intruder:
        intruder.enrol()
        house.coordinator.start_turn(Turn("t", {"node-1": {}}))
        for number in range(6):
            intruder.send({"id": number, "op": "ready", "key": "t", "offset_ns": 0, "error_ns": 1})
        assert intruder.cut
        house.coordinator.end_turn()
    house.until_logged("wait for an answer")
    house.gone("node-1")
    assert house.well


def ask_on_and_on(intruder: Intruder) -> None:
    """One question after the other."""
    for _ in range(2 * limits.MESSAGES):
        intruder.ask("clock")


def test_joining_again_and_again_is_cut(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOINS", 5)
    monkeypatch.setattr(limits, "JOINS_PER_S", 0.001)
    for _ in range(5):
        with Intruder(house.bundle(1), "same") as intruder:
            intruder.enrol()
    with Intruder(house.bundle(1), "same") as intruder, pytest.raises(OSError):  # noqa: PT011  reset or closed
        intruder.enrol()
    house.until_logged("it asks to join too often")
    assert house.well


@pytest.mark.parametrize("shaken", [False, True])
def test_silence_is_cut(house: House, monkeypatch: pytest.MonkeyPatch, shaken: bool) -> None:
    with monkeypatch.context() as shorter:
        # A handshake has to be done within it.
        shorter.setattr(limits, "INTRODUCTION_S", 3.0 if shaken else 0.1)
        if shaken:
            with Intruder(house.bundle(1)) as intruder:
                assert intruder.cut
        else:
            with socket.create_connection(("127.0.0.1", house.bundle(1).port), timeout=20) as plain:
                assert plain.recv(1) == b""
        house.until_logged(f"{'its first message' if shaken else 'its TLS handshake'} took too long")
    assert house.well


def test_of_too_many_strangers_the_oldest_is_cut(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "INTRODUCTION_S", 60.0)  # None is cut for its silence.
    with ExitStack() as stack:
        waiting = [
            stack.enter_context(socket.create_connection(("127.0.0.1", house.bundle(1).port), timeout=20))
            for _ in range(limits.STRANGERS + 20)
        ]
        assert waiting[0].recv(1) == b""
        assert house.well, "a node is let in all the same"
        waiting[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            waiting[-1].recv(1)
    house.until_logged(f"{limits.STRANGERS} others wait to say who they are")


def test_the_log_is_no_weapon() -> None:
    lines: list[str] = []
    at = [0.0]
    log = limits.SparingLog(lines.append, lambda: at[0])
    for number in range(1000):
        log("a", f"line {number}")
    log("b", "another kind")
    assert (len(lines), lines[-1]) == (limits.LINES + 1, "another kind")
    at[0] = 1 / limits.LINES_PER_S
    log("a", "later")
    assert lines[-1] == f"later ({1000 - limits.LINES} more like this before)"
    log("a", "once more")
    log.close()
    assert lines[-1] == "a: 1 more"


def test_a_flood_of_half_open_connections_does_not_end_a_run(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(1), bed.node(2)]
        load = ("--threads", "1", "--scales", "1", "--cycles", "3", "--duration", "1.5", "--seed", "1")
        run = bed.run("mock:?latency_us=1000", *load, within=("prlimit", "--nofile=1024:1024"))
        assert until(lambda: bed.log().count("joined") == 2)
        with ExitStack() as stack:
            port = bed.invitation.coordinator.port
            for _ in range(1100):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            assert run.poll() is None
            said = ended(run, 120)
        assert all("the run is complete" in ended(node) for node in nodes)
        log, taken = bed.log(), bed.archive().table("nodes").to_pylist()
    assert [row["state"] for row in taken] == ["complete"] * 6
    # Some for their number and, where the run takes longer than a stranger may, some for silence.
    assert limits.LINES <= log.count("cut a connection of") < 100, "no line for each of a thousand"
    assert "Traceback" not in said + log
    assert re.search(r"connections cut for their number: \d+ more|\d+ more like this before", log)


def test_the_soft_limit_of_files_is_raised_to_the_hard_one() -> None:
    program = (
        "import resource as r; from dsbench.cluster.limits import raise_file_limit as up; "
        "up(); print(r.getrlimit(r.RLIMIT_NOFILE))"
    )
    command = ["prlimit", "--nofile=256:900", sys.executable, "-c", program]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "(900, 900)\n"
