"""Population: rows per second to the same end state as ``pgbench -i``: rows of 100 bytes, keys, statistics."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from bench import pgbench
from bench.place import UNIX, Place, populate
from bench.sweeps import Spread
from dsbench.generator import Target

ROWS_PER_SCALE = 100_011


@dataclass(frozen=True)
class Population:
    """Rows per second of both, as medians, and the paired ratios."""

    scale: int
    ours_per_s: float
    theirs_per_s: float
    ratio: Spread


def measure(place: Place, scale: int, pairs: int) -> Population:
    """Populates at ``scale`` by dsbench and by pgbench in turn. The place of the selects is dropped by it."""
    ours: list[float] = []
    theirs: list[float] = []
    target = Target(place.url(UNIX))
    for pair in range(pairs):
        for first in (pair % 2 == 0, pair % 2 == 1):
            # What the one before left in memory is written first: nobody pays for another's rows.
            target.fetch("CHECKPOINT")
            if first:
                target.drop()
                target.create("bench")
                ours.append(scale * ROWS_PER_SCALE / populate(target, scale))
            else:
                theirs.append(scale * ROWS_PER_SCALE / pgbench.initialise(place, scale).elapsed_s)
    target.close()
    ratio = Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])
    return Population(scale, statistics.median(ours), statistics.median(theirs), ratio)
