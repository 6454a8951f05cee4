"""Stages and groups: what a workload wants to happen at a scale, filled in with what a run asks for.

A workload leaves open what the run decides: numbers of clients, pacing, duration. ``load_of`` fills that in for one
node, so that the coordinator of a run and each of its nodes come to the same groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dsbench.measure.loaders.core import CoreError
from dsbench.spec import RunSpec

Work = Literal["build", "load", "work", "check", "drop"]


@dataclass(frozen=True)
class Pacing:
    """When the clients of a group start transactions."""

    kind: str
    """"closed", "constant", "poisson", "terminals" or "in-step"."""
    amount: float = 0.0
    """Starts per second; terminals of all nodes; number of the group that it keeps step with; 0 in the closed loop."""
    of: str = "all"
    """Whose rate it is: "each" client's, or that of "all" together."""


@dataclass(frozen=True)
class Until:
    """When a group ends."""

    kind: str
    """"time", "transactions", "rows" or "group"."""
    amount: int
    """Nanoseconds, a count, or the number of the group that it follows."""
    of: str = "all"
    """Whose count it is: "each" client's, that of "all" together, or of all with an even "share" for each."""


@dataclass(frozen=True)
class GroupPlan:
    """Clients of a load stage that do the same, as the workload wants them; ``None`` leaves it to the run."""

    name: str
    role: int
    kinds: tuple[int, ...]
    """Numbers of the kinds of transactions that they run."""
    clients: int | None
    """Of all nodes together; ``None``: as many as the run has threads, on each node."""
    pacing: Pacing | None
    until: Until | None
    rows: int = 0
    """Of each transaction, where all have the same number; else 0."""


@dataclass(frozen=True)
class Stage:
    """A stretch of a run on one database."""

    name: str
    work: Work
    parts: int = 0
    """Connections of a work stage."""
    repeated: bool = False
    """Whether the load is repeated: as many cycles, at as many numbers of threads, as the run asks for."""
    cleaned: bool = False
    """Whether the database is cleaned before each cycle."""
    groups: tuple[GroupPlan, ...] = ()


@dataclass(frozen=True)
class Group:
    """A group on one node, with everything filled in."""

    name: str
    role: int
    kinds: tuple[int, ...]
    threads: int
    """Of this node: none where the group has fewer clients than there are nodes."""
    first_client: int
    clients: int
    """Of all nodes; with terminals, these."""
    pacing: Pacing
    until: Until
    """A count of all is that of this node."""
    rows: int = 0
    """Of each transaction, where all have the same number; else 0."""

    @property
    def rows_per_s(self) -> float | None:
        """Demanded rows per second of all clients together; ``None`` where none are demanded."""
        return self.rate_per_s * self.rows if self.rate_per_s is not None and self.rows else None

    @property
    def rate_per_s(self) -> float | None:
        """Demanded starts per second of all clients together; ``None`` where none is demanded."""
        if self.pacing.kind not in ("constant", "poisson"):
            return None
        return self.pacing.amount * (self.clients if self.pacing.of == "each" else 1)


@dataclass(frozen=True)
class CycleLoad:
    """What makes the load of one cycle on one node."""

    groups: tuple[Group, ...]
    carriers: int
    placement: str
    connections: int
    ramp_up_ns: int

    @property
    def threads(self) -> int:
        """Threads of all groups."""
        return sum(group.threads for group in self.groups)

    @property
    def duration_ns(self) -> int | None:
        """Demanded duration; ``None`` where a count decides."""
        leading = [group.until for group in self.groups if group.until.kind != "group"]
        return max(u.amount for u in leading) if all(u.kind == "time" for u in leading) else None

    def options(self, spec: RunSpec, seed: int, trace: Any) -> dict[str, Any]:
        """As the core wants it."""
        conduct = {
            "connections": spec.connections,
            "patience_ns": 5_000_000_000,
            "isolation": spec.isolation,
            "prepare": spec.prepare,
            "tries": spec.tries,
            "reconnect": spec.reconnect,
            "exit_on_abort": spec.exit_on_abort,
        }
        return {
            "groups": [{**_words(group), **conduct} for group in self.groups],
            "carriers": self.carriers,
            "placement": self.placement,
            "ramp_up_ns": self.ramp_up_ns,
            "seed": seed,
            "trace": trace,
            "statements": spec.per_statement,
            "open": None,
        }


def _words(group: Group) -> dict[str, Any]:
    pacing, until = group.pacing, group.until
    return {
        "name": group.name,
        "role": group.role,
        "threads": group.threads,
        "first_client": group.first_client,
        "clients": group.clients,
        "pacing": (pacing.kind, float(pacing.amount), pacing.of),
        "until": (until.kind, until.amount, until.of),
    }


def stage_of(raw: Mapping[str, Any]) -> Stage:
    """A stage from the core's dictionary."""
    groups = tuple(
        GroupPlan(
            name=group["name"],
            role=group["role"],
            kinds=tuple(group["kinds"]),
            clients=group["clients"],
            pacing=Pacing(*group["pacing"]) if group["pacing"] else None,
            until=Until(*group["until"]) if group["until"] else None,
            rows=group["rows"],
        )
        for group in raw["groups"]
    )
    plain = {name: raw[name] for name in ("name", "work", "parts", "repeated", "cleaned")}
    return Stage(**plain, groups=groups)


def load_of(stage: Stage, spec: RunSpec, scale: int, node: int = 0, nodes: int = 1) -> CycleLoad:
    """The load of one cycle of ``stage`` that falls to node number ``node`` of ``nodes``.

    ``CoreError`` of kind "configuration" where there are fewer terminals than nodes, or a ramp-up before a load that
    ends by count.
    """
    groups = tuple(_group(plan, spec, scale, node, nodes) for plan in stage.groups)
    if spec.ramp_up and any(group.until.kind in ("transactions", "rows") for group in groups):
        words = f"--ramp-up: the stage {stage.name} ends by count, and what a ramp-up does is not counted; leave it out"
        raise CoreError("configuration", "", words)
    return CycleLoad(groups, spec.carriers, spec.placement, spec.connections, round(spec.ramp_up * 1e9))


def largest(loads: Sequence[CycleLoad]) -> CycleLoad:
    """Of the loads of all nodes that with most threads; a count that all clients share is that of all nodes."""
    found = max(loads, key=lambda one: one.threads)
    groups = []
    for number, group in enumerate(found.groups):
        until = group.until
        if until.kind in ("transactions", "rows") and until.of in ("all", "share"):
            until = replace(until, amount=sum(one.groups[number].until.amount for one in loads))
        groups.append(replace(group, until=until))
    return replace(found, groups=tuple(groups))


def _group(plan: GroupPlan, spec: RunSpec, scale: int, node: int, nodes: int) -> Group:
    pacing = plan.pacing or _pacing(spec, scale)
    until = plan.until or Until("time", round(spec.duration * 1e9))
    threads, mine, clients = spec.threads, range(node * spec.threads, (node + 1) * spec.threads), spec.threads * nodes
    if pacing.kind == "terminals":
        clients = int(pacing.amount)
        mine = _share(clients, node, nodes)
        if not mine:
            raise CoreError("configuration", "", f"--terminals {clients}: fewer than the {nodes} nodes that share them")
        pacing = Pacing("terminals", len(mine))
        # A thread without a terminal has nothing to do.
        threads = min(threads, len(mine))
    elif plan.clients is not None:
        clients = plan.clients
        mine = _share(clients, node, nodes)
        threads = len(mine)
    if until.kind in ("transactions", "rows") and until.of in ("all", "share"):
        # By clients, as one node may have more of them than another.
        of_mine = mine.stop * until.amount // clients - mine.start * until.amount // clients
        until = Until(until.kind, of_mine, until.of)
    return Group(plan.name, plan.role, plan.kinds, threads, mine.start, clients, pacing, until, plan.rows)


def _pacing(spec: RunSpec, scale: int) -> Pacing:
    terminals = spec.terminals_at(scale)
    if terminals is not None:
        return Pacing("terminals", terminals)
    return Pacing("closed") if spec.rate is None else Pacing(spec.arrival, spec.rate)


def _share(total: int, node: int, nodes: int) -> range:
    return range(node * total // nodes, (node + 1) * total // nodes)

