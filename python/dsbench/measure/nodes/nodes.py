"""The nodes of a run, as the run sees them: gathered, prepared, and then a source of load like this machine itself.

All that concerns nodes is done on an event loop of Dask, in a thread of its own; the run's thread looks at what has
become of it.
"""

from __future__ import annotations

import asyncio
import os
import platform
import queue
import re
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

import dsbench
from dsbench.archive import LOCAL
from dsbench.archive.record import Machine
from dsbench.measure.loaders import CycleLoad, Second, Watch, now_ns
from dsbench.measure.loaders.loader import Wanted
from dsbench.measure.loaders.results import MISSED, NodeResult, Part
from dsbench.measure.monitors import RUN
from dsbench.measure.nodes import ClusterError, plain
from dsbench.measure.nodes.bundle import Invitation
from dsbench.measure.nodes.dask_setup import Client, Existing, LoopRunner, SparingLog, own_scheduler, sync
from dsbench.measure.nodes.node import Describe, Interrupted, here
from dsbench.measure.nodes.outcome import LONGEST_RESULT, DamagedError, Fit, decode
from dsbench.measure.nodes.rules import BEATS, FEW, PINGS, Estimate, Lead, estimate
from dsbench.spec import RunSpec

LARGEST_ERROR_NS: Final = 500_000_000
"""Of a clock that may take part: the others would have to wait forty times as long for the start."""
_POLL_S: Final = 0.05
_PREPARATION_S: Final = (60.0, 5.0)
"""How long nodes may take to describe themselves, and for each of them more: they may share a machine."""
_REJOIN_S: Final = 60.0  # How long a run without any node left waits for one to come back
_CALL_S: Final = 10.0  # How long a node may take for an answer that it has at once
_FAREWELL_S: Final = 3.0
_LOOK_S: Final = 0.25  # How often the scheduler is asked for workers that are no nodes yet
_ENDED: Final = "its connection ended"
_AT_ONCE: Final = 4  # Clocks that are compared at the same time: answers must not queue

_Count = Annotated[int, Field(ge=0, lt=2**53)]
_Text = Annotated[str, Field(max_length=1000)]
_BEAT: Final = TypeAdapter(tuple[_Text, _Count, _Count, _Count], config=ConfigDict(strict=True))
_TIME: Final = TypeAdapter(Annotated[int, Field(strict=True, ge=0, lt=2**62)])


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


@dataclass
class Work:
    """One node's part of a turn."""

    order: Mapping[str, Any]
    clock: Estimate | None = None  # Known when all its clients are connected
    left_ns: int = 0  # How long before the start it was armed; 0 while it is not
    drift_ns: int = 0
    data: bytes | None = None
    missing: str = ""  # Why it gives no result in time

    @property
    def open(self) -> bool:
        """Whether something is still expected."""
        return self.data is None and not self.missing

    def lose(self, why: str) -> None:
        """The node does not take part any more."""
        if self.open:
            self.missing = why


@dataclass
class Turn:
    """One turn of the nodes, a cycle or their preparation."""

    key: str
    works: dict[str, Work]
    fit: Fit | None = None  # What a node can have done in it, if it is a cycle
    cycle: tuple[int, int] = (0, 0)  # Its scale and number
    start: asyncio.Future[tuple[int, int]] | None = None
    """The common start by this machine's clock and the ramp-up before it, once they are known."""
    decided: bool = False  # No node is armed any more: those that are not sit the cycle out

    def waiting(self) -> list[str]:
        """Nodes that have not given their result."""
        return [member for member, work in self.works.items() if work.open]

    def arm(self, work: Work, left_ns: int) -> bool:
        """The node waits for the start; False when it is too late for that."""
        if self.decided or not work.open or left_ns <= 0:
            return False
        work.left_ns = left_ns
        return True

    def decide(self) -> list[str]:
        """Closes the list of those who start; who sits the cycle out."""
        self.decided = True
        return [member for member in self.waiting() if not self.works[member].left_ns]


class Nodes:
    """The nodes of one run."""

    def __init__(self, where: Invitation | Existing, spec: RunSpec, describe: Describe) -> None:
        self._where, self._spec, self._describe = where, spec, describe
        self._own = isinstance(where, Invitation)
        self._run = secrets.token_hex(8)
        self.members: dict[str, Member] = {}
        self.lead = Lead(spec.nodes)
        self._turn: Turn | None = None
        self._turns: dict[str, Turn] = {}
        self._owed: set[tuple[str, str]] = set()
        """(turn, member) whose result is expected, in time or late; no other is taken."""
        self._late: list[tuple[str, str, bytes]] = []  # (turn, node, result) of results that came too late to count
        self._news: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._log = SparingLog(self._news.put)
        self._asked: dict[str, float] = {}
        """Addresses of workers that are not to be asked before that time: they are being asked, or are not wanted."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()
        self._runner: Any = None
        self._pinging = asyncio.Semaphore(_AT_ONCE)

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
                    f"{self._where.how_to_join(self._spec.nodes)[-1].strip()}; see results.log for refusals",
                )
            time.sleep(_POLL_S)
        settle(self.members.values())

    def prepare(self, url: str, watch: Watch) -> list[dict[str, Any]]:
        """What the nodes say of themselves, under ``noticed`` what other programs do there.

        ``ClusterError`` when one does not reach the database.
        """
        beside = _beside({os.getpid(): RUN, **dict.fromkeys(self.pids(), RUN)})
        turn = self._begin("prepare", {"kind": "prepare", **_order(url, self._spec), "beside": beside})
        give_up = time.monotonic() + _PREPARATION_S[0] + _PREPARATION_S[1] * self._spec.nodes
        while turn.waiting() and time.monotonic() < give_up:
            watch(len(turn.works) - len(turn.waiting()), len(turn.works))
            time.sleep(_POLL_S)
        self.end(turn, turn.waiting, "it did not answer in time")
        described = []
        for member in self.numbered:
            work = turn.works.get(member.member, Work({}, missing="it was gone"))
            said = _said_of_itself(work.data) if work.data is not None else {"failure": work.missing}
            if why := said.pop("failure"):
                raise ClusterError(
                    f"node {member.name}: {why}",
                    "see that the database's address means the same there, and that its server admits that machine",
                )
            described.append({"member": member.member, "name": member.name, **member.facts, **said})
        return described

    def cycle(self, url: str, wanted: Wanted, watch: Watch, tell: Callable[[], None]) -> RemoteCycle:
        """Asks all nodes that are here to connect for a cycle; waits for one when there is none.

        ``tell`` is called while the cycle goes on, so that its news reach the log.
        """
        give_up = time.monotonic() + _REJOIN_S
        while not self.here:
            watch(0, self._spec.nodes)
            if time.monotonic() > give_up:
                raise ClusterError("no node is left", "see results.log for why; then: dsbench run --resume ARCHIVE")
            time.sleep(_POLL_S)
        spec, scale, number = wanted.spec, wanted.scale, wanted.number
        load = wanted.bench.fill(spec, wanted.stage.name, node=spec.nodes - 1, nodes=spec.nodes)
        timed = len(wanted.bench.statements) if spec.per_statement else 0
        seconds = (load.duration_ns or 3600 * 10**9) / 1e9 + spec.ramp_up
        fit = Fit(load.threads, len(wanted.bench.kinds), len(load.groups), timed, seconds)
        order = {
            "kind": "cycle", **_order(url, spec), "scale": scale, "seed": wanted.seed, "nodes": spec.nodes,
            "stage": wanted.stage.name, "beside": _beside(wanted.roots),
        }  # fmt: skip
        turn = self._begin(f"scale {scale}, cycle {number}", order, fit, (scale, number))
        return RemoteCycle(self, turn, spec, load, tell)

    def pids(self) -> list[int]:
        """Processes of nodes that run on this machine."""
        return [m.facts["pid"] for m in self.members.values() if m.facts["host"] == platform.node()]

    def late(self) -> list[tuple[tuple[int, int], NodeResult]]:
        """((scale, cycle), part) of cycles that were over when they came; each is given once.

        A part that cannot be read is told in the log; its node stays one of which nobody knows what it committed.
        """
        parts = []
        while self._late:
            key, name, data = self._late.pop(0)
            try:
                if fit := self._turns[key].fit:
                    parts.append((self._turns[key].cycle, decode(data, name, fit)))
            except DamagedError as error:
                self._news.put(f"node {name}: its late part of {key} is left out: {error}")
        return parts

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

    def end(self, turn: Turn, members: Callable[[], Sequence[str]], why: str) -> None:
        """Ends the parts of ``members``; what they still send is late."""

        async def end() -> None:
            for name in members():
                turn.works[name].lose(why)
                if (member := self.members[name]).address:
                    self._beside(member, _quietly(member.call("end", turn.key, why)))

        self.on_loop(end)

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

    def _begin(
        self, what: str, order: Mapping[str, Any], fit: Fit | None = None, cycle: tuple[int, int] = (0, 0)
    ) -> Turn:
        key = f"{what} #{len(self._turns) + 1}"
        turn = self._turn = self._turns[key] = Turn(key, {}, fit, cycle)

        async def begin() -> None:
            turn.start = asyncio.get_running_loop().create_future() if fit else None
            for member in self.here:
                turn.works[member.member] = work = Work({**order, "number": member.number})
                self._owed.add((key, member.member))
                self._beside(member, self._take_part(turn, member, work))

        self.on_loop(begin)
        return turn

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
            remedy = "name the address of a running scheduler, and for tls:// the files of --dask-tls"
            raise ClusterError(problem, remedy, usage=True) from None
        self._go_on(self._tasks, self._watch())

    async def _close(self, goodbye: str) -> None:
        for task in self._tasks.union(*(member.tasks for member in self.members.values())):
            task.cancel()
        with suppress(TimeoutError):
            farewells = asyncio.gather(*(_quietly(member.call("dismiss", goodbye)) for member in self.here))
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
                self._news.put(f"the coordinator itself stood still for {away:.1f} s")
                continue
            for member in self.here:
                if member.gone:
                    await self.lose(member, _ENDED)
                elif now - member.beat_s >= lease_s:
                    await self.lose(member, f"no beat for {now - member.beat_s:.1f} s, its lease is {lease_s:g} s")
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
            words = "it says what no node says" if isinstance(error, ValidationError) else str(error) or repr(error)
            self._log(f"joins of {name}", f"worker {plain(name, 60)} cannot join: {plain(words, 300)}")
            again_s = 5.0
        self._asked[address] = asyncio.get_running_loop().time() + again_s

    async def _ask_to_join(self, address: str, name: str) -> float:
        """Makes a worker a node of this run, if it may be one; seconds after which it may be asked again."""
        future = self._client.submit(
            here, self._describe, actor=True, workers=[address], allow_other_workers=False, retries=0, pure=False,
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
            await _quietly(fresh.call("dismiss", "", why))
            return float("inf")
        if known := self.members.get(name):
            await self.lose(known, "it joined again: its connection was lost")
            if known.number >= 0:
                fresh.number, fresh.name = known.number, known.name
        self.members[name] = fresh
        self._log(f"news of {name}", f"node {fresh.name} joined")
        self._beside(fresh, self._beat(fresh))
        for key in facts.results:
            self._beside(fresh, self._fetch(self._turns.get(key), key, fresh))
        return 0.0

    def _unwanted(self, name: str, facts: _Facts) -> str:
        """Why a worker cannot be a node; empty when it can."""
        for what, ours in (("dsbench", dsbench.__version__), ("distributed", version("distributed"))):
            if (theirs := facts.versions.get(what, "of an unknown version")) != ours:
                return f"it has {what} {plain(theirs, 60)}, the coordinator has {ours}"
        for other in self.here:
            if (other.facts["host"], other.facts["pid"]) == (facts.host, facts.pid) and other.member != name:
                return f"it has its process in common with {other.name}: give each worker its own"
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

    async def _take_part(self, turn: Turn, member: Member, work: Work) -> None:
        """One node's part of a turn, step by step."""
        try:
            await member.call("begin", turn.key, work.order)
            await member.actor.ready(turn.key)
            if turn.start is not None:
                work.clock = await self._clock(member, PINGS)
                start_ns, ramp_up_ns = await asyncio.shield(turn.start)
                left = await member.call("arm", turn.key, work.clock.there(start_ns), ramp_up_ns)
                if turn.arm(work, _TIME.validate_python(left)):
                    await member.call("go", turn.key)
            await self._fetch(turn, turn.key, member)
        except Interrupted as error:
            self._owed.discard((turn.key, member.member))
            if work.open:
                words = f"node {member.name} cannot take part in {turn.key}: {plain(str(error))}"
                self._log(f"news of {member.member}", words)
                work.lose(plain(str(error)))
                await member.call("end", turn.key, work.missing)

    async def _fetch(self, turn: Turn | None, key: str, member: Member) -> None:
        """Takes the result of a turn, in time or late, where it is expected."""
        if turn is not None and (key, member.member) in self._owed:
            data, work = await member.actor.result(key), turn.works[member.member]
            with suppress(Interrupted):
                if work.clock is not None and work.open:
                    work.drift_ns = (await self._clock(member, FEW)).offset_ns - work.clock.offset_ns
            self._owed.discard((key, member.member))
            data = data if isinstance(data, bytes) and len(data) <= LONGEST_RESULT else b""
            if work.open:
                work.data = data
            else:
                self._late.append((key, member.name, data))
                words = f"node {member.name} sent its part of {key} too late to count"
                self._log(f"news of {member.member}", words)
        await member.call("forget", key)

    async def _clock(self, member: Member, pings: int) -> Estimate:
        async def ask() -> int:
            return _TIME.validate_python(await member.call("clock"))

        async with self._pinging:
            found = await estimate(ask, pings)
        if found.error_ns > LARGEST_ERROR_NS:
            raise Interrupted(f"its clock is known within {found.error_ns / 1e6:.0f} ms only")
        return found

    def _beside(self, member: Member, work: Coroutine[Any, Any, None]) -> None:
        """Does it as long as the node is there; an error means that it is not."""

        async def do() -> None:
            try:
                await work
            except Exception as error:
                words = f"it failed: {plain(repr(error), 300)}"
                if isinstance(error, ValidationError):
                    words = "it said what no node says"
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
        if self._turn is not None and (work := self._turn.works.get(member.member)):
            work.lose(why)
        self._log(f"news of {member.member}", f"node {member.name} is lost: {why}")
        self._let_go(member)
        await self._dask.remove(address)

    def _let_go(self, member: Member) -> None:
        member.future.release()
        for task in member.tasks - {asyncio.current_task()}:
            task.cancel()


class RemoteCycle:
    """A cycle under way on several nodes: the same steps as one that runs here."""

    def __init__(self, nodes: Nodes, turn: Turn, spec: RunSpec, load: CycleLoad, tell: Callable[[], None]) -> None:
        self._nodes, self._turn, self._spec, self._tell = nodes, turn, spec, tell
        self.load = load  # Of the node that has most clients; counts that all share are those of all nodes

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until the clients of all nodes are connected; goes on without nodes that take longer."""
        give_up = time.monotonic() + timeout_s
        while connecting := [name for name in self._turn.waiting() if self._turn.works[name].clock is None]:
            self._tell()
            watch(self._totals()[0], self.load.threads * len(self._turn.works))
            if time.monotonic() > give_up:
                self._give_up(connecting, f"its clients were not connected after {timeout_s:.0f} s")
            time.sleep(_POLL_S / 5)

    @property
    def lead_ns(self) -> int:
        """How long before the start the nodes must know of it: messages to all, and answers, have to fit."""
        return self._nodes.lead.ns(work.clock.error_ns for work in self._turn.works.values() if work.clock)

    def start(self, at_ns: int) -> None:
        """Starts all nodes at ``at_ns`` of this machine's clock; those that are not armed in time sit out."""
        ramp_up_ns = round(self._spec.ramp_up * 1e9)
        lead_ns = at_ns - ramp_up_ns - now_ns()

        async def fix() -> None:
            if self._turn.start is not None:
                self._turn.start.set_result((at_ns, ramp_up_ns))

        self._nodes.on_loop(fix)
        # Waking up late does not matter: whoever was armed is told so, and starts by its own clock.
        time.sleep(max(0.0, 0.7 * lead_ns / 1e9))
        self._nodes.end(self._turn, self._turn.decide, MISSED)

    def wait(self, start_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits until each node has given its result or was lost.

        Where a count decides, the nodes give up a silent server themselves.
        """
        duration_ns = self.load.duration_ns
        while waiting := self._turn.waiting():
            self._tell()
            watch(*self._totals()[1:])
            if duration_ns is not None and now_ns() > start_ns + duration_ns + round(grace_s * 1e9):
                self._give_up(waiting, f"no result {grace_s:.0f} s after the end of the cycle")
            time.sleep(_POLL_S)

    def seconds(self, _start: int) -> list[Second]:
        """None: nodes tell how many transactions they did while a cycle goes on, and times at its end."""
        return []

    def abandon(self) -> None:
        """Ends the load on all nodes."""
        self._nodes.end(self._turn, self._turn.waiting, "the cycle was abandoned")

    def collect(self) -> list[Part]:
        """What became of each node's part, by number."""
        self._nodes.end(self._turn, self._turn.waiting, "the turn is over")
        parts = [self._part(member) for member in self._nodes.numbered]
        self._nodes.lead.learn(missed=any(part.why == MISSED for part in parts))
        return parts

    def _part(self, member: Member) -> Part:
        work = self._turn.works.get(member.member, Work({}, missing="it was gone when the cycle began"))
        if work.data is None or self._turn.fit is None:
            return Part(member.name, work.missing, None, loaded=bool(work.left_ns))
        try:
            found = decode(work.data, member.name, self._turn.fit)
        except DamagedError as error:
            return Part(member.name, str(error), None, loaded=True)
        if work.clock is None or found.course.ended != "complete":
            return Part(member.name, plain(found.course.ended) or "it did not say how it ended", found, loaded=True)
        course = replace(
            found.course, clock_offset_ns=work.clock.offset_ns, clock_error_ns=work.clock.error_ns,
            clock_drift_ns=work.drift_ns, armed_before_ns=work.left_ns,
        )  # fmt: skip
        return Part(member.name, "", replace(found, course=course), loaded=True)

    def _give_up(self, members: Sequence[str], why: str) -> None:
        for member in members:
            self._nodes.on_loop(self._nodes.lose, self._nodes.members[member], why)

    def _totals(self) -> tuple[int, int, int]:
        totals = [self._nodes.members[name].totals for name in self._turn.works]
        counted = [told[1:] for told in totals if told[0] == self._turn.key]
        connected, committed, failed = (sum(column) for column in zip((0, 0, 0), *counted, strict=True))
        return connected, committed, failed


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


async def _quietly(work: Coroutine[Any, Any, Any]) -> None:
    with suppress(Exception):
        await work


def _said_of_itself(data: bytes) -> dict[str, Any]:
    """A node's description of itself as readers of the archive want it; its ``failure`` says why there is none."""
    try:
        said = from_json(data[: 1024 * 1024], allow_inf_nan=False)
        Machine.model_validate(said)
        if not isinstance(said["failure"], str):
            raise TypeError
        known = {name: said[name] for name in ("core", "calibration") if name in said}
        known["network"] = plain(str(said.get("network", "")), 300)
        if "noticed" in said:
            known["noticed"] = [plain(str(words), 400) for words in said["noticed"][:5]]
        return {**known, "failure": plain(said["failure"])}
    except (ValueError, KeyError, TypeError):
        return {"failure": f"{len(data)} bytes are no description of a node"}


def _beside(roots: Mapping[int, str]) -> dict[str, Any]:
    """What nodes on this machine must not take for other programs."""
    return {"host": platform.node(), "roots": [[*root] for root in roots.items()]}


def _order(url: str, spec: RunSpec) -> dict[str, Any]:
    # The password travels here, over TLS, to nodes that hold a certificate of this run; nothing stores or shows it.
    return {"url": url, "spec": {k: v for k, v in spec.model_dump(mode="json").items() if k != "target"}}
