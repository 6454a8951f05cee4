"""Which cycles of a scale need not be run: those of series whose median rate is known precisely enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dsbench.archive import Archive
from dsbench.measure.loaders.parts import Part
from dsbench.measure.plan import Planned
from dsbench.read.stats.index import share
from dsbench.read.stats.precision import enough, half_width
from dsbench.spec import RunSpec

_Series = tuple[str, int | None]
"""Stage, threads of each node."""


def wanted(spec: RunSpec, scale: int) -> float | None:
    """How precisely (share 0-1) the rate of ``scale`` has to be known; ``None`` where the number of cycles is told."""
    if spec.precision is None:
        return None
    asked = spec.precision / 100
    return share(asked, spec.scales, scale) if spec.precision_of == "index" else asked


class Enough:
    """The cycles of one scale so far."""

    def __init__(self, spec: RunSpec, scale: int) -> None:
        self._spec = spec
        self._wanted = wanted(spec, scale)
        self._committed: dict[_Series, list[int]] = defaultdict(list)

    @classmethod
    def of(cls, spec: RunSpec, archive: Path, scale: int) -> Enough:
        """With the cycles that the archive of a run already has."""
        found = cls(spec, scale)
        if spec.precision is None:
            return found
        totals: dict[tuple[str, int, int], int] = defaultdict(int)
        for row in Archive.open(archive).table("cycles").to_pylist():
            if row["scale"] == scale:
                totals[row["stage"], row["threads"], row["cycle"]] += row["committed"]
        for stage, threads, cycle in sorted(totals, key=lambda key: key[2]):
            found._committed[stage, threads].append(totals[stage, threads, cycle])
        return found

    def add(self, cycle: Planned, parts: Sequence[Part]) -> None:
        """The parts of a cycle that has ended."""
        whole = [part.found.result for part in parts if part.found is not None and not part.why]
        self._committed[cycle.stage.name, cycle.threads].append(sum(part.total("committed") for part in whole))

    def left(self, cycles: Sequence[Planned]) -> tuple[Planned, ...]:
        """Those of ``cycles`` that are still needed."""
        return tuple(cycle for cycle in cycles if not self.reached(cycle))

    def reached(self, cycle: Planned) -> bool:
        """Whether the series of ``cycle`` needs no further one; a stage that is not repeated needs its own."""
        if self._wanted is None or cycle.threads is None:
            return False
        return enough(self._rates(cycle), self._wanted, self._spec.cycles)

    def told(self, cycle: Planned) -> str:
        """The state of the series of ``cycle`` in words, for the log."""
        rates = self._rates(cycle)
        known = f"the median rate is known within ±{half_width(rates):.1%} (95 %) after {rates.size} cycles"
        of_index = self._wanted is not None and self._spec.precision_of == "index"
        return known + (f"; its share of the index is ±{self._wanted:.1%}" if of_index else "")

    def _rates(self, cycle: Planned) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        committed = self._committed.get((cycle.stage.name, cycle.threads), [])
        return np.array(committed, dtype=float) / self._spec.duration
