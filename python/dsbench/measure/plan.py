"""The cycles of a scale: what a workload's stages come to under the settings of a run."""

from __future__ import annotations

from collections.abc import Sequence

from dsbench.dataclass import dataclass
from dsbench.measure.loaders import Stage
from dsbench.spec import RunSpec


@dataclass(frozen=True)
class PlannedCycle:
    """A cycle that a scale asks for."""

    number: int
    """From 1, on through all stages of the scale."""
    stage: Stage
    clients: int | None
    """Of each node; ``None`` where the stage's groups say it."""
    cold: bool = False
    """Whether the server is restarted before it, and its files leave the page cache."""
    rate: float | None = None
    """Demanded starts per second; ``None``: as the run says."""
    duration: float | None = None
    """In s; ``None``: as the run says."""
    level: int | None = None
    """Of a graduated load, per cent of the capacity."""


def planned(stages: Sequence[Stage], spec: RunSpec, done: int = 0) -> tuple[PlannedCycle, ...]:
    """The cycles that are left when those up to number ``done`` were finished; with ``precision`` all there may be.

    Where one load follows another on the same database none of them can be left out: all are run again, with
    numbers that go on.
    """
    wanted: list[tuple[Stage, int | None, bool]] = []
    for stage in (one for one in stages if one.work == "load"):
        each = [n for n in spec.client_numbers for _ in range(spec.largest)] if stage.repeated else [None]
        wanted += [(stage, clients, False) for clients in (() if stage.cycles else each)]
        wanted += [(stage, None, at % stage.cold_each == 0) for at in range(stage.cycles)]
    if can_go_on(stages):
        return tuple(PlannedCycle(n, *cycle) for n, cycle in enumerate(wanted, start=1) if n > done)
    return tuple(PlannedCycle(done + n, *cycle) for n, cycle in enumerate(wanted, start=1))


def can_go_on(stages: Sequence[Stage]) -> bool:
    """Whether a scale that was cut short can go on with its next cycle on a new database."""
    return sum(stage.work == "load" for stage in stages) <= 1 and not any(stage.work == "work" for stage in stages)


def several_loads(stages: Sequence[Stage]) -> bool:
    """Whether a cycle has to be told by its stage."""
    return sum(stage.work == "load" for stage in stages) > 1
