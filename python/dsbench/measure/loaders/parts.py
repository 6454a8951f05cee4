"""A cycle that is to be run, and what became of it: what a run has in common with whoever makes its load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dsbench.measure.loaders.bench import Bench
from dsbench.measure.loaders.cycle import CycleResult
from dsbench.measure.loaders.stages import Stage
from dsbench.read.stats.machine import Used
from dsbench.spec import RunSpec

MISSED: Final = "it was not armed in time for the common start"
"""Why a node that is well takes no part in a cycle."""


@dataclass(frozen=True)
class Wanted:
    """A cycle that is to be run."""

    spec: RunSpec
    """With one number of threads: that of the cycle."""
    bench: Bench
    stage: Stage
    scale: int
    number: int
    """From 1."""
    seed: int
    trace: Path | None
    """Where to write the trace, if at all."""
    roots: Mapping[int, str] = field(default_factory=dict)
    """By pid on the machine of dsbench run: what is no other program there (``monitors.Known``)."""


@dataclass(frozen=True)
class Course:
    """How the cycle went on the node. Times in ns; offsets are the coordinator's clock minus the node's."""

    ended: str
    """"complete", or why the node stopped before the end of the cycle."""
    clock_offset_ns: int = 0
    clock_error_ns: int = 0
    """Half of the shortest round trip: the start was wrong by no more than this and the drift."""
    clock_drift_ns: int = 0
    """Offset after the cycle minus offset before it."""
    armed_before_ns: int = 0
    """How long before the start all clients were armed."""
    start_late_ns: int | None = None
    """First start of a transaction after the agreed start, by the node's clock; ``None`` in the open loop, whose
    first transaction is due later."""
    still_ns: int = 0
    """How long within the cycle the node's process stood still."""


@dataclass(frozen=True)
class NodeResult:
    """One node's part of a cycle."""

    node: str
    result: CycleResult
    course: Course = field(default_factory=lambda: Course("complete"))
    samples: Sequence[Mapping[str, Any]] = ()
    """Of the node's monitors: columns of the table ``monitors`` without its key."""
    machine: Used | None = None
    """What the node's machine did meanwhile; ``None`` where it cannot be known, or is not the node's to tell."""


@dataclass(frozen=True)
class Part:
    """What became of one node's part of a cycle."""

    node: str
    why: str
    """Empty when it is whole; else why it is not counted."""
    found: NodeResult | None
    """What it did, also when it is not counted; ``None`` when nobody knows."""
    loaded: bool
    """Whether it may have committed anything."""

    @property
    def state(self) -> str:
        """complete; partial: known but not counted; lost: nobody knows what it did; absent: it took no part."""
        if not self.why:
            return "complete"
        if self.found is not None:
            return "partial"
        return "lost" if self.loaded else "absent"


def whole_results(parts: Sequence[Part]) -> list[CycleResult]:
    """What the nodes did whose parts count."""
    return [part.found.result for part in parts if part.found is not None and not part.why]


def missed(parts: Sequence[Part]) -> bool:
    """Whether a cycle has come to nothing because its nodes were not ready for the start: it can be tried again."""
    return all(part.why and _idle(part) for part in parts) and any(part.why == MISSED for part in parts)


def _idle(part: Part) -> bool:
    if part.found is None:
        return not part.loaded
    return not any(part.found.result.committed_in_database()) and not part.found.result.total("unknown")
