"""What a reader wants to know first: the best rate, what kept it from being higher, what failed, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import TYPE_CHECKING, Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import format_number, format_share
from dsbench.read.subjects.connections import ConnectionsResult
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.machine import MOST_OTHERS, CycleUse, MachineUse
from dsbench.stats.precision import median_interval
from dsbench.stats.values import Floats, Interval, ScaleResult

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

OF_CEILING: Final = 0.7
"""Share of the client's own ceiling from which on the client is said to limit."""
OF_PACE: Final = 0.95
"""The same of the rate that was asked for."""
LEAST_IDLE: Final = 0.1
"""Share of the CPUs: with less of them idle, they are said to limit."""
MOST_FAILED: Final = 0.2
"""Share of attempts that failed, beyond which that is said to limit."""
MOST_IO: Final = 0.5
"""Share of the time in which something waited for storage, beyond which it is said to limit.

All five are rules of thumb for one sentence, no measurement: the figures that it names stand beside it.
"""
_TOLD: Final = 0.05
"""Share of the CPUs from which on what others took of them is told."""


@dataclass(frozen=True)
class Best:
    """The series and the scale with the highest rate."""

    part: Evaluation
    row: ScaleResult
    fresh: int = 0
    """Of a search for a peak the cycles, from the last, that tell its rate; 0 for all of them."""

    @property
    def rates(self) -> Floats:
        """Of the cycles that tell the rate."""
        every = self.part.of(RateResult).cycle_rates.get(self.row.scale, np.zeros(0))
        return every[-self.fresh :]

    @property
    def rate_tps(self) -> float:
        """Their median."""
        return float(np.median(self.rates)) if self.fresh else self.row.rate_median_tps

    @property
    def interval(self) -> Interval | None:
        """Of the median rate, at 95% over its cycles; ``None`` where there are too few."""
        every = self.part.of(RateResult).intervals.get(self.row.scale)
        found = median_interval(self.rates) if self.fresh else every
        return found if found is not None and isfinite(found.low) else None


def is_candidate(evaluation: Evaluation, part: Evaluation, scale: int) -> bool:
    """Whether the highest rate may be that of ``part`` at ``scale``: nothing is void, and of several numbers of clients
    that were judged by an objective it is the answer, or the fewest where all miss it. Of a search for a peak it is the
    number that was found."""
    if scale in part.of(RateResult).void_scales:
        return False
    if count_fresh(evaluation, scale) and part.clients != evaluation.of(RateResult).peaks[scale].clients:
        return False
    most = evaluation.of(ConnectionsResult).most_clients
    kept = {x: one.clients for x, one in most.items() if one.clients} or {x: one.tried[0].clients
        for x, one in most.items()}
    return not most or part.clients == kept.get(scale)


def count_fresh(evaluation: Evaluation, scale: int) -> int:
    """Of a search for a peak, the cycles that tell its rate; 0 where there are none that did not choose it, too."""
    found = evaluation.of(RateResult).peaks.get(scale)
    return found.fresh if found is not None else 0


def best(evaluation: Evaluation) -> Best | None:
    """Among the candidates; ``None`` where nothing was committed."""
    parts = list(evaluation.series.values()) or [evaluation]
    sound = [Best(part, row, count_fresh(evaluation, row.scale)) for part in parts
        for row in part.of(RateResult).scales if is_candidate(evaluation, part, row.scale)]
    return max((one for one in sound if one.rate_tps > 0), key=lambda one: one.rate_tps, default=None)


def ceiling_tps(found: Best, run: RunRecord) -> float:
    """What the client made before the run with a database that costs nothing, in the stage and with as many clients as
    ``found``; nan where it was not measured so, or where the run was faster, which shows that it is no ceiling."""
    calibration = run.of_stage(found.part.stage).calibration
    measured = calibration.ceilings if calibration else ()
    rates = [one.rate_tps for one in measured if one.against == measured[-1].against
             and one.clients == found.part.clients]  # fmt: skip
    return rates[-1] if rates and rates[-1] >= found.row.rate_max_tps else nan


@dataclass(frozen=True)
class Limit:
    """What kept the rate from being higher."""

    words: str
    """With the figures that they rest on."""
    foreign: bool = False
    """Whether it was neither the database nor dsbench: the rate is no figure of them."""
    paced: bool = False
    """Whether it was asked for, so that no cause of the database's is looked for."""


def limit(found: Best, run: RunRecord) -> Limit:
    """What kept the rate from being higher, as far as it was measured."""
    rate, scale, part = found.rate_tps, found.row.scale, found.part
    if taken := find_taken(part, scale, run.embedded):
        words = "; ".join(one.say() for one in taken)
        return Limit(f"not the database alone: {words}. Do not use this figure", foreign=True)
    spec, ceiling = run.spec, ceiling_tps(found, run)
    if spec.legs:
        return Limit("the pace: the legs of --load set when transactions start", paced=True)
    if spec.rate and rate >= OF_PACE * spec.rate:
        return Limit(f"the pace: {spec.rate:,.6g} starts per second were requested", paced=True)
    if spec.pace == "terminals":
        return Limit("the pace: terminals with keying and think times", paced=True)
    if rate >= OF_CEILING * ceiling:
        return Limit(f"dsbench itself: against an engine that answers at once it made {ceiling:,.0f} tps before the "
                     "run")
    cpus, busy, server, client, waited = _machine(part, scale)
    used = f"{busy:.1f} of {cpus} CPUs were in use" + (f", {server:.1f} by the server" if isfinite(server) else "")
    used += f", {client:.1f} by dsbench" + (" including the embedded database" if run.embedded else "") if cpus else ""
    if cpus and busy >= (1 - LEAST_IDLE) * cpus:
        return Limit(f"the CPUs: {used}")
    if (failed := 1 - part.of(ErrorsResult).success_share.get(scale, 1.0)) > MOST_FAILED:
        return Limit(f"failures: {failed:.0%} of the attempts failed")
    if waited > MOST_IO:
        return Limit(f"storage: tasks waited for it in {waited:.0%} of the time; {used}")
    if not cpus:
        return Limit("not known: the archive has no samples of the machine")
    storage = f", and tasks waited for storage in {waited:.0%} of the time" if isfinite(waited) else ""
    turns = "; this database allows one writer at a time" if run.dialect.single_writer and part.clients > 1 else ""
    return Limit(f"not known: {used}{storage}; nothing else was measured{turns}")


def failures(evaluation: Evaluation, found: Best) -> str:
    """The share of attempts that failed, where any did: beside the best rate, and the largest of all."""
    parts = list(evaluation.series.values()) or [evaluation]
    shares = [(1 - share, scale, part) for part in parts
        for scale, share in part.of(ErrorsResult).success_share.items()]
    worst, scale, part = max(shares, key=lambda one: one[0], default=(0.0, 0, found.part))
    if worst <= 0:
        return ""
    here = 1 - found.part.of(ErrorsResult).success_share.get(found.row.scale, 1.0)
    at = f"at scale {scale}" + (f" with {part.clients} clients" if part.clients != found.part.clients else "")
    beside = f"{format_share(here)} of the attempts"
    return beside if worst <= here else f"{beside}; {format_share(worst)} {at}"


@dataclass(frozen=True)
class Taken:
    """CPUs of a machine that others used while a scale was measured, in the mean over its cycles."""

    who: str
    """``other programs``, or ``programs other than dsbench`` where the server is not told from them."""
    others: float
    stolen: float
    """What the hypervisor took."""
    cpus: int
    """All that the machine has."""
    node: str
    """Remote node; empty for the machine of dsbench run."""
    scale: int

    def say(self, alike: Sequence[Taken] = ()) -> str:
        """``other programs used 1.7 and the hypervisor took 0.5 of 4 CPUs``; of several ``alike`` from the least to the
        most."""
        parts = {f"{self.who} used": [one.others for one in alike or (self,)],
                 "the hypervisor took": [one.stolen for one in alike or (self,)]}  # fmt: skip
        much = {what: values for what, values in parts.items() if max(values) > _TOLD * self.cpus}
        said = [f"{what} {_span(values)}" for what, values in (much or parts).items()]
        return f"{' and '.join(said)} of {self.cpus} CPUs{f' of {self.node}' if self.node else ''}"


def find_taken(part: Evaluation, scale: int, embedded: bool) -> list[Taken]:
    """What other programs and the hypervisor took of the CPUs of each machine; none where it was little."""
    found: dict[str, list[MachineUse]] = {}
    for one in part.of(MachineResult).machine.get(scale, ()):
        found.setdefault(one.node, []).append(one.use)
    taken = []
    for node, uses in found.items():
        span = sum(use.span_ns for use in uses) or 1
        others, stolen = (sum(getattr(use, name) for use in uses) / span for name in ("others_ns", "stolen_ns"))
        if others + stolen > MOST_OTHERS * uses[0].cpus:
            taken.append(Taken(_name_others(uses, embedded), others, stolen, uses[0].cpus, node, scale))
    return taken


def find_taken_by_cycle(part: Evaluation, scale: int, embedded: bool) -> list[tuple[Taken, ...]]:
    """The same of each cycle, by machine; empty where it was little on all of them."""
    cycles: dict[int, list[CycleUse]] = {}
    for one in part.of(MachineResult).machine.get(scale, ()):
        cycles.setdefault(one.cycle, []).append(one)
    return [
        tuple(Taken(_name_others([one.use], embedded), one.use.cpus_of(one.use.others_ns),
                    one.use.cpus_of(one.use.stolen_ns), one.use.cpus, one.node, scale) for one in uses if one.disturbed)
        for uses in cycles.values()
    ]  # fmt: skip


def _name_others(uses: Sequence[MachineUse], embedded: bool) -> str:
    known = embedded or all(use.server_ns is not None for use in uses)
    return "other programs" if known else "programs other than dsbench"


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2g}", f"{max(values):.2g}"
    return low if low == high else f"{low} to {high}"


def _machine(part: Evaluation, scale: int) -> tuple[int, float, float, float, float]:
    """CPUs of the machine of dsbench run; how many were busy, of the server, of the client; share with waits for
    storage. Means over the cycles; 0 CPUs where the archive does not tell."""
    uses = [one.use for one in part.of(MachineResult).machine.get(scale, ()) if not one.node]
    if not uses:
        return 0, nan, nan, nan, nan
    rows = [(use.cpus_of(use.idle_ns), use.cpus_of(use.server_ns), use.cpus_of(use.run_ns),
             use.pressure(use.io_pressure_ns)) for use in uses]  # fmt: skip
    idle, server, client, waited = (float(np.mean(column)) for column in zip(*rows, strict=True))
    return uses[0].cpus, uses[0].cpus - idle, server, client, waited


def sureness(found: Best) -> str:
    """How far the best rate may be off."""
    rates, interval = found.rates, found.interval
    counted = f"{len(rates)} cycle" + "s" * (len(rates) != 1)
    if interval is None:
        between = f" from {_rate(min(rates))} to {_rate(max(rates))} tps" if len(rates) > 1 else ""
        return f"{counted}{between}: too few for an interval"
    ends = f"{_rate(interval.low)} to {_rate(interval.high)} tps"
    return f"± {interval.reach:.1%} at {interval.level:.0%}, over {counted}: {ends}"


def _rate(rate_tps: float) -> str:
    return format_number(rate_tps, digits=4)
