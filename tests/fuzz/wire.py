"""What comes over the wire of a cluster: messages, results, and whole connections at both of their ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import struct
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgpack
import numpy as np

from dsbench.cluster import ClusterError, channel, frames, link, nodes, outcome, serving
from dsbench.cluster.answers import Answers
from dsbench.cluster.bundle import Bundle, read
from dsbench.cluster.coordinator import Coordinator
from dsbench.cluster.door import Door
from dsbench.cluster.node import Node
from dsbench.cluster.turn import Turn
from dsbench.columns import COUNTERS
from dsbench.generator import BUCKET_WORDS, SECOND_WORDS, CoreError, CycleResult

from . import bundles
from .mutate import changed, mutated, strange
from .sandbox import Accepted, Finding, Refused

_FACTS = {"versions": frames.versions(), "host": "h", "system": "s", "pid": 1, "cpus": 1}
_OF_NODE: list[dict[str, Any]] = [
    {"id": 1, "op": "enrol", "token": "t", "name": "n", "facts": _FACTS}, {"id": 1, "op": "carry", "token": "t", "key": "k", "size": 5},
    {"id": 2, "op": "beat", "key": "k", "totals": [1, 2, 3]}, {"id": 3, "op": "order", "key": "k"}, {"id": 4, "op": "clock"},
    {"id": 5, "op": "ready", "key": "k", "offset_ns": 5, "error_ns": 5}, {"id": 6, "op": "armed", "key": "k", "left_ns": 5},
    {"id": 7, "op": "failed", "key": "k", "why": "so"}, {"id": 8, "op": "done", "key": "k"}, {},
]  # fmt: skip
_OF_COORDINATOR: list[dict[str, Any]] = [
    {"id": 0, "answer": {"refused": "", "goodbye": "", "lease_s": 6.0}}, {"op": "begin", "key": "k"},
    {"id": 1, "answer": {"known": True, "key": "k", "stop": "", "goodbye": ""}}, {"id": 2, "answer": None},
]  # fmt: skip
_SAID = {"failure": "", "core": {"clock": 5}, "calibration": {"ceilings": [{"against": "x", "threads": 1, "rate_tps": 5.0}], "ceiling_tps": 5.0}}
_FIT = outcome.Fit(2, 1, 1)


def make(random: Random) -> bytes:
    """One byte that says what it is, and the bytes of it."""
    what = random.randrange(5)
    return bytes([what]) + (_message, _result, _of_node, _of_coordinator, _described)[what](random)


def _packed(random: Random, message: Any) -> bytes:
    try:
        return bytes(msgpack.packb(message, use_bin_type=True))
    except (ValueError, OverflowError, UnicodeError):
        return bytes(msgpack.packb(msgpack.ExtType(random.randrange(128), b"x")))


def _message(random: Random) -> bytes:
    if random.random() < 0.1:
        return random.choice((b"\x91", b"\x81\xa1a", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff")) * 1000
    packed = _packed(random, changed(random, random.choice(_OF_NODE)))
    return mutated(random, packed) if random.random() < 0.5 else packed


def _stream(random: Random, messages: list[dict[str, Any]]) -> bytes:
    """Frames one after the other, the first of which is well in most cases."""
    stream = b""
    for number in range(random.choice((1, 3, 6))):
        message = messages[0] if not number and random.random() < 0.8 else random.choice(messages)
        packed = _packed(random, changed(random, message) if random.random() < 0.4 else message)
        sizes = random.choice(((len(packed), 0),) * 8 + ((len(packed), 5), (2**32 - 1, 0), (0, 2**32 - 1)))
        stream += struct.pack(">II", *sizes) + packed
    return mutated(random, stream) if random.random() < 0.4 else stream


def _of_node(random: Random) -> bytes:
    return _stream(random, _OF_NODE)


def _of_coordinator(random: Random) -> bytes:
    return _stream(random, _OF_COORDINATOR)


def _described(random: Random) -> bytes:
    text = json.dumps(changed(random, _SAID) if random.random() < 0.9 else strange(random)).encode()
    return mutated(random, text) if random.random() < 0.4 else text


@cache
def _sample() -> bytes:
    counters = np.zeros((2, 1, len(COUNTERS)), dtype="<u8")
    rows = np.ones((3, BUCKET_WORDS), dtype="<u8")
    result = CycleResult(
        counters=counters, groups=np.zeros(2, dtype="<u8"), histograms=((0, 0, "residence", rows),),
        seconds=np.zeros((2, SECOND_WORDS), dtype="<u8"), errors=((0, 0, "deadlock", "40P01", 3, "so it was"),),
        sums={"a": 5}, failure=CoreError("timeout", "1", "late"), cpu_ns=(5, 6),
        placements=((0, "follow", 2),),
    )  # fmt: skip
    samples = [{"at_ns": -5, "monitor": "os", "metric": "cpu", "unit": "s total", "value": 1.25}]
    return outcome.encode(result, outcome.Course("complete"), samples)


def _result(random: Random) -> bytes:
    whole, magic = _sample(), outcome._MAGIC
    pick = random.random()
    if pick < 0.3:
        return mutated(random, whole)
    plain = zlib.decompress(whole[len(magic) :])
    if pick < 0.32:
        return magic + zlib.compress(plain + b" " * 600_000_000, 1) if pick < 0.301 else magic + zlib.compress(b"\xff" * 5_000_000)
    (length,) = struct.unpack_from("<I", plain)
    head = plain[4 : 4 + length]
    if pick < 0.7:
        head = json.dumps(changed(random, json.loads(head))).encode()
    plain = struct.pack("<I", len(head)) + head + plain[4 + length :]
    return magic + zlib.compress(mutated(random, plain) if pick > 0.6 else plain, 1)


class _Tape(channel.Channel):
    """A connection whose other end has said all that it says."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    peer = "node-1"

    async def handshake(self) -> None:
        """Nothing is encrypted here."""

    async def _exactly(self, size: int) -> bytes:
        await asyncio.sleep(0)
        found = self._data[self._at : self._at + size]
        self._at += size
        if len(found) < size:
            raise ConnectionResetError("the tape has ended")
        return found

    async def send(self, message: Mapping[str, Any], data: bytes = b"") -> None:
        """Forgets it, if it can be said at all."""
        frames.pack(message)

    def abort(self) -> None:
        """Says no more."""
        self._at = len(self._data) + 1

    def close(self) -> None:
        """The same."""
        self.abort()


def run(data: bytes, folder: Path) -> None:
    """Has that end read it for which it is meant."""
    what, data = (data[0] % 5, data[1:]) if data else (0, b"")
    try:
        (_read_message, _read_result, _at_coordinator, _at_node, _read_description)[what](data)
    except (frames.ProtocolError, outcome.DamagedError, ClusterError) as error:
        raise Refused(str(error)) from None


def _read_message(data: bytes) -> None:
    message = frames.unpack(data)
    frames.asked(message, {**frames.FIRST, **frames.OPERATIONS})


def _read_result(data: bytes) -> None:
    outcome.decode(data, "n", _FIT)


def _read_description(data: bytes) -> None:
    said = nodes._said_of_itself(data)
    if said.pop("failure"):
        raise Refused("no description")
    json.dumps(said, ensure_ascii=False).encode()
    nodes.Machine.model_validate({"name": "n", **said})


@cache
def _bundle() -> Bundle:
    """Of the coordinator; it stands for that of a node as well, as nothing is encrypted here."""
    Path("sample.bundle").write_bytes(bundles.samples()[0])
    return read(Path("sample.bundle"))


class _Idle:
    """The scheduling, which has nothing to schedule."""

    async def lose(self, _address: str) -> None:
        """Nothing."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_arguments: None


def _at_coordinator(data: bytes) -> None:
    """The door and the answers; a line of the log about an error that is not told is a finding."""
    coordinator = Coordinator(_bundle(), 1, 6.0)
    coordinator._scheduling = _Idle()  # type: ignore[assignment]
    coordinator.turn = Turn("k", {"node-1": {"kind": "prepare"}})
    coordinator.owed.add(("k", "node-1"))
    door = Door(Answers(coordinator), ssl.create_default_context(), coordinator.log, 5)

    async def meet() -> None:
        tape = _Tape(data)
        first = await door._introduced(tape, "somewhere")
        if first is None:
            raise Refused("not introduced")
        await door._serve(tape, "somewhere", *first)
        for _ in range(5):
            await asyncio.sleep(0)

    try:
        coordinator.loop.run_until_complete(meet())
    finally:
        coordinator.loop.close()
        coordinator.log.close()
    lines = []
    while not coordinator.news.empty():
        lines.append(coordinator.news.get())
    if wrong := [line for line in lines if " failed: " in line or "ended by" in line or not line.isprintable()]:
        raise Finding("\n".join(wrong))


class _Working(Node):
    """A node that does nothing in a turn."""

    def take_part(self, link: Any, key: str) -> None:
        """Nothing."""


def _at_node(data: bytes) -> None:
    """Joining, and whatever the coordinator says afterwards."""
    node = _Working(lambda *_: {})

    async def live() -> None:
        asked = asyncio.Event()
        member = serving._Membership(_bundle(), node, "n", -1.0, lambda _text: None)
        with patch.object(link, "Channel", lambda *_: _Tape(data)), patch.object(link.socket, "create_connection"):
            joined = await member._admitted(asked)
            if joined is None:
                raise Accepted
            # Errors that end a connection are told; others would be lost here.
            with contextlib.suppress(OSError):
                await joined.serve()
            beating = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in beating:
                task.cancel()
            for end in await asyncio.gather(*beating, return_exceptions=True):
                if isinstance(end, Exception) and not isinstance(end, OSError):
                    raise end

    with patch.object(serving.channel, "context", lambda *_: None):
        asyncio.run(live())
