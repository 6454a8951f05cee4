"""The nodes of a run, as the run sees them: gathered, prepared, and then a source of load like this machine itself."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_core import from_json

from dsbench.archive.record import Machine
from dsbench.cluster.bundle import Invitation
from dsbench.cluster.coordinator import Coordinator
from dsbench.cluster.errors import ClusterError, plain
from dsbench.cluster.lead import Lead
from dsbench.cluster.outcome import MISSED, DamagedError, Fit, NodeResult, Part, decode
from dsbench.cluster.turn import Turn
from dsbench.cluster.wanted import Wanted
from dsbench.generator import CycleLoad, Second, Watch, largest, load_of, now_ns
from dsbench.monitors import RUN
from dsbench.spec import RunSpec

_POLL_S: Final = 0.05
_PREPARATION_S: Final = 60.0
_MORE_S: Final = 5.0
"""How long nodes may take to describe themselves, and for each of them more: they may share a machine."""
_LONGEST_DESCRIPTION: Final = 1024 * 1024
_LONGEST_NETWORK: Final = 300
_LONGEST_NOTICED: Final = 400
_MOST_NOTICED: Final = 5
_REJOIN_S: Final = 60.0
"""How long a run without any node left waits for one to come back."""


class Nodes:
    """The nodes of one run."""

    def __init__(self, invitation: Invitation, spec: RunSpec) -> None:
        self._invitation = invitation
        self._spec = spec
        self._coordinator = Coordinator(invitation.coordinator, spec.nodes, spec.lease)
        self._turns = 0
        self._lead = Lead(spec.nodes)
        self._cycles: dict[str, tuple[int, int]] = {}
        """Turn to (scale, cycle)."""
        self._fits: dict[str, Fit] = {}
        """Turn to what a node can have done in it."""

    def gather(self, patience_s: float, watch: Callable[[list[str]], None]) -> None:
        """Waits until all nodes have joined; ``watch`` hears the names of those that are here."""
        coordinator = self._coordinator
        coordinator.start()
        give_up = time.monotonic() + patience_s
        while not coordinator.ask(lambda: coordinator.roster.complete):
            here = coordinator.ask(lambda: [member.name for member in coordinator.roster.here])
            watch(here)
            if time.monotonic() > give_up:
                raise ClusterError(
                    f"{len(here)} of {self._spec.nodes} nodes joined within {patience_s:.0f} s",
                    "start dsbench node --join with a bundle of its own on each machine; see results.log for refusals",
                )
            time.sleep(_POLL_S)
        coordinator.ask(coordinator.roster.settle)

    def prepare(self, url: str, watch: Watch) -> list[dict[str, Any]]:
        """What the nodes say of themselves, under ``noticed`` what other programs do there.

        ``ClusterError`` when one does not reach the database.
        """
        beside = self._beside({os.getpid(): RUN, **dict.fromkeys(self.pids(), RUN)})
        turn = self._turn("prepare", lambda _number: {"kind": "prepare", **_order(url, self._spec), "beside": beside})
        try:
            self._wait(turn, time.monotonic() + _PREPARATION_S + _MORE_S * self._spec.nodes, watch)
        finally:
            self._coordinator.end_turn()
        described = []
        for member in self._members():
            data = turn.results.get(member["member"])
            said = _said_of_itself(data) if data is not None else {"failure": "it did not answer in time"}
            why = turn.missing.get(member["member"]) or said.pop("failure")
            if why:
                raise ClusterError(
                    f"node {member['name']}: {why}",
                    "see that the database's address means the same there, and that its server admits that machine",
                )
            described.append({**member, **said})
        return described

    def cycle(self, url: str, wanted: Wanted, watch: Watch, tell: Callable[[], None]) -> RemoteCycle:
        """Asks all nodes that are here to connect for a cycle; waits for one when there is none.

        ``tell`` is called while the cycle goes on, so that its news reach the log.
        """
        coordinator = self._coordinator
        give_up = time.monotonic() + _REJOIN_S
        while not coordinator.ask(lambda: bool(coordinator.roster.here)):
            watch(0, self._spec.nodes)
            if time.monotonic() > give_up:
                raise ClusterError("no node is left", "see results.log for why; then: dsbench run --resume ARCHIVE")
            time.sleep(_POLL_S)
        spec, scale, number = wanted.spec, wanted.scale, wanted.number
        order = {"kind": "cycle", **_order(url, spec), "scale": scale, "seed": wanted.seed, "nodes": spec.nodes}
        stage = wanted.stage.name
        order["beside"] = self._beside(wanted.roots)
        turn = self._turn(f"scale {scale}, cycle {number}", lambda n: {**order, "stage": stage, "number": n})
        load = largest([load_of(wanted.stage, spec, scale, node, spec.nodes) for node in range(spec.nodes)])
        self._cycles[turn.key] = (scale, number)
        self._fits[turn.key] = fit = Fit(
            load.threads, len(wanted.bench.kinds), len(load.groups),
            len(wanted.bench.statements) if spec.per_statement else 0,
            **({} if load.duration_ns is None else {"seconds": load.duration_ns / 1e9 + spec.ramp_up}),
        )  # fmt: skip
        return RemoteCycle(coordinator, turn, spec, load, fit, self._lead, tell)

    def pids(self) -> list[int]:
        """Processes of nodes that run on this machine."""
        return [member["pid"] for member in self._members() if member["host"] == platform.node()]

    def late(self) -> list[tuple[tuple[int, int], NodeResult]]:
        """((scale, cycle), part) of cycles that were over when they came; each is given once.

        A part that cannot be read is told in the log; its node stays one of which nobody knows what it committed.
        """
        parts = []
        for key, member, data in self._coordinator.take_late():
            if key not in self._cycles:
                continue
            name = self._name(member)
            try:
                parts.append((self._cycles[key], decode(data, name, self._fits.get(key))))
            except DamagedError as error:
                self._coordinator.news.put(f"node {name}: its late part of {key} is left out: {error}")
        return parts

    def news(self) -> list[str]:
        """Lines for the log since the last call."""
        lines = []
        while not self._coordinator.news.empty():
            lines.append(self._coordinator.news.get())
        return lines

    def close(self, goodbye: str, *, spent: bool) -> None:
        """Dismisses the nodes; ``spent`` makes their bundles worthless."""
        self._coordinator.close(goodbye)
        if spent:
            self._invitation.spend()

    def _turn(self, what: str, order: Callable[[int], Mapping[str, Any]]) -> Turn:
        self._turns += 1
        roster = self._coordinator.roster
        members = self._coordinator.ask(lambda: [(m.member, m.number) for m in roster.here])
        turn = Turn(f"{what} #{self._turns}", {member: order(number) for member, number in members})
        self._coordinator.start_turn(turn)
        return turn

    @staticmethod
    def _beside(roots: Mapping[int, str]) -> dict[str, Any]:
        """What nodes on this machine must not take for other programs."""
        return {"host": platform.node(), "roots": [[*root] for root in roots.items()]}

    def _wait(self, turn: Turn, give_up_s: float, watch: Watch) -> None:
        while waiting := self._coordinator.ask(lambda: turn.waiting):
            watch(len(turn.orders) - len(waiting), len(turn.orders))
            if time.monotonic() > give_up_s:
                return
            time.sleep(_POLL_S)

    def _members(self) -> list[dict[str, Any]]:
        roster = self._coordinator.roster
        return self._coordinator.ask(
            lambda: [{"member": m.member, "name": m.name, **m.facts} for m in roster.numbered()]
        )

    def _name(self, member: str) -> str:
        return self._coordinator.ask(lambda: self._coordinator.roster.members[member].name)


class RemoteCycle:
    """A cycle under way on several nodes: the same steps as one that runs here."""

    def __init__(
        self, coordinator: Coordinator, turn: Turn, spec: RunSpec, load: CycleLoad, fit: Fit, lead: Lead,
        tell: Callable[[], None],
    ) -> None:  # fmt: skip
        self._coordinator = coordinator
        self._turn = turn
        self._spec = spec
        self._fit, self._lead = fit, lead
        self._tell = tell
        self.load = load
        """Of the node that has most clients; counts that all share are those of all nodes."""

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until the clients of all nodes are connected; goes on without nodes that take longer."""
        give_up = time.monotonic() + timeout_s
        while connecting := self._coordinator.ask(lambda: self._turn.connecting):
            self._tell()
            watch(self._totals()[0], self.load.threads * len(self._turn.orders))
            if time.monotonic() > give_up:
                for member in connecting:
                    self._coordinator.give_up(member, f"its clients were not connected after {timeout_s:.0f} s")
            time.sleep(_POLL_S / 5)

    @property
    def lead_ns(self) -> int:
        """How long before the start the nodes must know of it: messages to all, and answers, have to fit."""
        return self._lead.ns(
            self._coordinator.ask(lambda: [clock.error_ns for clock in self._turn.ready.values()])
        )

    def start(self, at_ns: int) -> None:
        """Starts all nodes at ``at_ns`` of this machine's clock; those that are not armed in time sit out."""
        lead_ns = at_ns - round(self._spec.ramp_up * 1e9) - now_ns()
        self._coordinator.fix_start(at_ns)
        # Waking up late does not matter: whoever was armed is told so, and starts by its own clock.
        time.sleep(max(0.0, 0.7 * lead_ns / 1e9))
        self._coordinator.ask(self._turn.decide)

    def wait(self, start_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits until each node has given its result or was lost.

        Where a count decides, the nodes give up a silent server themselves.
        """
        duration_ns = self.load.duration_ns
        while waiting := self._coordinator.ask(lambda: self._turn.waiting):
            _connected, committed, failed = self._totals()
            self._tell()
            watch(committed, failed)
            if duration_ns is not None and now_ns() > start_ns + duration_ns + round(grace_s * 1e9):
                for member in waiting:
                    self._coordinator.give_up(member, f"no result {grace_s:.0f} s after the end of the cycle")
            time.sleep(_POLL_S)

    def seconds(self, _start: int) -> list[Second]:
        """None: nodes tell how many transactions they did while a cycle goes on, and times at its end."""
        return []

    def abandon(self) -> None:
        """Ends the load on all nodes."""
        self._coordinator.stop_turn("the cycle was abandoned")

    def join(self) -> list[Part]:
        """What became of each node's part, by number."""
        turn, roster = self._turn, self._coordinator.roster
        asked = self._coordinator.ask(lambda: [(m.member, m.name) for m in roster.numbered()])
        self._coordinator.end_turn()
        parts = []
        for member, name in asked:
            if member in turn.results:
                parts.append(_part(turn.results[member], name, self._fit))
            else:
                why = turn.missing.get(member, turn.stop or "it was gone when the cycle began")
                parts.append(Part(name, why, None, loaded=member in turn.armed))
        self._lead.learn(missed=any(part.why == MISSED for part in parts))
        return parts

    def _totals(self) -> tuple[int, int, int]:
        def total() -> tuple[int, int, int]:
            members = [self._coordinator.roster.members[member].totals for member in self._turn.orders]
            connected, committed, failed = (sum(column) for column in zip(*members, strict=True))
            return connected, committed, failed

        return self._coordinator.ask(total)


def _part(data: bytes, name: str, fit: Fit) -> Part:
    try:
        found = decode(data, name, fit)
    except DamagedError as error:
        return Part(name, str(error), None, loaded=True)
    return Part(name, "" if found.course.ended == "complete" else plain(found.course.ended), found, loaded=True)


def _said_of_itself(data: bytes) -> dict[str, Any]:
    """A node's description of itself as readers of the archive want it; its ``failure`` says why there is none."""
    try:
        said = from_json(data[:_LONGEST_DESCRIPTION])
        Machine.model_validate(said)
        if not isinstance(said["failure"], str):
            raise TypeError
        known = {name: said[name] for name in ("core", "calibration") if name in said}
        known["network"] = plain(str(said.get("network", "")), _LONGEST_NETWORK)
        if "noticed" in said:
            known["noticed"] = [plain(str(words), _LONGEST_NOTICED) for words in said["noticed"][:_MOST_NOTICED]]
        return {**known, "failure": plain(said["failure"])}
    except (ValueError, KeyError, TypeError):
        return {"failure": f"{len(data)} bytes are no description of a node"}


def _order(url: str, spec: RunSpec) -> dict[str, Any]:
    # The password travels here, over TLS, to nodes that hold a certificate of this run; nothing stores or shows it.
    return {"url": url, "spec": {k: v for k, v in spec.model_dump(mode="json").items() if k != "target"}}
