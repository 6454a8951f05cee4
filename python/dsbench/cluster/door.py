"""The coordinator's door: the only place where something of another machine comes in.

A stranger gets a TLS handshake and one message, within a time and in a limited number. What a node may say
afterwards stands in ``frames.OPERATIONS``; whoever says something else, or too much, loses its connection. None
of it can end the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Final, Protocol

from dsbench.cluster import frames, limits
from dsbench.cluster.bundle import number_of
from dsbench.cluster.channel import Channel
from dsbench.cluster.errors import plain
from dsbench.cluster.frames import ProtocolError

_BACKLOG: Final = 512
_PAUSE_S: Final = 0.1
_FULL: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Guest:
    """A node's own connection."""

    def __init__(self, member: str, channel: Channel) -> None:
        self.member = member
        """The name in its certificate."""
        self.channel = channel
        self.address = ""
        """By which the scheduler knows it; empty until it has enrolled."""
        self.answering: set[asyncio.Task[None]] = set()
        self.bucket = limits.Bucket(limits.MESSAGES, limits.MESSAGES_PER_S)

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Sends something; a node that does not read it in time loses its connection."""
        try:
            async with asyncio.timeout(limits.SENDING_S):
                await self.channel.send(message)
        except OSError:  # TimeoutError is one
            self.channel.abort()


class House(Protocol):
    """Who is behind the door; all of it runs on the event loop."""

    async def enrol(self, guest: Guest, token: str, name: str, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a node that wants to take part. It does when ``guest.address`` is set."""

    async def answer(self, guest: Guest, operation: str, fields: Mapping[str, Any]) -> Any:
        """The answer to an enrolled node."""

    def wants(self, member: str, token: str, key: str) -> bool:
        """Whether the node's result of the turn ``key`` is still to come."""

    def take(self, member: str, key: str, data: bytes) -> None:
        """The result has come."""

    def left(self, guest: Guest) -> None:
        """The connection of an enrolled node has ended."""


class Door:
    """Listens, and looks after each connection until its end."""

    def __init__(self, house: House, security: ssl.SSLContext, log: limits.SparingLog, strangers: int) -> None:
        self._house, self._security, self._log = house, security, log
        self._most = strangers
        self._strangers: dict[asyncio.Task[None], str] = {}
        """Connections that have not said who they are, oldest first, and where they come from."""
        self._known: set[asyncio.Task[None]] = set()
        self._carrying: set[str] = set()
        self._listening: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None

    def open(self, listening: socket.socket) -> None:
        """Lets in who comes to ``listening``, which belongs to the door from now on."""
        listening.listen(_BACKLOG)
        listening.setblocking(False)
        self._listening = listening
        self._accepting = asyncio.ensure_future(self._accept(listening))

    async def close(self) -> None:
        """Ends all connections."""
        tasks = [*self._strangers, *self._known, *([self._accepting] if self._accepting else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._listening is not None:
            self._listening.close()
        self._log.close()

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connected, where = await loop.sock_accept(listening)
            except OSError as error:
                # One that hung up already is nothing; with no room left the ones under way have to end first.
                self._log("the coordinator cannot accept a connection", f"cannot accept a connection: {error.strerror}")
                await asyncio.sleep(_PAUSE_S if error.errno in _FULL else 0)
                continue
            if len(self._strangers) >= self._most:
                oldest = next(iter(self._strangers))
                words = f"{self._most} others wait to say who they are"
                where_from = self._strangers.pop(oldest)
                self._log("connections cut for their number", f"cut a connection of {where_from}: {words}")
                oldest.cancel()
            task = asyncio.ensure_future(self._meet(connected, f"{where[0]}:{where[1]}"))
            self._strangers[task] = f"{where[0]}:{where[1]}"
            task.add_done_callback(self._forget)
            # A queue of waiting connections must not keep the others from being served.
            await asyncio.sleep(0)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._strangers.pop(task, None)
        self._known.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log("connections that failed", f"a connection ended by {error!r}")

    async def _meet(self, connected: socket.socket, where: str) -> None:
        """One connection, from its begin to its end."""
        try:
            channel = Channel(connected, self._security, "server")
        except BaseException:
            connected.close()
            raise
        try:
            first = await self._introduced(channel, where)
            if first is not None:
                self._known.add(task := _own_task())
                self._strangers.pop(task, None)
                await self._serve(channel, where, *first)
        finally:
            channel.close()

    async def _introduced(self, channel: Channel, where: str) -> tuple[str, int, str, dict[str, Any]] | None:
        """(member, number, operation, fields) of the first message; ``None`` for whoever is not let in."""
        shaken = False
        try:
            async with asyncio.timeout(limits.INTRODUCTION_S):
                await channel.handshake()
                shaken = True
                if not number_of(channel.peer):
                    raise ProtocolError(f"its certificate is that of {plain(channel.peer, 60)!r}, no node's")
                message, more = await channel.read(frames.LONGEST)
            if more:
                raise ProtocolError("it sent data without being asked")
            return (channel.peer, *frames.asked(message, frames.FIRST))
        except TimeoutError:
            what = "its first message" if shaken else "its TLS handshake"
            self._log("connections cut for silence", f"cut a connection of {where}: {what} took too long")
        except ProtocolError as error:
            self._log("connections refused", f"refused a connection of {where} ({channel.peer}): {error}")
        except OSError as error:
            if not shaken:
                self._log("failed TLS handshakes", f"TLS handshake failed with {where}: {plain(str(error))}")
        return None

    async def _serve(
        self, channel: Channel, where: str, member: str, number: int, operation: str, fields: dict[str, Any]
    ) -> None:
        guest = Guest(member, channel)
        try:
            if operation == "carry":
                await self._carry(guest, number, **fields)
                return
            await guest.tell({"id": number, "answer": await self._house.enrol(guest, **fields)})
            if guest.address:
                await self._attend(guest)
        except ProtocolError as error:
            self._log("connections cut", f"cut the connection of {where} ({member}): {error}")
        except OSError:
            pass  # It has ended, which the house hears below.
        finally:
            for task in guest.answering:
                task.cancel()
            if guest.address:
                self._house.left(guest)

    async def _attend(self, guest: Guest) -> None:
        """Answers an enrolled node for as long as it keeps to the protocol."""
        while True:
            message, more = await guest.channel.read(frames.LONGEST)
            if more:
                raise ProtocolError("it sent data without being asked")
            number, operation, fields = frames.asked(message, frames.OPERATIONS)
            if not guest.bucket.take():
                raise ProtocolError(f"it sent more than {limits.MESSAGES_PER_S:g} messages a second")
            if len(guest.answering) >= limits.PENDING:
                raise ProtocolError(f"more than {limits.PENDING} of its questions wait for an answer")
            task = asyncio.ensure_future(self._answer(guest, number, operation, fields))
            guest.answering.add(task)
            task.add_done_callback(guest.answering.discard)

    async def _answer(self, guest: Guest, number: int, operation: str, fields: Mapping[str, Any]) -> None:
        try:
            said = await self._house.answer(guest, operation, fields)
        except Exception as error:  # whatever it is, it must not end more than this connection
            self._log("questions that failed", f"{operation} of {guest.member} failed: {error!r}")
            guest.channel.abort()
            return
        await guest.tell({"id": number, "answer": said})

    async def _carry(self, guest: Guest, number: int, token: str, key: str, size: int) -> None:
        """The result of one turn: announced, and taken when it is expected."""
        member = guest.member
        if member in self._carrying:
            raise ProtocolError("it brings a result already")
        self._carrying.add(member)
        try:
            async with asyncio.timeout(limits.CARRYING_S):
                wanted = self._house.wants(member, token, key)
                await guest.channel.send({"id": number, "answer": wanted})
                if not wanted:
                    return
                message, more = await guest.channel.read(frames.LONGEST)
                if message or more != size:
                    raise ProtocolError("it announced another result than it sends")
                self._house.take(member, key, await guest.channel.read_data(size))
                await guest.channel.send({"id": number, "answer": True})
                with contextlib.suppress(OSError):
                    await guest.channel.read(0)  # It hangs up when it has read that.
        except TimeoutError:
            raise ProtocolError(f"its result took more than {limits.CARRYING_S:g} s") from None
        finally:
            self._carrying.discard(member)


def _own_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None
    return task
