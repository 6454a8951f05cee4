"""The coordinator's side of the network: a Dask scheduler on a thread of its own, and what nodes may ask of it.

All state lives on that thread's event loop; the run's thread comes in through ``Coordinator.ask``. An operation
that a node may call has the prefix ``dsbench_`` and knows the caller by its certificate, not by what it says.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import queue
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future as Waiting
from typing import Any, Final, TypeVar

from dsbench.cluster import wire
from dsbench.cluster.bundle import Bundle
from dsbench.cluster.clock import Estimate
from dsbench.cluster.errors import ClusterError
from dsbench.cluster.lease import BEATS
from dsbench.cluster.roster import Roster
from dsbench.cluster.turn import Turn
from dsbench.cluster.worker import take_part
from dsbench.generator import now_ns

T = TypeVar("T")

_LONGEST_CALL_S: Final = 60.0
_EVERYWHERE: Final = "0.0.0.0"
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
        self._lease_s = lease_s
        self._goodbye = ""
        self._futures: list[Any] = []
        self._up: Waiting[None] = Waiting()
        self._loop = asyncio.new_event_loop()
        self._changed, self._leaving = asyncio.Condition(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="dsbench-coordinator", daemon=True)

    def start(self) -> None:
        """Listens for nodes. ``ClusterError`` when it cannot."""
        self._thread.start()
        try:
            self._up.result(_LONGEST_CALL_S)
        except OSError as error:
            where = f"{self._bundle.host}:{self._bundle.port}"
            raise ClusterError(
                f"the coordinator cannot listen at {where}: {error}",
                "free the port, or invite again with the address of this machine: dsbench cluster invite --address",
            ) from None

    def ask(self, what: Callable[[], T]) -> T:
        """``what()`` on the event loop, where all state is."""

        async def call() -> T:
            return what()

        return self._await(call())

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
        self._await(self._lose(member, why))

    def close(self, goodbye: str) -> None:
        """Dismisses the nodes, which end with these words, and stops listening."""
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._leave, goodbye)
        self._thread.join(_FAREWELL_S + 15)

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_LONGEST_CALL_S)

    # The thread of the event loop.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            if not self._up.done():
                self._up.set_exception(error)
            else:
                self.news.put(f"the coordinator failed: {error!r}")

    async def _serve(self) -> None:
        wire.hear(_Refusals(self.news))
        security = wire.security(self._bundle)
        ttl = max(6 * wire.HEARTBEAT_S, 5 * self._lease_s)  # Dask's own patience is only a net below ours.
        host, port = _listening(self._bundle.host), self._bundle.port
        async with wire.QuietScheduler(
            host=host, port=port, protocol="tls", security=security, worker_ttl=f"{ttl}s", dashboard=False
        ) as scheduler:
            self._scheduler = scheduler
            scheduler.handlers.update({wire.OPERATIONS + name: call for name, call in self._operations().items()})
            scheduler.add_plugin(_Membership(self), name="dsbench")
            here = self._bundle.host if host != _EVERYWHERE else "127.0.0.1"
            async with wire.Client(f"tls://{here}:{port}", security=security, asynchronous=True) as self._client:
                self._up.set_result(None)
                watching = asyncio.ensure_future(self._watch())
                await self._leaving.wait()
                watching.cancel()
                await self._dismiss()

    def _operations(self) -> Mapping[str, Callable[..., Coroutine[Any, Any, Any]]]:
        return {
            "enrol": self._enrol, "clock": self._clock, "beat": self._beat, "order": self._order,
            "ready": self._ready, "armed": self._armed, "result": self._result,
            "failed": self._failed,
        }  # fmt: skip

    def _leave(self, goodbye: str) -> None:
        self._goodbye = goodbye
        self._leaving.set()

    async def _dismiss(self) -> None:
        until = self._loop.time() + _FAREWELL_S
        while self.roster.here and self._loop.time() < until:
            await asyncio.sleep(0.02)

    async def _watch(self) -> None:
        """Gives up nodes whose lease has run out."""
        beat_s, last = self._lease_s / BEATS, self._loop.time()
        while True:
            await asyncio.sleep(beat_s)
            now = self._loop.time()
            away, last = now - last - beat_s, now
            if away > self._lease_s / 4:
                # This process was frozen and could not hear anybody; the nodes judge their own leases.
                self.roster.grant(away)
                self.news.put(f"the coordinator itself stood still for {away:.1f} s")
                continue
            for member in self.roster.overdue(now):
                silent = now - member.beat_s
                await self._lose(member.member, f"no beat for {silent:.1f} s, its lease is {self._lease_s:g} s")

    async def _lose(self, member: str, why: str) -> None:
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
        async with self._changed:
            self._changed.notify_all()

    async def disconnected(self, address: str) -> None:
        """Dask has seen the end of a connection."""
        member = self.roster.at(address)
        if member is not None and self._goodbye:
            member.address = ""
        elif member is not None:
            await self._lose(member.member, "its connection ended")

    def registered(self, member: str, address: str) -> None:
        """Dask has registered a node that was admitted."""
        if member in self.roster.members:
            self.roster.present(member, address, self._loop.time())
            self.news.put(f"node {self.roster.members[member].name} joined")

    # What nodes may ask; ``comm`` first, so that Dask passes the connection.

    async def _enrol(self, comm: Any, token: str, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        member = wire.peer(comm)
        if self._goodbye:
            return {"refused": self._goodbye}
        known = self.roster.members.get(member)
        if known is not None and known.here and known.token == token:
            await self._lose(member, "it joined again: its connection was lost")
        why = self.roster.enrol(member, token, name, facts, self._loop.time())
        if why:
            self.news.put(f"refused a node at {comm.peer_address}, {name} ({member}): {why}")
            return {"refused": why}
        return {"refused": "", "lease_s": self._lease_s}

    async def _clock(self) -> int:
        return now_ns()

    async def _beat(self, comm: Any, token: str, key: str, totals: tuple[int, int, int]) -> dict[str, Any]:
        member = wire.peer(comm)
        here = self.turn is not None and self.turn.key == key
        # What is left of the last turn must not be taken for a part of this one.
        known = self.roster.beat(
            member, token, (totals[0], totals[1], totals[2]) if here else (0, 0, 0), self._loop.time()
        )
        # With the key, because the answer may arrive when the node has begun with the next turn.
        return {"known": known, "key": key, "stop": self._to_stop(member, key), "goodbye": self._goodbye}

    def _to_stop(self, member: str, key: str) -> str:
        if self.turn is None or self.turn.key != key:
            return "the turn is over"
        return self.turn.stop or self.turn.missing.get(member, "")

    async def _order(self, comm: Any, key: str) -> Mapping[str, Any] | None:
        member = wire.peer(comm)
        if self.turn is None or self.turn.key != key or not self.turn.open_for(member):
            return None
        return self.turn.orders[member]

    async def _ready(self, comm: Any, key: str, offset_ns: int, error_ns: int) -> int | None:
        """Answers when the start is fixed; ``None`` when there will be none."""
        member = wire.peer(comm)
        turn = self.turn
        if turn is None or turn.key != key or not turn.open_for(member):
            return None
        turn.ready[member] = Estimate(offset_ns, error_ns)
        async with self._changed:
            await self._changed.wait_for(
                lambda: turn.start_ns is not None or self.turn is not turn or not turn.open_for(member)
            )
        return turn.start_ns if turn.open_for(member) else None

    async def _armed(self, comm: Any, key: str, left_ns: int) -> bool:
        turn = self.turn
        return turn is not None and turn.key == key and turn.arm(wire.peer(comm), left_ns)

    async def _result(self, comm: Any, key: str, data: bytes) -> None:
        member = wire.peer(comm)
        if self.turn is not None and self.turn.key == key and self.turn.deliver(member, data):
            return
        if (key, member) not in ((known, who) for known, who, _ in self.late):
            self.late.append((key, member, data))
            self.news.put(f"node {self.roster.members[member].name} sent its part of {key} too late to count")


    async def _failed(self, comm: Any, key: str, why: str) -> None:
        member = wire.peer(comm)
        if self.turn is not None and self.turn.key == key and self.turn.open_for(member):
            self.turn.lose(member, why)
            self.news.put(f"node {self.roster.members[member].name} cannot take part in {key}: {why}")


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
        self._news.put(record.getMessage().splitlines()[0])


def _listening(host: str) -> str:
    """Where to listen so that nodes find us at ``host``: there, if that is an address of ours; else everywhere."""
    try:
        ipaddress.ip_address(host)
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return host
    except (ValueError, OSError):
        return _EVERYWHERE
