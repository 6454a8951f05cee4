"""What the holder of a valid bundle can do: take part as the member that it names, and nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import psutil
import pytest

from dsbench.cluster import frames, limits, outcome
from dsbench.cluster.answers import LARGEST_ERROR_NS
from dsbench.cluster.bundle import Bundle, Invitation, invite, read
from dsbench.cluster.coordinator import Coordinator
from dsbench.cluster.outcome import Course, DamagedError, Fit, decode, encode
from dsbench.cluster.turn import Turn
from dsbench.columns import COUNTERS
from dsbench.generator import SECOND_WORDS, CycleResult
from fixtures.intruder import Bomb, Intruder, payloads
from fixtures.nodes import Bed, ended, free_port

DASK = (
    "run_function", "feed", "register_scheduler_plugin", "register_worker_plugin", "register_nanny_plugin", "scatter",
    "gather", "get_data", "update_data", "register-client", "client-releases-keys", "update-graph", "register-worker",
    "register_nanny", "heartbeat_worker", "cancel", "retire_workers", "restart", "broadcast", "proxy", "identity",
    "dump_cluster_state_to_url", "upload_file", "events", "set_metadata", "task-erred", "task-finished", "terminate",
)  # fmt: skip
"""Operations of Dask's scheduler that run code, or hand out or change what is somebody else's."""


@dataclass
class House:
    """A coordinator of two nodes that were invited with a third."""

    invitation: Invitation
    coordinator: Coordinator
    said: list[str]

    def bundle(self, number: int) -> Bundle:
        """Of node ``number``."""
        return read(self.invitation.folder / f"node-{number}.bundle")

    def log(self) -> str:
        """What it has said until now."""
        while not self.coordinator.news.empty():
            self.said.append(self.coordinator.news.get())
        return "\n".join(self.said)

    def until_logged(self, words: str) -> str:
        """Waits for ``words`` in the log; gives it."""
        give_up = time.monotonic() + 20
        while words not in (log := self.log()):
            assert time.monotonic() < give_up, log
            time.sleep(0.01)
        return log

    @property
    def well(self) -> bool:
        """Whether a node can still join."""
        with Intruder(self.bundle(2), os.urandom(4).hex()) as node:
            answer = node.enrol("good")
            alive = node.ask("beat", key="", totals=[0, 0, 0])["known"]
        self.gone("node-2")
        return answer["refused"] == "" and alive is True

    def gone(self, member: str) -> None:
        """Waits until ``member`` is out."""
        give_up = time.monotonic() + 20
        while self.coordinator.ask(lambda: member in {m.member for m in self.coordinator.roster.here}):
            assert time.monotonic() < give_up
            time.sleep(0.01)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setattr(limits, "JOINS", 1000)
    monkeypatch.setattr(limits, "LINES", 1000)
    monkeypatch.setattr(limits, "MESSAGES", 50)
    made = invite(tmp_path / "cluster", 3, "127.0.0.1", free_port())
    coordinator = Coordinator(made.coordinator, 2, 3.0)
    coordinator.start()
    yield House(made, coordinator, [])
    coordinator.close("over")
    assert not coordinator._thread.is_alive()


def test_no_operation_of_dask_answers(house: House) -> None:
    for enrolled in (False, True):
        for operation in DASK:
            with Intruder(house.bundle(1)) as intruder:
                if enrolled:
                    assert intruder.enrol()["refused"] == ""
                intruder.send({"id": 9, "op": operation, "function": "x", "reply": True})
                assert intruder.cut, operation
            house.gone("node-1")
            house.until_logged(f"{operation!r}, which is not for nodes")
    assert house.well


def test_dask_itself_finds_nobody_to_talk_to(house: House, tmp_path: Path) -> None:
    from distributed import Client, Worker
    from distributed.core import rpc
    from distributed.security import Security

    bundle = house.bundle(1)
    roles = {f"tls_{r}_{p}": t for r in ("client", "worker", "scheduler") for p, t in (("cert", bundle.certificate), ("key", bundle.key))}
    security = Security(require_encryption=True, tls_ca_file=bundle.trusted, **roles)
    address = f"tls://127.0.0.1:{bundle.port}"

    async def attack() -> None:
        arguments = security.get_connection_args("worker")
        async with rpc(address, connection_args=arguments, timeout=1) as scheduler:
            for operation in ("run_function", "feed", "register_worker_plugin", "register_nanny_plugin", "gather"):
                with pytest.raises((OSError, RuntimeError)):
                    await asyncio.wait_for(getattr(scheduler, operation)(function=os.mkdir, plugin=Bomb(tmp_path / "x")), 3)
        with pytest.raises((OSError, RuntimeError)):
            await Client(address, security=security, asynchronous=True, timeout=1)
        worker = Worker(address, security=security, death_timeout=2, host="tls://127.0.0.1", dashboard=False)
        with pytest.raises((OSError, RuntimeError)):
            await worker

    asyncio.run(attack())
    house.until_logged("it sent a message of")
    assert not (tmp_path / "x").exists()
    assert house.well


def test_the_coordinator_listens_at_its_port_alone(house: House) -> None:
    listening = [c.laddr.port for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert listening.count(house.bundle(1).port) == 1
    house.coordinator.close("over")
    after = [c.laddr.port for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert sorted([*after, house.bundle(1).port]) == sorted(listening)


RIGHT: dict[str, dict[str, Any]] = {
    "enrol": {"token": "t", "name": "n", "facts": {"versions": {}, "host": "h", "system": "s", "pid": 1, "cpus": 1}},
    "carry": {"token": "t", "key": "k", "size": 1},
    "clock": {},
    "beat": {"key": "k", "totals": [1, 2, 3]},
    "order": {"key": "k"},
    "ready": {"key": "k", "offset_ns": -1, "error_ns": 1},
    "armed": {"key": "k", "left_ns": 1},
    "failed": {"key": "k", "why": "w"},
    "done": {"key": "k"},
}
TEXTS = ("token", "name", "key", "why", "facts.host", "facts.system", "facts key")
ALL = {**frames.FIRST, **frames.OPERATIONS}


def positions(operation: str) -> Iterator[tuple[str, Any]]:
    """(where, how to put a value there) for each place of a message that may hold one."""
    message = {"id": 1, "op": operation, **RIGHT[operation]}
    for name in (*message, "more"):
        yield name, lambda value, name=name: {**message, name: value}
    for name in ("facts", "totals"):
        inner = message.get(name)
        if isinstance(inner, dict):
            for key in inner:
                yield f"{name}.{key}", lambda value, name=name, key=key, inner=inner: {**message, name: {**inner, key: value}}
            yield f"{name} key", lambda value, name=name, inner=inner: {**message, name: {**inner, "versions": {"a": value}}}
        elif inner:
            yield f"{name}[1]", lambda value, name=name: {**message, name: [1, value, 3]}


def test_pickled_code_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    assert RIGHT.keys() == ALL.keys(), "every operation is attacked"
    for operation, allowed in ((o, a) for a in (frames.FIRST, frames.OPERATIONS) for o in a):
        right = {"id": 1, "op": operation, **RIGHT[operation]}
        assert frames.asked(frames.unpack(frames.pack(right)), allowed) == (1, operation, RIGHT[operation])
        for where, put in positions(operation):
            for payload in payloads(marker):
                if where in TEXTS and isinstance(payload, str):
                    continue  # A text is a text, and stays one.
                if where == "facts.versions" and frames._versions(payload):
                    continue  # So are these.
                packed = msgpack.packb(put(payload), use_bin_type=True)
                with pytest.raises(frames.ProtocolError):
                    frames.asked(frames.unpack(packed), allowed)
    for payload in payloads(marker):
        with pytest.raises(frames.ProtocolError):
            frames.asked(frames.unpack(msgpack.packb(payload, use_bin_type=True)), ALL)
    assert not marker.exists()


def test_dask_would_run_it_even_when_it_is_told_not_to_deserialize(tmp_path: Path) -> None:
    from distributed.protocol import loads

    marker = tmp_path / "marker"
    head = msgpack.packb({"pickled-obj": pickle.dumps(Bomb(marker)), "num-sub-frames": 0})
    loads([msgpack.packb({"op": "clock", "x": {"__Pickled__": 1}}), head], deserialize=False)
    assert marker.exists(), "this is why Dask reads nothing of the network: see decision 013"


def test_pickled_code_on_the_wire_cuts_the_connection_and_nothing_else(house: House, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for enrolled in (False, True):
        for payload in payloads(marker):
            with Intruder(house.bundle(1)) as intruder:
                if enrolled:
                    intruder.enrol()
                operation = {"op": "beat", "key": payload, "totals": [0, 0, 0]} if enrolled else {"op": "enrol", "facts": payload}
                if isinstance(payload, str) and enrolled:
                    operation["totals"] = payload
                intruder.send({"id": 1, **operation})
                assert intruder.cut
            house.gone("node-1")
    # As data behind a message, which Dask's protocol would take for frames of it.
    for enrolled in (False, True):
        with Intruder(house.bundle(1)) as intruder:
            if enrolled:
                intruder.enrol()
            intruder.send({"id": 1, "op": "clock"} if enrolled else {"id": 1, "op": "enrol", **RIGHT["enrol"]}, b"\x80\x04")
            assert intruder.cut
    house.until_logged("it sent data that nobody asked for")
    assert not marker.exists()
    assert house.well


def test_a_bundle_is_one_member_once(house: House) -> None:
    with Intruder(house.bundle(1), "first") as first, Intruder(house.bundle(1), "second") as second:
        assert first.enrol("node-2")["refused"] == ""
        assert "node-1 is in use by node-2" in second.enrol()["refused"]
        assert second.cut
        # What it calls itself is a name in results; who it is says its certificate.
        assert house.coordinator.ask(lambda: list(house.coordinator.roster.members)) == ["node-1"]
        assert first.ask("beat", key="", totals=[0, 0, 0])["known"] is True, "the first is still there"
    house.gone("node-1")
    with Intruder(house.bundle(1), "same") as first, Intruder(house.bundle(1), "same") as second:
        assert [one.enrol()["refused"] for one in (first, second)] == ["", ""]
        assert first.cut, "the process that comes again has lost its connection"
        assert second.ask("beat", key="", totals=[0, 0, 0])["known"] is True
    house.gone("node-1")
    with ExitStack() as stack:
        two = [stack.enter_context(Intruder(house.bundle(n), "first")) for n in (1, 2)]
        assert [node.enrol()["refused"] for node in two] == ["", ""]
        third = stack.enter_context(Intruder(house.bundle(3)))
        assert "the run has its 2 nodes" in third.enrol()["refused"]
        assert third.cut


def test_nothing_that_a_node_calls_itself_breaks_a_line_of_the_log(house: House) -> None:
    evil = "x\nERROR: mine\x1b[2J"
    with Intruder(house.bundle(1)) as intruder:
        facts = {"versions": {"dsbench": evil}, "host": evil, "system": evil, "pid": 1, "cpus": 1}
        assert intruder.enrol(evil, facts=facts)["refused"].isprintable()
    log = house.until_logged("refused a node")
    assert "\nERROR" not in log
    assert "\x1b" not in log
    assert house.well


def test_the_coordinators_own_bundle_is_no_nodes(house: House) -> None:
    with pytest.raises(OSError), Intruder(house.invitation.coordinator) as intruder:  # noqa: PT011  whichever alert
        intruder.enrol()
    house.until_logged("TLS handshake failed")
    assert house.well


def test_a_member_touches_its_own_part_of_a_turn_alone(house: House) -> None:
    with Intruder(house.bundle(1), "a") as one, Intruder(house.bundle(2), "b") as two:
        one.enrol()
        two.enrol()
        turn = Turn("t", {"node-2": {"secret": "of two"}})
        house.coordinator.start_turn(turn)
        assert two.read() == {"op": "begin", "key": "t"}
        assert one.ask("order", key="t") is None
        assert one.ask("ready", key="t", offset_ns=0, error_ns=1) is None
        assert one.ask("armed", key="t", left_ns=1) is False
        one.ask("failed", key="t", why="I say so\nERROR: and a line of my own")
        one.ask("done", key="t")
        for token in ("a", "b"):
            with Intruder(house.bundle(1), token) as bringing:
                assert bringing.ask("carry", token=token, key="t", size=5) is False
                assert bringing.cut
        assert house.coordinator.ask(lambda: (turn.missing, turn.results, turn.waiting)) == ({}, {}, ["node-2"])
        assert two.ask("order", key="t") == {"secret": "of two"}
        # Of two, nothing but what was announced and expected is taken, once.
        with Intruder(house.bundle(2), "b") as bringing:
            assert bringing.ask("carry", token="b", key="t", size=5) is True
            bringing.send({}, b"12345")
            assert bringing.read()["answer"] is True
        assert house.coordinator.ask(lambda: turn.results) == {"node-2": b"12345"}
        with Intruder(house.bundle(2), "b") as bringing:
            assert bringing.ask("carry", token="b", key="t", size=5) is False
        house.coordinator.end_turn()
    assert "\nERROR" not in house.log()


def test_a_clock_that_cannot_be_told_does_not_hold_up_the_others(house: House) -> None:
    with Intruder(house.bundle(1)) as one:
        one.enrol()
        turn = Turn("t", {"node-1": {}})
        house.coordinator.start_turn(turn)
        one.read()
        assert one.ask("ready", key="t", offset_ns=0, error_ns=LARGEST_ERROR_NS + 1) is None
        assert "its clock is known within" in turn.missing["node-1"]
        house.coordinator.end_turn()


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
    for _ in range(5):
        with Intruder(house.bundle(1), "same") as intruder:
            intruder.enrol()
    with Intruder(house.bundle(1), "same") as intruder, pytest.raises(OSError):  # noqa: PT011  reset or closed
        intruder.enrol()
    house.until_logged("it asks to join too often")
    assert house.well


@pytest.mark.parametrize("shaken", [False, True])
def test_silence_is_cut(house: House, monkeypatch: pytest.MonkeyPatch, shaken: bool) -> None:
    monkeypatch.setattr(limits, "INTRODUCTION_S", 0.3)
    began = time.monotonic()
    if shaken:
        with Intruder(house.bundle(1)) as intruder:
            assert intruder.cut
    else:
        with socket.create_connection(("127.0.0.1", house.bundle(1).port), timeout=20) as plain:
            assert plain.recv(1) == b""
    assert time.monotonic() - began < 10
    house.until_logged(f"{'its first message' if shaken else 'its TLS handshake'} took too long")
    assert house.well


def test_of_too_many_strangers_the_oldest_is_cut(house: House) -> None:
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


def result(**more: Any) -> CycleResult:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    fields = {
        "counters": counters, "groups": np.zeros(1, "<u8"), "histograms": (), "seconds": np.zeros((0, SECOND_WORDS), "<u8"),
        "errors": (), "sums": {}, "failure": None,
    }  # fmt: skip
    return CycleResult(**{**fields, **more})


WORDS = np.full((1, 3), 2**63, dtype="<u8")
FIT = Fit(threads=1, kinds=1, groups=1)


@pytest.mark.parametrize(
    "more",
    [
        {"counters": np.full((1, 1, len(COUNTERS)), 2**63, dtype="<u8")},
        {"counters": np.zeros((2, 1, len(COUNTERS)), "<u8"), "groups": np.zeros(2, "<u8")},
        {"counters": np.zeros((1, 2, len(COUNTERS)), "<u8")},
        {"groups": np.ones(1, "<u8")},
        {"histograms": ((0, 1, "residence", np.zeros((1, 3), "<u8")),)},
        {"histograms": ((1, 0, "residence", np.zeros((1, 3), "<u8")),)},
        {"histograms": ((0, 0, "residence", WORDS),)},
        {"histograms": ((0, 0, "another", np.zeros((1, 3), "<u8")),)},
        {"seconds": np.array([[0, 10**9, 0, *[0] * (SECOND_WORDS - 3)]], "<u8")},
        {"seconds": np.array([[1, 0, 0, *[0] * (SECOND_WORDS - 3)]], "<u8")},
        {"seconds": np.array([[0, 0, 7, *[0] * (SECOND_WORDS - 3)]], "<u8")},
        {"errors": ((0, 9, "e", "c", 1, "x"),)},
        {"errors": ((0, 0, "e", 5, 1, "x"),)},
        {"sums": {"delta": 2**80}},
        {"sums": {"delta": -(2**60)}},
        {"sums": {"delta": "x"}},
        {"cpu_ns": (-1, 0)},
    ],
)  # fmt: skip
def test_a_result_that_the_cycle_cannot_have_is_not_counted(more: dict[str, Any]) -> None:
    assert decode(encode(result(), Course("complete"), []), "n1", FIT).result.total("committed") == 0
    with pytest.raises(DamagedError):
        decode(encode(result(**more), Course("complete"), []), "n1", FIT)


@pytest.mark.parametrize("sample", [{"value": 1.0}, {"value": 1.0, "at_ns": 1, "monitor": "m", "metric": "x", "unit": "u"}])
def test_a_result_with_other_samples_is_refused(sample: dict[str, Any]) -> None:
    right = {name: sample.get(name, "x") for name in ("at_ns", "monitor", "metric", "unit", "value")} | {"at_ns": 1}
    assert decode(encode(result(), Course("complete"), [right]), "n1", FIT).samples == [right]
    with pytest.raises(DamagedError):
        decode(encode(result(), Course("complete"), [sample]), "n1", FIT)


def test_a_result_that_unpacks_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_LARGEST", 2**20)
    small = b"dsbench cycle 2\n" + zlib.compress(b"\0" * (2**20 + 1), 9)
    with pytest.raises(DamagedError, match="too long"):
        decode(small, "n1", FIT)


@pytest.mark.parametrize("head", [b"[" * 100_000, b"5", b"{}", b'{"shape": [1, 1, 1]}', b"\xff", b'{"course": {"x": 1}}'])
def test_a_result_with_another_head_is_refused(head: bytes) -> None:
    with pytest.raises(DamagedError):
        decode(b"dsbench cycle 2\n" + zlib.compress(struct.pack("<I", len(head)) + head), "n1", FIT)


@pytest.mark.parametrize("said", [b"[" * 100_000, b"5", b"{}", b'{"failure": 5}', b'{"failure": "", "calibration": 7}', b"\xff"])
def test_a_wrong_description_of_a_node_is_told_in_a_line(said: bytes) -> None:
    from dsbench.cluster.nodes import _said_of_itself

    assert "no description of a node" in _said_of_itself(said)["failure"]
    right = {"failure": "", "core": {"CPU": "x"}, "calibration": {"problem": "none"}, "name": "another", "stack": 1}
    assert _said_of_itself(json.dumps(right).encode()) == {k: right[k] for k in ("failure", "core", "calibration")}


def test_a_flood_of_half_open_connections_does_not_end_a_run(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(1), bed.node(2)]
        load = ("--threads", "1", "--scales", "1", "--cycles", "3", "--duration", "1.5", "--seed", "1")
        run = bed.run("mock:?latency_us=1000", *load, within=("prlimit", "--nofile=1024:1024"))
        wait_until(lambda: bed.log().count("joined") == 2)
        with ExitStack() as stack:
            port = bed.invitation.coordinator.port
            for _ in range(1100):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            assert run.poll() is None
            said = ended(run, 120)
        assert all("the run is complete" in ended(node) for node in nodes)
        log, taken = bed.log(), bed.archive().table("nodes").to_pylist()
    assert [row["state"] for row in taken] == ["complete"] * 6
    assert log.count("cut a connection of") == limits.LINES, "no line for each of a thousand"
    assert "Traceback" not in said + log
    assert "connections cut for their number: " in log


def wait_until(holds: Callable[[], bool], timeout_s: float = 60) -> None:
    """Waits for something that has to happen."""
    give_up = time.monotonic() + timeout_s
    while True:
        with suppress(OSError, ValueError):  # the archive is not there yet
            if holds():
                return
        assert time.monotonic() < give_up
        time.sleep(0.05)


def test_the_soft_limit_of_files_is_raised_to_the_hard_one() -> None:
    program = (
        "import resource as r; from dsbench.cluster.limits import raise_file_limit as up; "
        "up(); print(r.getrlimit(r.RLIMIT_NOFILE))"
    )
    command = ["prlimit", "--nofile=256:900", sys.executable, "-c", program]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "(900, 900)\n"
