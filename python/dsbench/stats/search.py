"""The highest rate at which an objective holds, and the latency at each rate that was tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, nan
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.format import format_number
from dsbench.spec.objective import SEARCH_DURATIONS, Objective
from dsbench.stats import histogram as hist
from dsbench.stats.capacity import Capacity, Search, Step, lowest
from dsbench.stats.cycles import CycleFigures, KindOutcomes
from dsbench.stats.machine import describe_cpu
from dsbench.stats.values import Doubt, known

PRECISION: Final = 5.0
"""Per cent, of a search where nobody says otherwise."""
_BETWEEN_S: Final = 1.0
"""What connecting and cleaning take for each cycle of a search, about."""
QUANTILES: Final = (0.5, 0.95, 0.99)
_BELOW: Final = 0.01
"""By which share a rate lies lower at least, so that cycles are repeated there."""
_NEAR: Final = 0.25
"""By which share of the capacity the rate of a cycle may differ from it: only of such cycles CPU times are compared."""
REMEDY: Final = "measure on a quiet machine, or with a longer --duration"
"""Where the steps of a search do not tell a capacity, or hardly do."""
MOST_REACH: Final = 0.25
"""Half the relative width of a capacity's interval, beyond which it is hardly known."""


@dataclass(frozen=True)
class Tried:
    """A cycle of a search."""

    cycle: int
    demanded: float
    """Starts per second."""
    achieved: float
    """Committed per second."""
    seconds: float
    quantiles_ms: tuple[float, ...]
    """Response times at ``QUANTILES``; nan where too few transactions tell them."""
    steps: tuple[Step, ...]
    """How each objective judges it."""
    keeps: bool
    """Whether it kept them all."""
    cpu_us: float = nan
    """The server's CPU time per transaction; nan where it is not known."""
    still_s: float = 0.0
    """How long what made the load stood still: where it did, the cycle counts for nothing."""

    @property
    def holds(self) -> str:
        return "left out" if self.still_s else "yes" if self.keeps else "no"


@dataclass(frozen=True)
class Load:
    """The search at one scale."""

    tried: tuple[Tried, ...]
    """In the order of the cycles."""
    objective: Objective
    """That which holds least far; of several the first where none is known."""
    capacity: Capacity | None
    """``None`` where no step kept the objectives, or none missed them."""
    at: int = 0
    """Number of that objective among the steps of a cycle."""

    @property
    def rate(self) -> float:
        return self.capacity.rate if self.capacity else nan

    @property
    def words(self) -> str:
        """``6,200 tps with 99% below 20 ms (5,900 to 6,450)``."""
        found = self.capacity
        if found is None:
            return f"no rate with {self.objective.words} is known: {self.extent}"
        return f"{say_rate(found.rate)} tps with {self.objective.words} ({self.ends})"

    @property
    def counted(self) -> tuple[Tried, ...]:
        """Those in which nothing stood still that makes the load."""
        return tuple(one for one in self.tried if not one.still_s)

    @property
    def last(self) -> tuple[Tried, ...]:
        """Those of them at the rate of the last cycle."""
        return tuple(one for one in self.counted if one.demanded == self.tried[-1].demanded)

    @property
    def broken(self) -> str:
        """That the last cycles, all together, missed the objective at the capacity or below; empty where they did not.

        Most of them may keep it, and one miss it by more than all are allowed.
        """
        steps = [one.steps[self.at] for one in self.last if one.steps]
        count = sum(step.count for step in steps)
        share = sum(step.missed for step in steps) / count if count else 0.0
        near = self.capacity is not None and self.tried[-1].demanded <= (1 + _BELOW) * self.rate
        if not near or share <= self.objective.allowed:
            return ""
        cycles = f"last {len(steps)} cycles" if len(steps) > 1 else "last cycle"
        miss = "miss" if len(steps) > 1 else "misses"
        rate = say_rate(self.tried[-1].demanded)
        return f"the {cycles}, at {rate}/s, {miss} it overall: {share:.3%}, allowed are {self.objective.allowed:.3%}"

    @property
    def is_open(self) -> bool:
        """Whether an end of the capacity's interval is not known."""
        return self.capacity is not None and not (self.capacity.low > 0 and self.capacity.high < inf)

    @property
    def lower(self) -> float:
        """Where to repeat the last cycles: at the rate that all cycles together tell now, where most of the last ones
        missed the objective and that rate lies below theirs; else 0."""
        last = self.last
        missed = sum(not one.keeps for one in last)
        below = self.capacity is not None and self.rate < (1 - _BELOW) * self.tried[-1].demanded
        return self.rate if 2 * missed > len(last) and below else 0.0

    @property
    def against(self) -> str:
        """What whole cycles say against the capacity: ``2 of 5 cycles below it missed the objective, and 1 of 8 above
        kept it``; empty where none does."""
        whole = [one for one in self.counted if one.steps[0].whole]
        below = [one.keeps for one in whole if one.demanded <= self.rate]
        above = [one.keeps for one in whole if one.demanded > self.rate]
        said = [f"{below.count(False)} of {len(below)} cycles below it missed the objective"] * (False in below)
        said += [f"{above.count(True)} of {len(above)} cycles above it kept the objective"] * (True in above)
        return ", and ".join(said)

    @property
    def extent(self) -> str:
        """What no step broke, or none kept: ``none of 14 rates from 67.2 to 2,030 tps keeps it``."""
        counted = self.counted or self.tried
        rates = sorted({one.demanded for one in counted})
        if len(rates) == 1:
            keeps = "keeps" if any(one.keeps for one in counted) else "does not keep"
            return f"the only rate, {say_rate(rates[0])} tps, {keeps} it"
        many = f"{len(rates)} rates from {say_rate(rates[0])} to {say_rate(rates[-1])} tps"
        if not any(one.keeps for one in counted):
            return f"none of {many} keeps it"
        if all(one.keeps for one in counted):
            return f"all of {many} keep it"
        best = max(one.achieved for one in counted if one.keeps)
        return f"{say_rate(best)} tps kept it, and too few steps to find the limit"

    @property
    def ends(self) -> str:
        """Of the interval: ``5,900 to 6,450``; ``6,450 or less`` where one is not known."""
        return say_ends(self.capacity.low, self.capacity.high) if self.capacity else say_ends(0.0, inf)


def say_ends(low: float, high: float) -> str:
    """An interval of a rate: ``5,900 to 6,450``; ``6,450 or less`` where one end is not known."""
    if low > 0 and high < inf:
        return f"{say_rate(low)} to {say_rate(high)}"
    if low > 0 or high < inf:
        return f"{say_rate(high)} or less" if high < inf else f"{say_rate(low)} or more"
    return "no interval is known"


def say_rate(value: float) -> str:
    """A rate that is known to three digits at best."""
    return format_number(float(f"{value:.3g}"), digits=3)


def plan_search(duration: float, ramp_up: float, precision: float | None, max_cycles: int) -> Search:
    """What a search keeps to: cycles of ``duration`` after ``ramp_up``, both in s, and ``precision`` in per cent."""
    budget_s = SEARCH_DURATIONS * duration
    return Search(duration, (precision or PRECISION) / 100, max_cycles, budget_s, ramp_up + _BETWEEN_S)


def sum_up(tried: Sequence[Tried], objectives: Sequence[Objective]) -> Load:
    """What the cycles ``tried`` tell."""
    steps = [[one.steps[at] for one in tried] for at in range(len(objectives))]
    at, capacity = lowest(steps, [(one.allowed, one.limit_ns / 1e9) for one in objectives]) or (0, None)
    return Load(tuple(tried), objectives[at], capacity, at)


def judge(cycle: CycleFigures, objectives: Sequence[Objective], whole_s: float, cpu_us: float = nan) -> Tried:
    """What a cycle at a rate says of ``objectives``; below ``whole_s`` seconds it only looked for the region."""
    demanded, seconds, still_s = float(cycle.rate_per_s or nan), cycle.duration_ns / 1e9, cycle.paused_ns / 1e9
    whole = seconds >= 0.99 * whole_s
    missed = (count_missed(one, cycle.kinds, cycle.response.get(one.kind), demanded) for one in objectives)
    steps = tuple(Step(demanded, seconds, count, late, whole, still_s > 0) for count, late in missed)
    values = cycle.response.get("")
    quantiles = tuple(
        hist.quantile_ns(values, q) / 1e6 if values is not None and known(q, values.count) else nan for q in QUANTILES
    )
    keeps = all(step.missed <= one.allowed * step.count for step, one in zip(steps, objectives, strict=True))
    achieved = cycle.committed / seconds
    return Tried(cycle.cycle, demanded, achieved, seconds, quantiles, steps, keeps, cpu_us, still_s)


def search(
    cycles: Sequence[CycleFigures], objectives: Sequence[Objective], whole_s: float,
    cpu_us: Mapping[int, float] | None = None,
) -> Load | None:
    """What the ``cycles`` of one scale say of ``objectives``; ``None`` where none of them belongs to a search.

    Those of less than ``whole_s`` seconds only looked for the region; ``cpu_us`` is the server's CPU time per
    transaction by number of the cycle.
    """
    found = [judge(one, objectives, whole_s, (cpu_us or {}).get(one.cycle, nan)) for one in cycles if one.searched]
    return sum_up(found, objectives) if found and objectives else None


def count_missed(
    objective: Objective, kinds: Mapping[str, KindOutcomes], times: hist.Histogram | None, demanded: float
) -> tuple[float, float]:
    """How many transactions of the objective's kind were due, and how many of them missed it.

    A start that was due and never made misses it, but for those that may have been waiting at the end for as long as
    the objective allows. Which kind it would have been nobody knows: each kind has its share. A transaction that failed
    for good misses it as well.
    """
    chosen = [one for kind, one in kinds.items() if objective.kind in ("", kind)]
    committed, failed = sum(one.committed for one in chosen), sum(one.failed for one in chosen)
    done = committed + sum(one.rolled_back for one in chosen)
    if objective.of_failures:
        return done + failed, failed
    for_good = failed - sum(one.retries for one in chosen)
    waiting = demanded * objective.limit_ns / 1e9
    unmade = sum(one.skipped_starts for one in kinds.values())
    never = max(unmade - waiting, 0.0) * committed / (sum(one.committed for one in kinds.values()) or 1)
    late = 0 if times is None else int(times.counts[times.low_ns > objective.limit_ns].sum())
    return done + for_good + never, late + for_good + never


def capacity_doubts(loads: Mapping[int, Load]) -> Iterator[Doubt]:
    """Capacities that their steps hardly tell."""
    for scale, load in loads.items():
        if spoilt := [one for one in load.tried if one.still_s]:
            longest = max(one.still_s for one in spoilt)
            of = f"{len(spoilt)} of the {len(load.tried)} cycles of the search are left out"
            words = f"{of}: dsbench was suspended in them for up to {longest:.2g} s"
            remedy = "make sure that neither dsbench nor its machine is suspended"
            yield Doubt("capacity", words, remedy, scale)
        if load.capacity is None:
            continue
        last = [one for one in load.counted if one.demanded == load.tried[-1].demanded]
        missed = [one for one in last if not one.keeps]
        if load.capacity.reach <= MOST_REACH and (len(last) <= 1 or len(missed) < len(last)):
            continue
        words = f"the highest rate with {load.objective.words} is not known precisely ({load.ends})"
        words += f": {load.against}" if load.against else ""
        if missed:
            words += f"; {len(missed)} of the last {len(last)}, at {say_rate(last[0].demanded)}/s, missed it"
        near = [one for one in load.counted if one.steps[0].whole and abs(one.demanded / load.rate - 1) < _NEAR]
        if cpu := describe_cpu(one.cpu_us for one in near):
            words += f". Near that rate {cpu}"
        yield Doubt("capacity", words, REMEDY, scale)
