"""What a run was asked to do, as its archive says it: what a later version adds is kept as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from dsbench.spec import LEVELS, terminals_of
from dsbench.spec.events import Event, events
from dsbench.spec.legs import Leg, legs
from dsbench.spec.objective import Objective, objectives

Whole = Annotated[int, Field(ge=0, le=2**31)]
Real = Annotated[float, Field(ge=0, le=10**9, allow_inf_nan=False)]
"""Numbers that a run can have; what is computed from them has room for them."""


class Recorded(BaseModel):
    """A part of ``run.json``. Fields that it lacks have defaults, those of a later version are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    def described(self) -> dict[str, Any]:
        """As JSON values: what was read or set, without the defaults."""
        return self.model_dump(mode="json", exclude_unset=True)

    def changed(self, **values: Any) -> Self:
        """The same with other ``values``, which are checked as if they had been read."""
        known = {name: getattr(self, name) for name in type(self).model_fields if name in self.model_fields_set}
        return type(self).model_validate({**known, **(self.model_extra or {}), **values})


class AskedTarget(Recorded):
    """The database that was addressed; the URL holds no password."""

    url: str = ""
    settings: dict[str, Any] = Field(default_factory=dict)
    version: str | None = None
    directory: str | None = None


class Asked(Recorded):
    """The specification of a run; units as in ``RunSpec``."""

    target: AskedTarget = AskedTarget()
    workload: str = ""
    label: str = ""
    workload_settings: dict[str, str] = Field(default_factory=dict)
    limits: dict[str, str] = Field(default_factory=dict)
    storage: dict[str, str] = Field(default_factory=dict)
    probes: str = "none"
    perf: str = "none"
    scales: tuple[Whole, ...] = ()
    cycles: Whole = 0
    precision: Real | None = None
    """In per cent."""
    precision_of: str = "rates"
    min_duration: Real | None = None
    """In seconds."""
    refine: str = "none"
    duration: Annotated[float, Field(gt=0, le=10**9, allow_inf_nan=False)] = 1.0
    """Seconds of a cycle."""
    clients: Whole | tuple[Whole, ...] = 1
    peak: bool = False
    objective: str = ""
    graduated: bool = False
    price: str = ""
    power: str = ""
    connections: Whole = 1
    nodes: Whole = 0
    driver: str = "own"
    isolation: str = ""
    retry: bool = False
    max_tries: Whole = 0
    existing: bool = False
    reconnect: bool = False
    rate: Real | None = None
    load: str = ""
    event: str = ""
    reads: str = ""
    arrival: str = "poisson"
    pace: str = "none"
    terminals: Whole | None = None
    ramp_up: Real = 0.0
    levels: tuple[Real, ...] = LEVELS
    seed: int | None = None
    max_cycles: Whole = 40
    grow: bool = False
    find_ramp_up: bool = False

    _order: tuple[str, ...] = PrivateAttr(())

    @model_validator(mode="wrap")
    @classmethod
    def _in_order(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        made = handler(values)
        if isinstance(values, Mapping):
            made._order = tuple(values)
        return made

    @model_serializer(mode="wrap")
    def _as_it_came(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = handler(self)
        return {name: values[name] for name in dict.fromkeys((*self._order, *values)) if name in values}

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What the searched rate, or numbers of clients, had to keep; empty where nothing was asked, and where it
        cannot be read."""
        try:
            return objectives(self.objective)
        except ValueError:
            return ()

    @property
    def legs(self) -> tuple[Leg, ...]:
        """Of a load whose rate changed; none of another one, and where they cannot be read."""
        try:
            return legs(self.load)
        except ValueError:
            return ()

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened to the server in each cycle; nothing where that cannot be read."""
        try:
            return events(self.event)
        except ValueError:
            return ()

    @property
    def searches(self) -> bool:
        """Whether the highest rate with the objective was searched; several numbers of clients are judged by it."""
        return bool(self.objective) and len(self.client_numbers) == 1

    def at(self, clients: int) -> Self:
        """The same with one number of clients, which searches nothing where the whole did not."""
        return self.model_copy(update={"clients": clients, "objective": self.objective if self.searches else ""})

    @property
    def client_numbers(self) -> tuple[int, ...]:
        """Numbers of clients, rising; one at least."""
        return self.clients if isinstance(self.clients, tuple) else (self.clients,)

    def terminals_at(self, scale: int, per_unit: int | None) -> int | None:
        """Terminals of all nodes together at ``scale``; ``None`` without keying and thinking times.

        ``per_unit``: the workload's default for each unit of scale.
        """
        return terminals_of({"pace": self.pace, "terminals": self.terminals}, scale, per_unit)
