"""The nodes of a run as its source of load: prepared, and then the same steps for a cycle as on this machine itself."""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter
from pydantic_core import from_json

from dsbench.archive.record import Machine
from dsbench.dataclass import dataclass
from dsbench.measure.joining import ClusterError
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import CycleLoad, Second, TargetDatabase, Watch, now_ns
from dsbench.measure.loaders.loader import Progress, Wanted
from dsbench.measure.loaders.results import MISSED, NodePart, NodeResult
from dsbench.measure.monitors import RUN
from dsbench.measure.nodes import plain
from dsbench.measure.nodes.bundle import Invitation
from dsbench.measure.nodes.dask_setup import ExistingDask
from dsbench.measure.nodes.members import POLL_S, Member, Members, quietly
from dsbench.measure.nodes.node import Interrupted
from dsbench.measure.nodes.outcome import LONGEST_RESULT, DamagedError, NodeLimits, decode, refuse_contradictions
from dsbench.measure.nodes.rules import FEW, PINGS, Lead, TimeEstimate, estimate
from dsbench.spec import RunSpec, Target

LARGEST_ERROR_NS: Final = 500_000_000
"""Of a clock that may take part: the others would have to wait forty times as long for the start."""
_PREPARATION_S: Final = (60.0, 5.0)
"""How long nodes may take to describe themselves, and for each of them more: they may share a machine."""
_REJOIN_S: Final = 60.0  # How long a run without any node left waits for one to come back
_AT_ONCE: Final = 4  # Clocks that are compared at the same time: answers must not queue
_TIME: Final = TypeAdapter(Annotated[int, Field(strict=True, ge=0, lt=2**62)])


def _believed(data: bytes, node: str, fit: NodeLimits) -> NodeResult:
    """A node's part, whose numbers fit the cycle and each other; ``DamagedError`` for others."""
    found = decode(data, node, fit)
    try:
        refuse_contradictions(found.result)
    except DamagedError as error:
        raise DamagedError(f"the results of {node} are inconsistent: {error}") from None
    return found


@dataclass
class Work:
    """One node's part of a turn."""

    order: Mapping[str, Any]
    clock: TimeEstimate | None = None  # Known when all its clients are connected
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
    fit: NodeLimits | None = None  # What a node can have done in it, if it is a cycle
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


def _with_password(url: str) -> str:
    """Nodes have another environment."""
    target = Target(url=url)
    return target.with_password(target.password_of_environment).url


class Nodes(Members):
    """The nodes of one run and their turns."""

    def __init__(self, where: Invitation | ExistingDask, spec: RunSpec, patience_s: float) -> None:
        super().__init__(where, spec)
        self._patience_s, self._urls = patience_s, {"url": "", "reads": ""}
        self._journal: Journal | None = None
        self.lead = Lead(spec.nodes)
        self._turn: Turn | None = None
        self._turns: dict[str, Turn] = {}
        self._owed: set[tuple[str, str]] = set()
        """(turn, member) whose result is expected, in time or late; no other is taken."""
        self._late: list[tuple[str, str, bytes]] = []  # (turn, node, result) of results that came too late to count
        self._pinging = asyncio.Semaphore(_AT_ONCE)

    # The run's thread.

    def begin(self, journal: Journal, target: TargetDatabase, progress: Progress, /) -> None:
        """Waits for the nodes and has them describe themselves."""
        self._journal = journal
        self._urls = {"url": _with_password(target.url)}
        self._urls["reads"] = _with_password(target.reading.url) if target.reading is not None else ""
        for line in self._where.how_to_join(self._spec.nodes):
            journal.say(line)

        def gathering(here: list[str]) -> None:
            self.tell()
            progress("nodes", len(here), self._spec.nodes)

        try:
            self.gather(self._patience_s, gathering)
            found = self._prepare(lambda done, total: progress("prepare", done, total))
        finally:
            self.tell()
        noticed = [(node["name"], words) for node in found for words in node.pop("noticed", ())]
        journal.note(nodes=found)
        for name, words in noticed:
            journal.say(f"warning: node {name}: {words}")
        for node in found:
            journal.say(f"node {node['name']}: {node['cpus']} CPUs, {node['system']}")

    def _prepare(self, watch: Watch) -> list[dict[str, Any]]:
        """What the nodes say of themselves, under ``noticed`` what other programs do there.

        ``ClusterError`` when one does not reach the database.
        """
        beside = _beside({os.getpid(): RUN, **dict.fromkeys(self.pids(), RUN)})
        turn = self._begin("prepare", {"kind": "prepare", **self._order(self._spec), "beside": beside})
        give_up = time.monotonic() + _PREPARATION_S[0] + _PREPARATION_S[1] * self._spec.nodes
        while turn.waiting() and time.monotonic() < give_up:
            watch(len(turn.works) - len(turn.waiting()), len(turn.works))
            time.sleep(POLL_S)
        self.stop(turn, turn.waiting, "it did not answer in time")
        described = []
        for member in self.numbered:
            work = turn.works.get(member.member, Work({}, missing="it was lost"))
            said = _said_of_itself(work.data) if work.data is not None else {"failure": work.missing}
            if why := said.pop("failure"):
                raise ClusterError(
                    f"node {member.name}: {why}",
                    "check that the database's address resolves to the same server there, and that the server "
                    "accepts connections from that machine",
                )
            described.append({"member": member.member, "name": member.name, **member.facts, **said})
        return described

    def cycle(self, wanted: Wanted, watch: Watch, /) -> RemoteCycle:
        """Asks all nodes that are here to connect for a cycle; waits for one when there is none."""
        give_up = time.monotonic() + _REJOIN_S
        while not self.here:
            watch(0, self._spec.nodes)
            if time.monotonic() > give_up:
                raise ClusterError("no node is left", "see results.log for the reason; then: dsbench run --resume "
                                                      "ARCHIVE")
            time.sleep(POLL_S)
        spec, scale, number = wanted.spec, wanted.scale, wanted.number
        load = wanted.bench.fill(spec, wanted.stage.name, node=spec.nodes - 1, nodes=spec.nodes)
        timed = len(wanted.bench.statements) if spec.per_statement else 0
        seconds = (load.duration_ns or 3600 * 10**9) / 1e9 + spec.ramp_up
        fit = NodeLimits(load.clients, len(wanted.bench.kinds), len(load.groups), timed, seconds)
        order = {
            "kind": "cycle", **self._order(spec), "scale": scale, "seed": wanted.seed, "nodes": spec.nodes,
            "stage": wanted.stage.name, "beside": _beside(wanted.roots),
        }  # fmt: skip
        turn = self._begin(f"scale {scale}, cycle {number}", order, fit, (scale, number))
        return RemoteCycle(self, turn, spec, load)

    def late(self) -> list[tuple[tuple[int, int], NodeResult]]:
        """((scale, cycle), part) of cycles that were over when they came; each is given once.

        A part that cannot be read is told in the log; its node stays one of which nobody knows what it committed.
        """
        parts = []
        while self._late:
            key, name, data = self._late.pop(0)
            try:
                if fit := self._turns[key].fit:
                    parts.append((self._turns[key].cycle, _believed(data, name, fit)))
            except DamagedError as error:
                self._news.put(f"node {name}: its late part of {key} is ignored: {error}")
        self.tell()
        return parts

    def tell(self) -> None:
        """Writes to the log what has happened since the last call."""
        if self._journal is not None:
            for line in self.news():
                self._journal.say(line)

    def end(self, status: str, /) -> None:
        """Sends the nodes home. Their bundles are deleted, however the run ended."""
        self.close(f"the run is {status}")
        self.tell()

    def _order(self, spec: RunSpec) -> dict[str, Any]:
        # The password travels here, over TLS, to nodes that hold a certificate of this run; nothing stores or shows it.
        own = {"rate": spec.rate, "duration": spec.duration, "event": spec.event, "reads": spec.reads}
        known = {"rate": self._spec.rate, "duration": self._spec.duration, "event": "", "reads": ""}
        asked = spec.model_copy(update=known)
        return {**self._urls, "spec": asked.model_dump(mode="json", exclude={"target"}), "own": own}

    def stop(self, turn: Turn, members: Callable[[], Sequence[str]], why: str) -> None:
        """Ends the parts of ``members``; what they still send is late."""

        async def end() -> None:
            for name in members():
                turn.works[name].lose(why)
                if (member := self.members[name]).address:
                    self._follow(member, quietly(member.call("end", turn.key, why)))

        self.on_loop(end)

    def _begin(
        self, what: str, order: Mapping[str, Any], fit: NodeLimits | None = None, cycle: tuple[int, int] = (0, 0)
    ) -> Turn:
        key = f"{what} #{len(self._turns) + 1}"
        turn = self._turn = self._turns[key] = Turn(key, {}, fit, cycle)

        async def begin() -> None:
            turn.start = asyncio.get_running_loop().create_future() if fit else None
            for member in self.here:
                turn.works[member.member] = work = Work({**order, "number": member.number})
                self._owed.add((key, member.member))
                self._follow(member, self._take_part(turn, member, work))

        self.on_loop(begin)
        return turn

    # The event loop.

    def _joined(self, member: Member, results: Sequence[str]) -> None:
        for key in results:
            self._follow(member, self._fetch(self._turns.get(key), key, member))

    def _left(self, member: Member, why: str) -> None:
        if self._turn is not None and (work := self._turn.works.get(member.member)):
            work.lose(why)

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

    async def _clock(self, member: Member, pings: int) -> TimeEstimate:
        async def ask() -> int:
            return _TIME.validate_python(await member.call("clock"))

        async with self._pinging:
            found = await estimate(ask, pings)
        if found.error_ns > LARGEST_ERROR_NS:
            raise Interrupted(f"its clock is only known to within {found.error_ns / 1e6:.0f} ms")
        return found


class RemoteCycle:
    """A cycle under way on several nodes: the same steps as one that runs here."""

    def __init__(self, nodes: Nodes, turn: Turn, spec: RunSpec, load: CycleLoad) -> None:
        self._nodes, self._turn, self._spec = nodes, turn, spec
        self.load = load  # Of the node that has most clients; counts that all share are those of all nodes

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until the clients of all nodes are connected; goes on without nodes that take longer."""
        give_up = time.monotonic() + timeout_s
        while connecting := [name for name in self._turn.waiting() if self._turn.works[name].clock is None]:
            self._nodes.tell()
            watch(self._totals()[0], self.load.clients * len(self._turn.works))
            if time.monotonic() > give_up:
                self._give_up(connecting, f"its clients were not connected after {timeout_s:.0f} s")
            time.sleep(POLL_S / 5)

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
        self._nodes.stop(self._turn, self._turn.decide, MISSED)

    def wait(self, start_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits until each node has given its result or was lost.

        Where a count decides, the nodes give up a silent server themselves.
        """
        duration_ns = self.load.duration_ns
        while waiting := self._turn.waiting():
            self._nodes.tell()
            watch(*self._totals()[1:])
            if duration_ns is not None and now_ns() > start_ns + duration_ns + round(grace_s * 1e9):
                self._give_up(waiting, f"no result {grace_s:.0f} s after the end of the cycle")
            time.sleep(POLL_S)

    def seconds(self, _start: int) -> list[Second]:
        """None: nodes tell how many transactions they did while a cycle goes on, and times at its end."""
        return []

    def abandon(self) -> None:
        """Ends the load on all nodes."""
        self._nodes.stop(self._turn, self._turn.waiting, "the cycle was abandoned")

    def collect(self) -> list[NodePart]:
        """What became of each node's part, by number."""
        self._nodes.stop(self._turn, self._turn.waiting, "the task is over")
        parts = [self._part(member) for member in self._nodes.numbered]
        self._nodes.lead.learn(missed=any(part.why == MISSED for part in parts))
        return parts

    def _part(self, member: Member) -> NodePart:
        work = self._turn.works.get(member.member, Work({}, missing="it was lost when the cycle began"))
        if work.data is None or self._turn.fit is None:
            return NodePart(member.name, work.missing, None, loaded=bool(work.left_ns))
        try:
            found = _believed(work.data, member.name, self._turn.fit)
        except DamagedError as error:
            return NodePart(member.name, str(error), None, loaded=True)
        if work.clock is None or found.course.ended != "complete":
            why = plain(found.course.ended) or "it did not report how it ended"
            return NodePart(member.name, why, found, loaded=True)
        course = replace(
            found.course, clock_offset_ns=work.clock.offset_ns, clock_error_ns=work.clock.error_ns,
            clock_drift_ns=work.drift_ns, armed_before_ns=work.left_ns,
        )  # fmt: skip
        return NodePart(member.name, "", replace(found, course=course), loaded=True)

    def _give_up(self, members: Sequence[str], why: str) -> None:
        for member in members:
            self._nodes.on_loop(self._nodes.lose, self._nodes.members[member], why)

    def _totals(self) -> tuple[int, int, int]:
        totals = [self._nodes.members[name].totals for name in self._turn.works]
        counted = [told[1:] for told in totals if told[0] == self._turn.key]
        connected, committed, failed = (sum(column) for column in zip((0, 0, 0), *counted, strict=True))
        return connected, committed, failed


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
        return {"failure": f"{len(data)} bytes are not a description of a node"}


def _beside(roots: Mapping[int, str]) -> dict[str, Any]:
    """What nodes on this machine must not take for other programs."""
    return {"host": platform.node(), "roots": [[*root] for root in roots.items()]}
