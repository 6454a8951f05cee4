"""Stages and filled-in plans, as the core gives them: it alone knows pacing, ends and how clients are divided."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Literal

from dsbench.spec import RunSpec

Work = Literal["build", "load", "work", "check", "drop"]

_OPTIONS: Final = (
    "threads", "duration", "ramp_up", "rate", "arrival", "connections", "carriers", "placement", "isolation", "prepare",
    "tries", "reconnect", "exit_on_abort", "per_statement",
)  # fmt: skip
"""Of a run, by which the core fills in what a workload leaves open: see ``Options`` in its ``fill.rs``."""


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
    clients: tuple[int | None, ...] = ()
    """Of each group, on all nodes together; ``None``: as many as the run has threads, on each node."""
    timed: bool = True
    """Whether every group ends by time."""
    cycles: int = 0
    """How many the workload itself asks for; 0 where it leaves them to the run."""
    cold_each: int = 0
    """Before the first of each so many cycles the server is restarted, and its files leave the page cache."""
    transactions: int | None = None
    """Of a cycle that takes a fixed number of them, an even share by each client."""


@dataclass(frozen=True)
class Group:
    """Clients of a load that do the same, in the words of the table ``groups``."""

    name: str
    kinds: tuple[int, ...]
    """Numbers of the kinds of transactions that they run."""
    threads: int
    """Of this node: none where the group has fewer clients than there are nodes."""
    clients: int
    """Of all nodes; with terminals, these."""
    pacing: str
    rate_per_s: float | None
    """Demanded starts per second of all clients together."""
    rows_per_s: float | None
    until: str
    until_count: int | None
    """Of all nodes together, unless each client has a count of its own."""
    until_of: str
    duration_ns: int | None
    """Demanded, where time is the end."""


@dataclass(frozen=True)
class CycleLoad:
    """What makes the load of one cycle on one node."""

    plan: str
    """What the core gave, which it wants back."""
    groups: tuple[Group, ...]
    threads: int
    """Of all groups."""
    connections: int
    """Of each thread."""
    ramp_up_ns: int
    duration_ns: int | None
    """Demanded; ``None`` where a count decides."""


def read_stages(text: str) -> tuple[Stage, ...]:
    """Those that ``_core.Bench.stages`` gives."""
    return tuple(Stage(**{**raw, "clients": tuple(raw["clients"])}) for raw in json.loads(text))


def read_load(plan: str) -> CycleLoad:
    """The filled-in plan that ``_core.Bench.fill`` gives."""
    raw = json.loads(plan)
    del raw["load"]
    groups = tuple(Group(**{**group, "kinds": tuple(group["kinds"])}) for group in raw.pop("groups"))
    return CycleLoad(plan, groups, **raw)


def write_options(spec: RunSpec, scale: int, node: int, nodes: int, by_time: bool) -> str:
    """By which ``_core.Bench.fill`` fills in a plan."""
    asked = {name: getattr(spec, name) for name in _OPTIONS}
    if spec.placement == "try":  # The run chooses before its first cycle; here is a load outside of a run.
        asked["placement"] = "follow"
    asked["legs"] = [leg.for_core for leg in spec.legs]
    place = {"terminals": spec.terminals_at(scale), "node": node, "nodes": nodes, "by_time": by_time}
    return json.dumps(asked | place)
