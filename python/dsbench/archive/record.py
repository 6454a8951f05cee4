"""``run.json``: everything about a run that is no row of a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import nan
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError

from dsbench.archive.asked import Asked, Recorded, Whole
from dsbench.archive.conditions import Condition, State
from dsbench.archive.errors import ArchiveError
from dsbench.spec import RunSpec, SpecError, plain, recorded
from dsbench.spec.price import Price, read_price
from dsbench.workloads import Entry

Size = Annotated[int, Field(ge=0, lt=2**63)] | Annotated[float, Field(ge=0, lt=2**63, allow_inf_nan=False)]


class Layer(Recorded):
    """A layer of the system stack."""

    layer: str = ""
    items: dict[str, Any] = Field(default_factory=dict)


class Durability(Recorded):
    """A switch that may trade committed transactions for speed."""

    switch: str = ""
    value: Any = ""
    safe: bool = True
    meaning: str = ""


class Segment(Recorded):
    """A population, for the cycles from ``first_cycle`` on."""

    started: str = ""
    scale: Whole
    first_cycle: Whole = 1


class Ceiling(Recorded):
    """What clients reached against an engine that costs nothing."""

    against: str = ""
    clients: Whole = 1
    rate_tps: float = nan


class Ceilings(Recorded):
    """What the client costs on one machine."""

    ceilings: tuple[Ceiling, ...] = ()
    ceiling_tps: float = nan
    """The rate of that ceiling which is nearest to the run."""

    def at(self, clients: int) -> Self:
        """With the ceiling of that number of clients: one client cannot reach what many do."""
        against = self.ceilings[-1].against if self.ceilings else None
        fitting = [c for c in self.ceilings if c.against == against and c.clients <= clients]
        nearest = max(fitting, key=lambda c: c.clients, default=Ceiling())
        return self.model_copy(update={"ceiling_tps": nearest.rate_tps})


class Machine(Recorded):
    """A remote node."""

    name: str = ""
    cpus: Whole | None = None
    system: str = ""
    core: dict[str, Any] = Field(default_factory=dict)
    network: str = ""
    """Which interfaces its bytes are counted at: several nodes of one machine have them in common."""
    calibration: Ceilings | None = None


class Noticed(Recorded):
    """A doubt that the run itself had while it went on."""

    code: str = ""
    message: str = ""
    remedy: str = ""
    scale: Whole | None = None
    severe: bool = False


class Dialect(Recorded):
    """What the engine can and cannot do."""

    single_writer: bool = False
    name: str = ""


class Age(Recorded):
    """A database that runs leave to each other, with what was done on it so far."""

    run: str = ""
    """The run that populated it."""
    scale: int | None = None
    runs: int = 0
    transactions: int = 0
    """At least so many, where a run did not tell what it did."""


class Promised(Recorded):
    """What ``dsbench check`` found of the target before the run."""

    version: str = ""
    at: str = ""
    holds: bool = False
    verdict: str = ""
    suspicion: str = ""
    """Why the flushes of the check cannot have reached a device; empty where nothing speaks against it."""
    differs: tuple[str, ...] = ()
    """What was otherwise at the check than at the run."""


class PlacementTried(Recorded):
    """The turns by which a run chose where its clients were to be."""

    free_tps: tuple[float, ...] = ()
    follow_tps: tuple[float, ...] = ()
    """Rates of the turns, each beside the one of the same place in the other."""
    why: str = ""
    """Why nothing was tried; empty where it was."""


class StageAsked(Recorded):
    """A stage of every scale, as the workload wants it."""

    name: str = ""
    work: str = ""
    """"build", "load", "work", "check" or "drop"."""
    repeated: bool = True
    """Whether it has as many cycles as the run was asked for; else one."""


class RunRecord(Recorded):
    """The content of ``run.json``."""

    format: int = 0
    dsbench: str = ""
    """Version of the program."""
    name: str = ""
    started: str = ""
    ended: str | None = None
    """Times of day in UTC, ISO 8601."""
    status: str = "running"
    """"running", "complete", "cut-short" or "failed"."""
    reason: str = ""
    """Why it is neither running nor complete."""
    remedy: str = ""
    """What mends that, where to resume the run does not."""
    spec: Asked = Asked()
    host: str = ""
    process: dict[str, Any] = Field(default_factory=dict)
    cpus: Whole | None = None
    workload: Entry = Entry("", "")
    """What the workload said of itself when it was run."""
    kinds: tuple[str, ...] = ()
    """Kinds of transaction, in the workload's order."""
    stages: tuple[StageAsked, ...] = ()
    """Stages of a scale, in order; none before the first one is opened."""
    stack: tuple[Layer, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the database server that are not at their default."""
    durability: tuple[Durability, ...] = ()
    marks: dict[str, Size] = Field(default_factory=dict)
    """Sizes of memories in bytes."""
    checks: dict[Whole, tuple[Condition, ...]] = Field(default_factory=dict)
    """By scale."""
    segments: tuple[Segment, ...] = ()
    calibration: Ceilings | None = None
    warnings: tuple[Noticed, ...] = ()
    resumed: tuple[str, ...] = ()
    engine: str = ""
    dialect: Dialect = Dialect()
    embedded: bool = False
    isolation: str | None = None
    """What is in force, which may be stricter than what was asked for."""
    call: str | None = None
    pooled: str = ""
    """What a pooler before the server gave its clients: "sessions" or "transactions"; empty where none was seen."""
    server_version: str = ""
    nodes: tuple[Machine, ...] = ()
    promised: Promised | None = None
    """``None`` where no check was named."""
    reused: Age | None = None
    """The kept database that it ran on, before its first cycle."""
    kept: Age | None = None
    """The database that it left to later runs."""
    placement_tried: PlacementTried | None = None
    """``None`` where the placement of the clients was asked for."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """From the values of a ``run.json``; ``ArchiveError`` names the field that is of another type."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "all of it"
            found = json.dumps(first["input"], default=str)[:60]
            words = f"run.json: field {field} is {found}: {plain(first['msg'])}"
            raise ArchiveError(words, "use another copy of the archive", usage=True) from None

    def asked(self, **target: str) -> RunSpec:
        """The specification as one that can be run again, with another ``target``; ``ArchiveError`` where none can."""
        values = self.spec.described()
        try:
            return recorded({**values, "target": {**values.get("target", {}), **target}})
        except SpecError as error:
            words = f"run.json has an impossible specification: {error}"
            raise ArchiveError(words, "use another copy of the archive, or start a new run", usage=True) from None

    @property
    def broken(self) -> dict[int, tuple[Condition, ...]]:
        """Scale, rising, to the conditions that do not hold; only scales that have one."""
        return self._in_state(State.BROKEN)

    @property
    def unmade(self) -> dict[int, tuple[Condition, ...]]:
        """Scale, rising, to the conditions that were not made; only scales that have one."""
        return self._in_state(State.NOT_MADE)

    def _in_state(self, state: State) -> dict[int, tuple[Condition, ...]]:
        found = {x: tuple(c for c in every if c.state is state) for x, every in sorted(self.checks.items())}
        return {x: conditions for x, conditions in found.items() if conditions}

    @property
    def price(self) -> Price | None:
        """What the machine costs; ``None`` where nobody said it, and where it cannot be read."""
        try:
            return read_price(self.spec.price)
        except ValueError:
            return None

    @property
    def unsafe(self) -> tuple[Durability, ...]:
        """Switches by which committed transactions may be lost."""
        return tuple(switch for switch in self.durability if not switch.safe)

    @property
    def ceiling_tps(self) -> float:
        """Rate of the client against an engine that answers at once; nan when it was not calibrated."""
        return self.calibration.ceiling_tps if self.calibration else nan

    @property
    def in_force(self) -> str:
        """The isolation level of the transactions."""
        return self.isolation or self.spec.isolation

    def item(self, layer: str, name: str) -> str:
        """What the system stack says of ``name`` in ``layer``; empty where it says nothing."""
        return next((str(one.items[name]) for one in self.stack if one.layer == layer and name in one.items), "")

    def of_stage(self, stage: str) -> Self:
        """The same for one stage: a run asks for one cycle of a load that is not repeated, and was calibrated with
        the first load of its stages."""
        update: dict[str, Any] = {}
        if not all(one.repeated for one in self.stages if one.name == stage):
            update["spec"] = self.spec.model_copy(update={"cycles": 1})
        if next((one.name for one in self.stages if one.work == "load"), stage) != stage:
            update["calibration"] = None
            update["nodes"] = tuple(node.model_copy(update={"calibration": None}) for node in self.nodes)
        return self.model_copy(update=update)

    def at(self, clients: int) -> Self:
        """The same as if ``clients`` had been the only number of clients."""
        update: dict[str, Any] = {
            "spec": self.spec.at(clients),
            "calibration": self.calibration.at(clients) if self.calibration else None,
            "nodes": tuple(
                node.model_copy(update={"calibration": node.calibration.at(clients)}) if node.calibration else node
                for node in self.nodes
            ),
        }
        return self.model_copy(update=update)
