"""The nodes of a run as its members: they join, give signs of life, are lost and come back.

All that concerns nodes is done on an event loop of Dask, in a thread of its own; the run's thread looks at what has
become of it.
"""

from __future__ import annotations

import asyncio
import platform
import queue
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import field
from importlib.metadata import version
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dsbench import release
from dsbench.archive import LOCAL
from dsbench.dataclass import dataclass
from dsbench.measure.joining import ClusterError
from dsbench.measure.nodes import plain
from dsbench.measure.nodes.bundle import Invitation
from dsbench.measure.nodes.dask_setup import Client, ExistingDask, LoopRunner, SparingLog, own_scheduler, sync
from dsbench.measure.nodes.node import here
from dsbench.measure.nodes.rules import BEATS
from dsbench.spec import RunSpec

POLL_S: Final = 0.05
_CALL_S: Final = 10.0  # How long a node may take for an answer that it has at once
_FAREWELL_S: Final = 3.0
_LOOK_S: Final = 0.25  # How often the scheduler is asked for workers that are no nodes yet
_ENDED: Final = "its connection ended"

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Text = Annotated[str, Field(max_length=1000)]
_BEAT: Final = TypeAdapter(tuple[_Text, _Count, _Count, _Count], config=ConfigDict(strict=True))


class _Facts(BaseModel, strict=True, extra="forbid"):
    """What a node says when it joins."""

    busy: bool
    name: _Text = ""
    host: _Text = ""
    system: _Text = ""
    pid: _Count = 0
    cpus: Annotated[int, Field(ge=1, le=2**20)] = 1
    results: Annotated[list[_Text], Field(max_length=1000)] = []
    versions: Annotated[dict[_Text, _Text], Field(max_length=8)] = {}


@dataclass
class Member:
    """One node, known by the name of its Dask worker."""

    member: str
    name: str  # As results show it
    facts: Mapping[str, Any]
    address: str  # Of its worker; empty while it is gone
    actor: Any
    future: Any  # Dask keeps the actor as long as this is held
    beat_s: float
    number: int = -1  # Its place among the nodes from 0, which gives its clients their numbers; -1 until all are there
    totals: tuple[str, int, int, int] = ("", 0, 0, 0)
    """The turn under way: clients connected, transactions committed and failed."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def gone(self) -> bool:
        """Whether the scheduler has seen the end of its worker: then Dask gives up its actor at once."""
        return bool(self.future.status != "finished")

    async def call(self, method: str, *arguments: Any) -> Any:
        """What the node answers at once."""
        return await asyncio.wait_for(getattr(self.actor, method)(*arguments), _CALL_S)


class Members:
    """Who makes the load of one run."""

    def __init__(self, where: Invitation | ExistingDask, spec: RunSpec) -> None:
        self._where, self._spec = where, spec
        self._own = isinstance(where, Invitation)
        self._run = secrets.token_hex(8)
        self.members: dict[str, Member] = {}
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._log = SparingLog(self._news.put)
        self._asked: dict[str, float] = {}
        """Addresses of workers that are not to be asked before that time: they are being asked, or are not wanted."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()
        self._runner: Any = None

    # The run's thread.

    def gather(self, patience_s: float, watch: Callable[[list[str]], None]) -> None:
        """Waits until all nodes have joined; ``watch`` hears the names of those that are here."""
        self._runner = LoopRunner()
        self._runner.start()
        self.on_loop(self._open)
        give_up = time.monotonic() + patience_s
        while len(self.here) < self._spec.nodes:
            watch([member.name for member in self.here])
            if time.monotonic() > give_up:
                raise ClusterError(
                    f"{len(self.here)} of {self._spec.nodes} nodes joined within {patience_s:.0f} s",
                    "start the nodes within --join-timeout; results.log of the archive has those that were refused",
                )
            time.sleep(POLL_S)
        settle(self.members.values())

    def pids(self) -> list[int]:
        """Processes of nodes that run on this machine."""
        return [m.facts["pid"] for m in self.members.values() if m.facts["host"] == platform.node()]

    def news(self) -> list[str]:
        """Lines for the log since the last call."""
        return [self._news.get() for _ in range(self._news.qsize())]

    def close(self, goodbye: str) -> None:
        """Dismisses the nodes, which end with these words, and deletes their bundles."""
        if isinstance(self._where, Invitation):
            self._where.spend()
        if self._runner is not None:
            with suppress(Exception):  # Whatever Dask has to say of its end, the run is over.
                self.on_loop(self._close, goodbye)
            self._runner.stop()
        self._log.close()

    def on_loop(self, work: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        """Does ``work`` on the event loop."""
        sync(self._runner.loop, work, *arguments, callback_timeout=60)

    @property
    def numbered(self) -> list[Member]:
        """All members by number, also those that are gone."""
        return sorted(self.members.values(), key=lambda m: m.number)

    @property
    def here(self) -> list[Member]:
        """Those that can take part in a cycle."""
        return [member for member in self.numbered if member.address]

    # The event loop.

    async def _open(self) -> None:
        where: Any = self._where
        if isinstance(where, Invitation):
            where = await own_scheduler(where.coordinator, self._log)
            await self._stack.enter_async_context(where.scheduler)
        self._dask = where
        try:
            client = Client(
                where.address, security=where.security, asynchronous=True, set_as_default=False, timeout=_CALL_S,
                direct_to_workers=self._own,
            )  # fmt: skip
            self._client = await self._stack.enter_async_context(client)
        except (OSError, ValueError, RuntimeError) as error:
            problem = f"--dask {where.address}: {plain(str(error.__cause__ or error) or type(error).__name__)}"
            remedy = "specify the address of a running scheduler, and for tls:// the files of --dask-tls"
            raise ClusterError(problem, remedy, usage=True) from None
        self._go_on(self._tasks, self._watch())

    async def _close(self, goodbye: str) -> None:
        for task in self._tasks.union(*(member.tasks for member in self.members.values())):
            task.cancel()
        with suppress(TimeoutError):
            farewells = asyncio.gather(*(quietly(member.call("dismiss", goodbye)) for member in self.here))
            await asyncio.wait_for(farewells, _FAREWELL_S)
        for member in self.members.values():
            self._let_go(member)
        await self._stack.aclose()

    async def _watch(self) -> None:
        """Gives up nodes whose lease has run out, and takes in those that are missing."""
        lease_s, loop = self._spec.lease, asyncio.get_running_loop()
        pause, last, looked = min(_LOOK_S, lease_s / BEATS), loop.time(), 0.0
        while True:
            await asyncio.sleep(pause)
            now = loop.time()
            away, last = now - last - pause, now
            if away > lease_s / 4:
                # This process was frozen and could not hear anybody; the nodes judge their own leases.
                for member in self.here:
                    member.beat_s += away
                self._news.put(f"the coordinator itself was suspended for {away:.1f} s")
                continue
            for member in self.here:
                if member.gone:
                    await self.lose(member, _ENDED)
                elif now - member.beat_s >= lease_s:
                    await self.lose(member, f"no heartbeat for {now - member.beat_s:.1f} s, its lease is {lease_s:g} s")
            if now - looked >= _LOOK_S and (self._own or len(self.here) < self._spec.nodes):
                looked = now
                with suppress(OSError):  # The next look may succeed; TimeoutError is one.
                    await self._look(now)

    async def _look(self, now: float) -> None:
        """Asks workers that are not nodes yet to join."""
        workers = await self._dask.workers(self._client)
        self._asked = {address: at for address, at in self._asked.items() if address in workers}
        known = {member.address for member in self.here}
        fresh = [one for one in workers.items() if one[0] not in known and self._asked.get(one[0], 0.0) <= now]
        if not self._own:  # Of an existing Dask some workers may stay idle: those are not even asked.
            asking, known_names = len(self._tasks) - 1, [one for one in fresh if one[1] in self.members]
            fresh = known_names or fresh[: max(0, self._spec.nodes - len(self.members) - asking)]
        for address, name in fresh:
            self._asked[address] = now + 2 * _CALL_S
            self._go_on(self._tasks, self._admit(address, name))

    async def _admit(self, address: str, name: str) -> None:
        try:
            again_s = await asyncio.wait_for(self._ask_to_join(address, name), 2 * _CALL_S)
        except Exception as error:  # whatever a worker says, it must not end more than this attempt
            words = "it sent an invalid message" if isinstance(error, ValidationError) else str(error) or repr(error)
            self._log(f"joins of {name}", f"worker {plain(name, 60)} cannot join: {plain(words, 300)}")
            again_s = 5.0
        self._asked[address] = asyncio.get_running_loop().time() + again_s

    async def _ask_to_join(self, address: str, name: str) -> float:
        """Makes a worker a node of this run, if it may be one; seconds after which it may be asked again."""
        future = self._client.submit(
            here, actor=True, workers=[address], allow_other_workers=False, retries=0, pure=False,
            key=f"dsbench-{secrets.token_hex(8)}",
        )  # fmt: skip
        actor = await future
        # By this client, whichever else the process has; and a call to a node that is lost fails at once, instead of
        # waiting until Dask has made the actor elsewhere.
        actor._client, actor._future = self._client, None
        said = await asyncio.wait_for(actor.enrol(self._run, self._spec.lease), _CALL_S)
        beat_s, facts = asyncio.get_running_loop().time(), _Facts.model_validate(said)
        if facts.busy:
            self._log(f"joins of {name}", f"worker {plain(name, 60)} is in use by another run")
            return 1.0
        kept = {"host": plain(facts.host), "system": plain(facts.system), "pid": facts.pid, "cpus": facts.cpus}
        fresh = Member(name, plain_name(facts.name or facts.host), kept, address, actor, future, beat_s)
        if why := self._unwanted(name, facts):
            self._log("nodes refused", f"refused a node, {fresh.name} ({plain(name, 60)}): {why}")
            await quietly(fresh.call("dismiss", "", why))
            return float("inf")
        if known := self.members.get(name):
            await self.lose(known, "it rejoined after its connection was lost")
            if known.number >= 0:
                fresh.number, fresh.name = known.number, known.name
        self.members[name] = fresh
        self._log(f"news of {name}", f"node {fresh.name} joined")
        self._follow(fresh, self._beat(fresh))
        self._joined(fresh, facts.results)
        return 0.0

    def _unwanted(self, name: str, facts: _Facts) -> str:
        """Why a worker cannot be a node; empty when it can."""
        for what, ours in (("dsbench", release.VERSION), ("distributed", version("distributed"))):
            if (theirs := facts.versions.get(what, "of an unknown version")) != ours:
                return f"it has {what} {plain(theirs, 60)}, the coordinator has {ours}"
        for other in self.here:
            if (other.facts["host"], other.facts["pid"]) == (facts.host, facts.pid) and other.member != name:
                return f"it shares its process with {other.name}: give each worker its own"
        if name in self.members or len(self.members) < self._spec.nodes:
            return ""
        return f"the run has its {self._spec.nodes} nodes: {', '.join(m.name for m in self.members.values())}"

    async def _beat(self, member: Member) -> None:
        heard, loop, beat_s = 0, asyncio.get_running_loop(), self._spec.lease / BEATS
        while True:
            sent = loop.time()
            member.totals = _BEAT.validate_python(await member.actor.beat(heard))
            heard, member.beat_s = heard + 1, loop.time()
            await asyncio.sleep(max(0.0, sent + beat_s - loop.time()))

    def _joined(self, member: Member, results: Sequence[str]) -> None:
        """A node has joined, which has ``results`` of these turns."""

    def _left(self, member: Member, why: str) -> None:
        """A node is lost."""

    def _follow(self, member: Member, work: Coroutine[Any, Any, None]) -> None:
        """Does it as long as the node is there; an error means that it is not."""

        async def do() -> None:
            try:
                await work
            except Exception as error:
                words = f"it failed: {plain(repr(error), 300)}"
                if isinstance(error, ValidationError):
                    words = "it sent an invalid message"
                elif isinstance(error, OSError) or member.gone:  # OSError is of Dask, TimeoutError too
                    words = _ENDED
                await self.lose(member, words)

        self._go_on(member.tasks, do())

    def _go_on(self, tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
        tasks.add(task := asyncio.ensure_future(work))
        task.add_done_callback(tasks.discard)

    async def lose(self, member: Member, why: str) -> None:
        """Goes on without a node."""
        if not member.address:
            return
        address, member.address = member.address, ""
        self._left(member, why)
        self._log(f"news of {member.member}", f"node {member.name} is lost: {why}")
        self._let_go(member)
        await self._dask.remove(address)

    def _let_go(self, member: Member) -> None:
        member.future.release()
        for task in member.tasks - {asyncio.current_task()}:
            task.cancel()


def settle(members: Iterable[Member]) -> None:
    """All nodes are there: gives each its number and a name that no other has."""
    taken: set[str] = set()
    for number, member in enumerate(sorted(members, key=lambda m: (len(m.member), m.member))):
        member.number = number
        digits = re.search(r"\d+$", member.member)
        while member.name in taken:  # also one that another has chosen for itself
            member.name = f"{member.name}-{digits[0] if digits else number + 1}"
        taken.add(member.name)


def plain_name(name: str) -> str:
    """``name`` as it may stand in the name of a file, and apart from that of this machine."""
    text = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60].strip(".-") or "node"
    return f"{text}-node" if text == LOCAL else text


async def quietly(work: Coroutine[Any, Any, Any]) -> None:
    """Does it, whether or not the other end is still there."""
    with suppress(Exception):
        await work
