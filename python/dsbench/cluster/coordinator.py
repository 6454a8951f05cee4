"""The coordinator's side of the network: a Dask scheduler on a thread of its own.

All state lives on that thread's event loop; the run's thread comes in through ``Coordinator.ask``. What nodes may
ask stands in ``answers``.
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

from dsbench.cluster import wire
from dsbench.cluster.answers import Answers
from dsbench.cluster.bundle import Bundle
from dsbench.cluster.errors import ClusterError
from dsbench.cluster.lease import BEATS
from dsbench.cluster.roster import Roster
from dsbench.cluster.turn import Turn
from dsbench.cluster.worker import take_part

T = TypeVar("T")

_LONGEST_CALL_S: Final = 60.0
_EVERYWHERE: Final = "0.0.0.0"
_SAID_ELSEWHERE: Final = ("marked as failed because", "heartbeat from unregistered worker")
"""Dask's words for the loss of a node, which the log tells in ours."""
_FAREWELL_S: Final = 3.0
"""How long nodes get to hear that the run is over."""


class Coordinator:
    """The nodes of one run. Use ``start``, then ``ask`` for anything else, then ``close``."""

    def __init__(self, bundle: Bundle, nodes: int, lease_s: float) -> None:
        self.roster = Roster(nodes, lease_s, wire.versions())
        self.turn: Turn | None = None
        self.late: list[tuple[str, str, bytes]] = []
        """(turn's key, member, result) of results that came too late to count."""
        self.news: queue.SimpleQueue[str] = queue.SimpleQueue()
        """Lines for the log, in order."""
        self._bundle = bundle
        self.lease_s = lease_s
        self.goodbye = ""
        self._futures: list[Any] = []
        self._up: Waiting[None] = Waiting()
        self.loop = asyncio.new_event_loop()
        self.changed, self._leaving = asyncio.Condition(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="dsbench-coordinator", daemon=True)

    def start(self) -> None:
        """Listens for nodes. ``ClusterError`` when it cannot."""
        self._thread.start()
        try:
            self._up.result(_LONGEST_CALL_S)
        except (OSError, RuntimeError) as error:  # Dask wraps what the system says.
            raise _unheard(self._bundle, error.__cause__ or error) from None

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
        self._thread.join(_FAREWELL_S + 15)

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
        wire.hear(_Refusals(self.news))
        security = wire.security(self._bundle)
        ttl = max(6 * wire.HEARTBEAT_S, 5 * self.lease_s)  # Dask's own patience is only a net below ours.
        host, port = _listening(self._bundle.host), self._bundle.port
        async with wire.QuietScheduler(
            host=host, port=port, protocol="tls", security=security, worker_ttl=f"{ttl}s", dashboard=False
        ) as scheduler:
            self._scheduler = scheduler
            scheduler.handlers.update(Answers(self).operations())
            scheduler.add_plugin(_Membership(self), name="dsbench")
            here = self._bundle.host if host != _EVERYWHERE else "127.0.0.1"
            async with wire.Client(f"tls://{here}:{port}", security=security, asynchronous=True) as self._client:
                self._up.set_result(None)
                watching = asyncio.ensure_future(self._watch())
                await self._leaving.wait()
                watching.cancel()
                await self._dismiss()

    def _leave(self, goodbye: str) -> None:
        self.goodbye = goodbye
        self._leaving.set()

    async def _dismiss(self) -> None:
        until = self.loop.time() + _FAREWELL_S
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
            self.news.put(f"node {found.name} is lost: {why}")
            # Its connection may be half open: cut it, so that the node sees that it is out.
            stream = self._scheduler.stream_comms.get(address)
            await self._scheduler.remove_worker(address, stimulus_id="dsbench-lost", close=True)
            if stream is not None:
                stream.abort()

    def _begin(self, turn: Turn) -> None:
        self.turn = turn
        for member in turn.orders:
            address = self.roster.members[member].address
            if not address:
                turn.lose(member, "it was gone when the turn began")
                continue
            self.roster.members[member].totals = (0, 0, 0)
            future = self._client.submit(
                take_part, turn.key, key=f"{turn.key}/{member}", workers=[address], allow_other_workers=False,
                retries=0, pure=False, resources={"NODE": 1},
            )  # fmt: skip
            self._futures.append(future)

    async def _end(self) -> None:
        # Dask runs a finished task again when the node that holds its result is lost, as long as somebody wants it.
        for future in self._futures:
            future.release()
        self._futures.clear()
        self.turn = None
        await self._wake()

    async def _wake(self) -> None:
        """Nodes that wait for the start look again."""
        async with self.changed:
            self.changed.notify_all()

    async def disconnected(self, address: str) -> None:
        """Dask has seen the end of a connection."""
        member = self.roster.at(address)
        if member is not None and self.goodbye:
            member.address = ""
        elif member is not None:
            await self.lose(member.member, "its connection ended")

    def registered(self, member: str, address: str) -> None:
        """Dask has registered a node that was admitted."""
        if member in self.roster.members:
            self.roster.present(member, address, self.loop.time())
            self.news.put(f"node {self.roster.members[member].name} joined")


class _Membership(wire.SchedulerPlugin):  # type: ignore[misc]
    """Tells the coordinator which of Dask's workers come and go."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """A node that was admitted has registered."""
        self._coordinator.registered(scheduler.workers[worker].name, worker)

    async def remove_worker(self, scheduler: Any, worker: str, **_more: Any) -> None:  # noqa: ARG002  Dask's names
        """A node's connection has ended."""
        await self._coordinator.disconnected(worker)


class _Refusals(logging.Handler):
    """Dask's warnings as lines of the run's log: who was refused at the door, and what went wrong inside."""

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
