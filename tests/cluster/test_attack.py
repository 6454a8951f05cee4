"""What the holder of a valid bundle can do: take part as the member that it names, and nothing else."""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgpack
import psutil
import pytest

from dsbench.cluster import frames
from dsbench.cluster.answers import LARGEST_ERROR_NS
from dsbench.cluster.turn import Turn
from fixtures.house import House
from fixtures.intruder import Bomb, Intruder, payloads

DASK = (
    "run_function", "feed", "register_scheduler_plugin", "register_worker_plugin", "register_nanny_plugin", "scatter",
    "gather", "get_data", "update_data", "register-client", "client-releases-keys", "update-graph", "register-worker",
    "register_nanny", "heartbeat_worker", "cancel", "retire_workers", "restart", "broadcast", "proxy", "identity",
    "dump_cluster_state_to_url", "upload_file", "events", "set_metadata", "task-erred", "task-finished", "terminate",
)  # fmt: skip
"""Operations of Dask's scheduler that run code, or hand out or change what is somebody else's."""


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


def test_dask_itself_is_not_answered(house: House, tmp_path: Path) -> None:
    from distributed import Client, Worker
    from distributed.core import rpc
    from distributed.security import Security

    bundle = house.bundle(1)
    roles = {f"tls_{r}_{p}": t for r in ("client", "worker", "scheduler") for p, t in (("cert", bundle.certificate), ("key", bundle.key))}
    security = Security(require_encryption=True, tls_ca_file=bundle.trusted, **roles)
    address = f"tls://127.0.0.1:{bundle.port}"

    async def ask(operation: str) -> None:
        async with rpc(address, connection_args=security.get_connection_args("worker"), timeout=2) as scheduler:
            with pytest.raises((OSError, RuntimeError)):
                await asyncio.wait_for(getattr(scheduler, operation)(function=os.mkdir, plugin=Bomb(tmp_path / "x")), 3)

    async def connect() -> None:
        with pytest.raises((OSError, RuntimeError)):
            await Client(address, security=security, asynchronous=True, timeout=2)

    async def work() -> None:
        worker = Worker(address, security=security, death_timeout=2, host="tls://127.0.0.1", dashboard=False)
        with pytest.raises((OSError, RuntimeError)):
            await worker

    async def attack() -> None:
        operations = ("run_function", "feed", "register_worker_plugin", "register_nanny_plugin", "gather")
        await asyncio.gather(connect(), work(), *map(ask, operations))

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
    house.until_logged("it sent data without being asked")
    assert not marker.exists()
    assert house.well


def test_a_message_in_dasks_own_form_is_refused(house: House, tmp_path: Path) -> None:
    from distributed.protocol import Serialize, dumps
    from distributed.protocol.serialize import ToPickle
    from distributed.protocol.utils import pack_frames

    bomb = Bomb(tmp_path / "marker")
    for message in ({"op": "run_function", "function": ToPickle(bomb)}, {"op": "feed", "function": Serialize(bomb)}):
        made = [bytes(frame) for frame in dumps(message)]
        packed = pack_frames(made)
        with Intruder(house.bundle(1)) as intruder:
            intruder.tls.sendall(struct.pack("Q", len(packed)) + packed)
            assert intruder.cut
        with Intruder(house.bundle(1)) as intruder:
            intruder.send(made[0], b"".join(made[1:]))
            assert intruder.cut
    assert not (tmp_path / "marker").exists()
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
