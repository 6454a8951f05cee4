"""Population: rows per second to the same end state as ``pgbench -i``: rows of 100 bytes, keys, statistics."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench import pgbench
from bench.place import UNIX, Place, populate
from bench.sweeps import Spread
from dsbench.generator import Target

ROWS_PER_SCALE = 100_011


@dataclass(frozen=True)
class Populated:
    """What one side needed, as medians over its populations."""

    rows_per_s: float
    phases_s: Mapping[str, float]
    """Seconds of each phase, by the side's own names."""


@dataclass(frozen=True)
class Population:
    """Both sides and the paired ratios of their rows per second."""

    scale: int
    ours: Populated
    theirs: Populated
    ratio: Spread


@dataclass(frozen=True)
class _Once:
    """One population: all its seconds, and those of its phases."""

    elapsed_s: float
    phases_s: Mapping[str, float]


def measure(place: Place, scale: int, pairs: int) -> Population:
    """Populates at ``scale`` by dsbench and by pgbench in turn. The place of the selects is dropped by it."""
    ours: list[_Once] = []
    theirs: list[_Once] = []
    target = Target(place.url(UNIX))
    for pair in range(pairs):
        for first in (pair % 2 == 0, pair % 2 == 1):
            # What the one before left in memory is written first: nobody pays for another's rows.
            target.fetch("CHECKPOINT")
            if first:
                target.drop()
                target.create("bench")
                phases = populate(target, scale)
                ours.append(_Once(sum(phases.values()), phases))
            else:
                done = pgbench.initialise(place, scale)
                theirs.append(_Once(done.elapsed_s, pgbench.phases(done)))
    target.close()
    ratio = Spread.of([b.elapsed_s / a.elapsed_s for a, b in zip(ours, theirs, strict=True)])
    return Population(scale, _medians(ours, scale), _medians(theirs, scale), ratio)


def _medians(found: Sequence[_Once], scale: int) -> Populated:
    rate = statistics.median(scale * ROWS_PER_SCALE / once.elapsed_s for once in found)
    names = found[0].phases_s
    return Populated(rate, {name: statistics.median(once.phases_s[name] for once in found) for name in names})
