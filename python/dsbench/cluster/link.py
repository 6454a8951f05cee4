"""A node's end of its connection: questions and answers, turns that are begun, and the beats beside them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import ssl
import threading
from concurrent.futures import CancelledError
from concurrent.futures import Future as Waiting
from concurrent.futures import TimeoutError as TooLate
from typing import Any, Final

from dsbench.cluster import frames
from dsbench.cluster.bundle import Bundle
from dsbench.cluster.channel import Channel
from dsbench.cluster.clock import Estimate, estimate
from dsbench.cluster.frames import ProtocolError
from dsbench.cluster.node import Node

_SENDING_S: Final = 20.0
_CARRYING_S: Final = 120.0
_CONNECTING_S: Final = 10.0
_SLICE_S: Final = 0.02
"""How long a thread that waits for an answer leaves the lease unwatched."""


class Link:
    """The node's connection to the coordinator, as long as it lasts."""

    def __init__(self, node: Node, bundle: Bundle, security: ssl.SSLContext, token: str) -> None:
        self._node, self._bundle, self._security, self._token = node, bundle, security, token
        self._loop = asyncio.get_running_loop()
        self._channel: Channel | None = None
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._ended = False
        self._working: threading.Thread | None = None

    async def enrol(self, name: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Connects and asks to be let in; the coordinator's answer. ``OSError``, of TLS too."""
        self._channel, answer = await self._say_first("enrol", name=name[:1000], facts=facts)
        try:
            return frames.fields(answer, refused=str, goodbye=str, lease_s=float)
        except ProtocolError as error:
            raise ConnectionError(f"the coordinator does not answer: {error}") from None

    async def serve(self) -> None:
        """Does what the coordinator wants until the connection ends."""
        channel = self._connected
        beating = asyncio.ensure_future(self._beat())
        try:
            while True:
                message, _ = await channel.read(frames.LONGEST_ANSWER)
                if message.get("op") == "begin":
                    self._begin_turn(frames.fields(message, op=str, key=str)["key"])
                    continue
                said = frames.fields(message, id=int, answer=object)
                if (asked := self._asked.pop(said["id"], None)) is not None and not asked.done():
                    asked.set_result(said["answer"])
        finally:
            self._ended = True
            beating.cancel()
            for asked in self._asked.values():
                if not asked.done():
                    asked.set_exception(ConnectionError("the connection to the coordinator ended"))
            self.close()

    def close(self) -> None:
        """Gives the connection back."""
        if self._channel is not None:
            self._channel.close()

    @property
    def working(self) -> bool:
        """Whether a part of a turn is still under way."""
        return self._working is not None and self._working.is_alive()

    @property
    def _connected(self) -> Channel:
        assert self._channel is not None
        return self._channel

    async def _say_first(self, operation: str, **message: Any) -> tuple[Channel, Any]:
        """A connection, and the answer to the first message on it."""
        where = (self._bundle.host, self._bundle.port)
        connected = await asyncio.to_thread(socket.create_connection, where, _CONNECTING_S)
        channel = Channel(connected, self._security, "client")
        try:
            async with asyncio.timeout(_CONNECTING_S):
                await channel.handshake()
                await channel.send({"id": 0, "op": operation, "token": self._token, **message})
                answer, _ = await channel.read(frames.LONGEST_ANSWER)
            return channel, answer.get("answer")
        except ProtocolError as error:
            channel.close()
            raise ConnectionError(str(error)) from None
        except BaseException:
            channel.close()
            raise

    def _begin_turn(self, key: str) -> None:
        # A thread for each: one that is still in an earlier turn is waited for there.
        self._working = threading.Thread(target=self._take_part, args=(key,), name="dsbench-load", daemon=True)
        self._working.start()

    def _take_part(self, key: str) -> None:
        try:
            self._node.take_part(self, key)
        finally:
            with contextlib.suppress(OSError, RuntimeError, CancelledError):  # The loop may have ended.
                self.tell("done", key=key)

    async def _beat(self) -> None:
        lease = self._node.lease
        while not self._ended:  # Python 3.11 loses a cancellation that comes with the answer.
            sent = lease.now_s()
            try:
                beat = self._call("beat", key=self._node.key, totals=list(self._node.totals))
                said = await asyncio.wait_for(beat, lease.length_s / 3)
                answer = frames.fields(said, known=bool, key=str, stop=str, goodbye=str)
            except OSError:  # TimeoutError is one
                answer = None
            except ProtocolError:
                self._connected.abort()
                return
            if answer is not None and not self._heard(answer, sent):
                self._connected.abort()
                return
            if answer is not None:
                await self._deliver()
            if lease.expired:
                self._node.stop("no word from the coordinator: the lease ran out")
            await asyncio.sleep(max(0.0, sent + lease.beat_s - lease.now_s()))

    def _heard(self, answer: dict[str, Any], sent_s: float) -> bool:
        """What the coordinator says to a beat; False when the connection is of no more use."""
        if answer["goodbye"]:
            self._node.dismiss(answer["goodbye"])
        if answer["goodbye"] or not answer["known"]:
            self._node.stop(answer["goodbye"] or "the coordinator went on without this node")
            return False
        self._node.lease.renew(sent_s)
        if answer["stop"]:
            self._node.stop(answer["stop"], answer["key"])
        return True

    async def _deliver(self) -> None:
        """Sends what an earlier connection could not; the coordinator knows what it has already."""
        if self._node.key:
            return  # The thread of the load is about to send it itself, or busy.
        for key, data in list(self._node.outbox.items()):
            with contextlib.suppress(OSError):
                await asyncio.wait_for(self._carry(key, data), _SENDING_S)
                self._node.outbox.pop(key, None)

    async def _carry(self, key: str, data: bytes) -> None:
        """Brings a result by a second connection, so that no beat waits behind it."""
        if len(data) > frames.LONGEST_DATA:
            raise ConnectionError(f"the result has {len(data)} bytes, more than {frames.LONGEST_DATA}")
        channel, wanted = await self._say_first("carry", key=key, size=len(data))
        try:
            if wanted:
                await channel.send({}, data)
                await channel.read(frames.LONGEST_ANSWER)
        except ProtocolError as error:
            raise ConnectionError(str(error)) from None
        finally:
            channel.close()

    async def _call(self, operation: str, **message: Any) -> Any:
        number = next(self._numbers)
        if self._ended:
            raise ConnectionError("the connection to the coordinator ended")
        asked = self._asked[number] = self._loop.create_future()
        try:
            await self._connected.send({"id": number, "op": operation, **message})
            return await asked
        finally:
            self._asked.pop(number, None)

    # For the thread of the load.

    def ask(self, operation: str, **message: Any) -> Any:
        """The coordinator's answer; ends early, with the node's ``Interrupted``, when the load must not go on."""
        return self._wait(self._call(operation, **message))

    def tell(self, operation: str, **message: Any) -> None:
        """Sends something that the coordinator has to know, also when the load was ended. Raises ``OSError``."""
        self._begin(self._call(operation, **message)).result(_SENDING_S)

    def carry(self, key: str, data: bytes) -> None:
        """Brings the result of the turn ``key``. Raises ``OSError``."""
        self._begin(self._carry(key, data)).result(_CARRYING_S)

    def clocks(self, pings: int) -> Estimate:
        """How far this node's clock is from the coordinator's now."""
        found: Estimate = self._wait(estimate(lambda: self._call("clock"), pings=pings))
        return found

    def _wait(self, coroutine: Any) -> Any:
        waiting = self._begin(coroutine)
        try:
            while True:
                try:
                    return waiting.result(_SLICE_S)
                except TooLate:
                    if waiting.done():
                        raise
                    self._node.check()
        finally:
            waiting.cancel()

    def _begin(self, coroutine: Any) -> Waiting[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
