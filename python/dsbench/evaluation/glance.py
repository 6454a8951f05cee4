"""What a reader wants to know first: the best rate, what kept it from being higher, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from typing import Final

import numpy as np

from dsbench.analysis.values import Interval, ScaleResult
from dsbench.archive import RunRecord
from dsbench.evaluation.evaluated import Evaluation

OF_CEILING: Final = 0.7
"""Share of the client's own ceiling from which on the client is said to limit."""
OF_PACE: Final = 0.95
"""The same of the rate that was asked for."""
LEAST_IDLE: Final = 0.1
"""Share of the CPUs: with less of them idle, they are said to limit."""
MOST_FAILED: Final = 0.2
"""Share of attempts that failed, beyond which collisions are said to limit."""
MOST_IO: Final = 0.5
"""Share of the time in which something waited for storage, beyond which it is said to limit.

All five are rules of thumb for one sentence, no measurement: the figures that it names stand beside it.
"""


@dataclass(frozen=True)
class Best:
    """The series and the scale with the highest rate."""

    part: Evaluation
    row: ScaleResult

    @property
    def interval(self) -> Interval | None:
        """Of the median rate, at 95 % over its cycles; ``None`` where there are too few."""
        found = self.part.intervals.get(self.row.scale)
        return found if found is not None and isfinite(found.low) else None


def best(evaluation: Evaluation) -> Best | None:
    """Among what is not void; ``None`` where nothing was committed."""
    parts = list(evaluation.series.values()) or [evaluation]
    sound = [Best(part, row) for part in parts for row in part.scales if row.scale not in part.void_scales]
    return max((one for one in sound if one.row.rate_median_tps > 0), key=lambda one: one.row.rate_median_tps,
               default=None)  # fmt: skip


def limit(found: Best, run: RunRecord) -> str:
    """What kept the rate from being higher, in a sentence with the figures that it rests on."""
    rate, scale, part = found.row.rate_median_tps, found.row.scale, found.part
    spec, ceiling = run.spec, run.at(part.threads).ceiling_tps if part.threads else run.ceiling_tps
    if spec.rate and rate >= OF_PACE * spec.rate:
        return f"the pace: {spec.rate:,.6g} starts per second were asked for"
    if spec.pace == "terminals":
        return "the pace: people at terminals key in and think"
    if ceiling > 0 and rate >= OF_CEILING * ceiling:
        return f"dsbench itself: with a database that costs nothing it makes {ceiling:,.0f} tps"
    cpus, busy, server, client, waited = _machine(part, scale)
    used = f"{busy:.1f} of {cpus} CPUs were in use" + (f", {server:.1f} by the server" if isfinite(server) else "")
    used += f", {client:.1f} by dsbench" + (" with the database in it" if run.embedded else "") if cpus else ""
    if cpus and busy >= (1 - LEAST_IDLE) * cpus:
        return f"the CPUs: {used}"
    if (failed := 1 - part.success_share.get(scale, 1.0)) > MOST_FAILED:
        return f"collisions: {failed:.0%} of the attempts failed"
    if waited > MOST_IO:
        return f"storage: something waited for it in {waited:.0%} of the time; {used}"
    if not cpus:
        return "not known: the archive does not tell what the machine did"
    storage = f", and storage was waited for in {waited:.0%} of the time" if isfinite(waited) else ""
    why = "writers take turns" if run.dialect.single_writer and part.threads > 1 else \
        "waiting for locks, flushes or round trips is left"  # fmt: skip
    return f"neither CPUs nor storage: {used}{storage}; {why}"


def _machine(part: Evaluation, scale: int) -> tuple[int, float, float, float, float]:
    """CPUs of the machine of dsbench run; how many were busy, of the server, of the client; share with waits for
    storage. Means over the cycles; 0 CPUs where the archive does not tell."""
    uses = [one.use for one in part.machine.get(scale, ()) if not one.node]
    if not uses:
        return 0, nan, nan, nan, nan
    rows = [(use.cpus_of(use.idle_ns), use.cpus_of(use.server_ns), use.cpus_of(use.run_ns),
             use.pressure(use.io_pressure_ns)) for use in uses]  # fmt: skip
    idle, server, client, waited = (float(np.mean(column)) for column in zip(*rows, strict=True))
    return uses[0].cpus, uses[0].cpus - idle, server, client, waited


def sureness(found: Best) -> str:
    """How far the best rate may be off."""
    cycles = len(found.part.cycle_rates.get(found.row.scale, ()))
    counted = f"{cycles} cycle" + "s" * (cycles != 1)
    row, interval = found.row, found.interval
    if interval is None:
        between = f" from {row.rate_min_tps:,.4g} to {row.rate_max_tps:,.4g} tps" if cycles > 1 else ""
        return f"{counted}{between}: too few for an interval"
    half = interval.high / interval.value - 1
    return f"± {half:.1%} at {interval.level:.0%}, over {counted}: {interval.low:,.4g} to {interval.high:,.4g} tps"
