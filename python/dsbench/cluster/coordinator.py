"""The coordinator: a thread with an event loop, on which the door, the scheduling and the rules meet.

All state lives on that event loop; the run's thread comes in through ``Coordinator.ask``. What nodes may ask stands
in ``answers``.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import queue
import socket
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future as Waiting
from typing import Any, Final, TypeVar

from dsbench.cluster import channel, frames, limits, scheduling
from dsbench.cluster.answers import Answers
from dsbench.cluster.bundle import Bundle, number_of
from dsbench.cluster.door import Door, Guest
from dsbench.cluster.errors import ClusterError
from dsbench.cluster.lease import BEATS
from dsbench.cluster.roster import Roster
from dsbench.cluster.turn import Turn

T = TypeVar("T")

_LONGEST_CALL_S: Final = 60.0
_EVERYWHERE: Final = "0.0.0.0"
_SAID_ELSEWHERE: Final = ("marked as failed because",)
"""Dask's words for the loss of a node, which the log tells in ours."""
_FAREWELL_S: Final = 3.0
"""How long nodes get to hear, with their next beats, that the run is over; a lease, where that is longer."""


class Coordinator:
    """The nodes of one run. Use ``start``, then ``ask`` for anything else, then ``close``."""

    def __init__(self, bundle: Bundle, nodes: int, lease_s: float) -> None:
        self.roster = Roster(nodes, lease_s, frames.versions())
        self.turn: Turn | None = None
        self.late: list[tuple[str, str, bytes]] = []
        """(turn's key, member, result) of results that came too late to count."""
        self.news: queue.SimpleQueue[str] = queue.SimpleQueue()
        """Lines for the log, in order."""
        self.log = limits.SparingLog(self.news.put)
        """For lines that others can cause as often as they like."""
        self.owed: set[tuple[str, str]] = set()
        """(turn's key, member) of results that are still to come, in time or late; no other is taken."""
        self._bundle = bundle
        self._joins = 0
        self._tries: dict[str, limits.Bucket] = {}
        self._guests: dict[str, Guest] = {}
        """By the address by which the scheduling knows them."""
        self.lease_s = lease_s
        self.goodbye = ""
        self._up: Waiting[None] = Waiting()
        self.loop = asyncio.new_event_loop()
        self.changed, self._leaving = asyncio.Condition(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="dsbench-coordinator", daemon=True)

    def start(self) -> None:
        """Listens for nodes. ``ClusterError`` when it cannot."""
        limits.raise_file_limit()
        self._thread.start()
        try:
            self._up.result(_LONGEST_CALL_S)
        except OSError as error:
            raise _unheard(self._bundle, error) from None

    def ask(self, what: Callable[[], T]) -> T:
        """``what()`` on the event loop, where all state is."""

        async def call() -> T:
            return what()

        return self._await(call())

    def take_late(self) -> list[tuple[str, str, bytes]]:
        """What came too late since the last call. One visit to the event loop: what comes next stays for the next."""

        def swap() -> list[tuple[str, str, bytes]]:
            found, self.late = self.late, []
            return found

        return self.ask(swap)

    def start_turn(self, turn: Turn) -> None:
        """Asks the nodes of ``turn`` for their part."""
        self.ask(lambda: self._begin(turn))

    def end_turn(self) -> None:
        """Forgets the turn; what its nodes still send is late."""
        self._await(self._end())

    def fix_start(self, start_ns: int) -> None:
        """Tells the nodes that are ready when to start."""

        async def fix() -> None:
            assert self.turn is not None
            self.turn.start_ns = start_ns
            await self._wake()

        self._await(fix())

    def stop_turn(self, why: str) -> None:
        """Ends the load of the turn before its time."""

        async def stop() -> None:
            if self.turn is not None:
                self.turn.stop = self.turn.stop or why
            await self._wake()

        self._await(stop())

    def give_up(self, member: str, why: str) -> None:
        """Goes on without a node."""
        self._await(self.lose(member, why))

    def close(self, goodbye: str) -> None:
        """Dismisses the nodes, which end with these words, and stops listening."""
        if not self._thread.is_alive():
            return
        self.loop.call_soon_threadsafe(self._leave, goodbye)
        self._thread.join(max(_FAREWELL_S, self.lease_s) + 15)

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(_LONGEST_CALL_S)

    # The thread of the event loop.

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self._serve())
        except BaseException as error:
            if not self._up.done():
                self._up.set_exception(error)
            else:
                self.news.put(f"the coordinator failed: {error!r}")

    async def _serve(self) -> None:
        scheduling.hear(_Refusals(self.news))
        host = _listening(self._bundle.host)
        security = channel.context(self._bundle, "server")
        door = Door(Answers(self), security, self.log, max(limits.STRANGERS, 2 * self.roster.nodes))
        async with scheduling.Scheduling(self.disconnected) as self._scheduling:
            door.open(socket.create_server((host, self._bundle.port), family=_family(host)))
            self._up.set_result(None)
            watching = asyncio.ensure_future(self._watch())
            try:
                await self._leaving.wait()
                await self._dismiss()
            finally:
                watching.cancel()
                await door.close()

    def _leave(self, goodbye: str) -> None:
        self.goodbye = goodbye
        self._leaving.set()

    async def _dismiss(self) -> None:
        until = self.loop.time() + max(_FAREWELL_S, self.lease_s)
        while self.roster.here and self.loop.time() < until:
            await asyncio.sleep(0.02)

    async def _watch(self) -> None:
        """Gives up nodes whose lease has run out."""
        beat_s, last = self.lease_s / BEATS, self.loop.time()
        while True:
            await asyncio.sleep(beat_s)
            now = self.loop.time()
            away, last = now - last - beat_s, now
            if away > self.lease_s / 4:
                # This process was frozen and could not hear anybody; the nodes judge their own leases.
                self.roster.grant(away)
                self.news.put(f"the coordinator itself stood still for {away:.1f} s")
                continue
            for member in self.roster.overdue(now):
                silent = now - member.beat_s
                await self.lose(member.member, f"no beat for {silent:.1f} s, its lease is {self.lease_s:g} s")

    async def lose(self, member: str, why: str) -> None:
        """Goes on without a node; to be called on the event loop."""
        found = self.roster.members[member]
        address = found.address
        if self.turn is not None:
            self.turn.lose(member, why)
        if address:
            self.roster.lose(member, why)
            self.log(f"news of {member}", f"node {found.name} is lost: {why}")
            guest = self._guests.pop(address, None)
            await self._scheduling.lose(address)
            if guest is not None:
                guest.channel.abort()  # It may be half open: the node has to see that it is out.

    def _begin(self, turn: Turn) -> None:
        self.turn = turn
        for member in turn.orders:
            address = self.roster.members[member].address
            if not address:
                turn.lose(member, "it was gone when the turn began")
                continue
            self.roster.members[member].totals = (0, 0, 0)
            self.owed.add((turn.key, member))
            self._scheduling.submit(_task(turn.key, member), address)

    async def _end(self) -> None:
        self._scheduling.release()
        self.turn = None
        await self._wake()

    async def _wake(self) -> None:
        """Nodes that wait for the start look again."""
        async with self.changed:
            self.changed.notify_all()

    async def disconnected(self, address: str) -> None:
        """A node is out of the scheduling: its connection has ended."""
        member = self.roster.at(address)
        if member is not None and self.goodbye:
            member.address = ""
        elif member is not None:
            await self.lose(member.member, "its connection ended")

    def may_join(self, member: str) -> bool:
        """Whether the node has not tried it too often lately."""
        return self._tries.setdefault(member, limits.Bucket(limits.JOINS, limits.JOINS_PER_S)).take()

    def joined(self, guest: Guest) -> None:
        """A node was admitted."""
        number = number_of(guest.member)
        self._joins += 1
        # The scheduling tells nodes apart by address. No call goes to this one: each node and connection has another.
        guest.address = f"tls://127.{64 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}:{self._joins}"
        for other in self._guests.values():
            if other.member == guest.member:
                other.channel.abort()
        self._guests[guest.address] = guest
        self.roster.present(guest.member, guest.address, self.loop.time())
        self.log(f"news of {guest.member}", f"node {self.roster.members[guest.member].name} joined")

        async def begin(task: str) -> None:
            await guest.tell({"op": "begin", "key": task.removesuffix(f"/{guest.member}")})

        self._scheduling.join(guest.address, begin, guest.channel.abort)

    def free(self, guest: Guest, key: str) -> None:
        """The node has done its part of the turn ``key``, well or not."""
        self._scheduling.done(_task(key, guest.member), guest.address)

    def left(self, guest: Guest) -> None:
        """The connection of a node has ended."""
        if self._guests.pop(guest.address, None) is not None:
            self._scheduling.leave(guest.address)


def _task(key: str, member: str) -> str:
    """What a node's part of a turn is called in the scheduling."""
    return f"{key}/{member}"


class _Refusals(logging.Handler):
    """Dask's warnings as lines of the run's log."""

    def __init__(self, news: queue.SimpleQueue[str]) -> None:
        super().__init__(logging.WARNING)
        self._news = news

    def emit(self, record: logging.LogRecord) -> None:
        """Adds one line."""
        line = record.getMessage().splitlines()[0]
        if not any(words in line for words in _SAID_ELSEWHERE):
            self._news.put(line)


def try_port(bundle: Bundle) -> None:
    """``ClusterError`` when something else listens where the coordinator should: better now than in the run."""
    host = _listening(bundle.host)
    try:
        socket.create_server((host, bundle.port), family=_family(host)).close()
    except OSError as error:
        raise _unheard(bundle, error) from None


def _unheard(bundle: Bundle, error: BaseException) -> ClusterError:
    return ClusterError(
        f"the coordinator cannot listen at {bundle.host}:{bundle.port}: {error}",
        "end what listens there, or name another port: dsbench cluster invite --address HOST:PORT",
        usage=True,
    )


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _listening(host: str) -> str:
    """Where to listen so that nodes find us at ``host``: there, if that is an address of ours; else everywhere."""
    try:
        ipaddress.ip_address(host)
        with socket.create_server((host, 0), family=_family(host)):
            return host
    except (ValueError, OSError):
        return _EVERYWHERE
