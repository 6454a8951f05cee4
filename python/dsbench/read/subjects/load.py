"""The highest rate at which an objective holds, and the latency at each rate that was tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from dsbench.format import format_number
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.subject import Measure, Subject, Values
from dsbench.read.subjects.cost import server_cpu
from dsbench.spec.objective import SEARCH_DURATIONS, Objective
from dsbench.spec.run import GRADES
from dsbench.stats import histogram as hist
from dsbench.stats.capacity import Capacity, Search, Step, lowest
from dsbench.stats.machine import describe_cpu
from dsbench.stats.values import Doubt, known

if TYPE_CHECKING:
    from dsbench.archive.asked import Asked
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.rows import Tables
    from dsbench.spec import RunSpec

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
        return f"the {cycles}, at {rate}/s, {miss} it as a whole: {share:.1%} do, {self.objective.allowed:.2%} may"

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
        many = f"{len(rates)} rates from {say_rate(rates[0])} to {say_rate(rates[-1])} tps"
        if not any(one.keeps for one in counted):
            return f"none of {many} keeps it"
        if all(one.keeps for one in counted):
            return f"all of {many} keep it"
        best = max(one.achieved for one in counted if one.keeps)
        return f"{say_rate(best)} tps kept it, and too few steps tell where it ends"

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


def search_of(spec: Asked | RunSpec) -> Search:
    """What a search for a rate that ``spec`` asks for keeps to."""
    precision = (spec.precision or PRECISION) / 100
    whole_s = SEARCH_DURATIONS * spec.duration
    return Search(spec.duration, precision, spec.most_cycles, whole_s, spec.ramp_up + _BETWEEN_S)


def read_loads(tables: Tables, objectives: Sequence[Objective], whole_s: float) -> dict[int, Load]:
    """Scale to the search for a rate with ``objectives``, by the tables of an archive; empty where there is none.

    Cycles of less than ``whole_s`` seconds only looked for the region.
    """
    if not objectives:
        return {}
    counts, times = _count(tables), _read_times(tables)
    committed = {key: sum(kind["committed"] for kind in kinds.values()) for key, kinds in counts.items()}
    cpu_us = server_cpu(tables["monitors"], tables["groups"], committed)
    found: dict[int, list[Tried]] = defaultdict(list)
    for row in tables["groups"].sort_by([("scale", "ascending"), ("cycle", "ascending")]).to_pylist():
        key = row["scale"], row["cycle"]
        below = row["level"] is not None and row["level"] < GRADES[0]  # Of a graduated load, after the search.
        if row["rate_per_s"] and key in counts and not below:
            tried = _judge(row, counts[key], times.get(key, {}), objectives, whole_s)
            found[row["scale"]].append(replace(tried, cpu_us=cpu_us.get(key, nan)))
    return {scale: sum_up(tried, objectives) for scale, tried in found.items()}


def sum_up(tried: Sequence[Tried], objectives: Sequence[Objective]) -> Load:
    """What the cycles ``tried`` tell."""
    steps = [[one.steps[at] for one in tried] for at in range(len(objectives))]
    at, capacity = lowest(steps, [(one.allowed, one.limit_ns / 1e9) for one in objectives]) or (0, None)
    return Load(tuple(tried), objectives[at], capacity, at)


_Cycle = tuple[int, int]
"""Scale and number."""
_COUNTED: Final = ("committed", "rolled_back", "failed", "retries", "missed")


def _count(tables: Tables) -> dict[_Cycle, dict[str, dict[str, int]]]:
    """Cycle to kind to its counts."""
    keys = ["scale", "cycle", "kind"]
    table = tables["cycles"].group_by(keys).aggregate([(name, "sum") for name in _COUNTED])
    found: dict[_Cycle, dict[str, dict[str, int]]] = defaultdict(dict)
    for row in table.to_pylist():
        found[row["scale"], row["cycle"]][row["kind"]] = {name: row[f"{name}_sum"] or 0 for name in _COUNTED}
    return found


def _read_times(tables: Tables) -> dict[_Cycle, dict[str, hist.Histogram]]:
    """Cycle to kind to its response times; under the empty name those of all kinds."""
    rows = tables["buckets"].filter(pc.field("measure") == "response")
    keys = ["scale", "cycle", "kind", "low_ns", "high_ns"]
    rows = rows.group_by(keys).aggregate([("count", "sum")])
    parts: dict[tuple[int, int, str], list[tuple[int, int, int]]] = defaultdict(list)
    for row in rows.to_pylist():
        for kind in (row["kind"], ""):
            parts[row["scale"], row["cycle"], kind].append((row["low_ns"], row["high_ns"], row["count_sum"]))
    found: dict[_Cycle, dict[str, hist.Histogram]] = defaultdict(dict)
    for (scale, cycle, kind), buckets in parts.items():
        low, high, count = (np.array(column, dtype=np.int64) for column in zip(*buckets, strict=True))
        found[scale, cycle][kind] = hist.histogram(low, high, count)
    return found


def _judge(
    row: Mapping[str, Any], counts: Mapping[str, Mapping[str, int]], times: Mapping[str, hist.Histogram],
    objectives: Sequence[Objective], whole_s: float,
) -> Tried:
    demanded, seconds, still_s = float(row["rate_per_s"]), row["duration_ns"] / 1e9, (row["still_ns"] or 0) / 1e9
    whole = seconds >= 0.99 * whole_s
    steps = tuple(
        Step(demanded, seconds, *_missed(one, counts, times.get(one.kind), demanded), whole, still_s > 0)
        for one in objectives
    )
    values = times.get("")
    quantiles = tuple(
        hist.quantile_ns(values, q) / 1e6 if values is not None and known(q, values.count) else nan for q in QUANTILES
    )
    committed = sum(one["committed"] for one in counts.values())
    keeps = all(step.missed <= one.allowed * step.count for step, one in zip(steps, objectives, strict=True))
    return Tried(row["cycle"], demanded, committed / seconds, seconds, quantiles, steps, keeps, still_s=still_s)


def _missed(
    objective: Objective, counts: Mapping[str, Mapping[str, int]], times: hist.Histogram | None, demanded: float
) -> tuple[float, float]:
    """How many transactions of the objective's kind were due, and how many of them missed it.

    A start that was due and never made misses it, but for those that may have been waiting at the end for as long as
    the objective allows. Which kind it would have been nobody knows: each kind has its share. A transaction that failed
    for good misses it as well.
    """
    chosen = [one for kind, one in counts.items() if objective.kind in ("", kind)]
    total = {name: sum(one[name] for one in chosen) for name in _COUNTED}
    failed = total["failed"] - total["retries"]
    done = total["committed"] + total["rolled_back"]
    if objective.of_failures:
        return done + total["failed"], total["failed"]
    everything = sum(one["committed"] for one in counts.values()) or 1
    waiting = demanded * objective.limit_ns / 1e9
    unmade = sum(one["missed"] for one in counts.values())
    never = max(unmade - waiting, 0.0) * total["committed"] / everything
    late = 0 if times is None else int(times.counts[times.low_ns > objective.limit_ns].sum())
    return done + failed + never, late + failed + never


def capacity_doubts(loads: Mapping[int, Load]) -> Iterator[Doubt]:
    """Capacities that their steps hardly tell."""
    for scale, load in loads.items():
        if spoilt := [one for one in load.tried if one.still_s]:
            longest = max(one.still_s for one in spoilt)
            of = f"{len(spoilt)} of the {len(load.tried)} cycles of the search are left out"
            words = f"{of}: dsbench stood still in them, for up to {longest:.2g} s"
            remedy = "keep the program and its machine from being stopped, or put to sleep"
            yield Doubt("capacity", words, remedy, scale)
        if load.capacity is None:
            continue
        last = [one for one in load.counted if one.demanded == load.tried[-1].demanded]
        missed = [one for one in last if not one.keeps]
        if load.capacity.reach <= MOST_REACH and (len(last) <= 1 or len(missed) < len(last)):
            continue
        words = f"the highest rate with {load.objective.words} is hardly known ({load.ends})"
        words += f": {load.against}" if load.against else ""
        if missed:
            words += f"; {len(missed)} of the last {len(last)}, at {say_rate(last[0].demanded)}/s, missed it"
        near = [one for one in load.counted if one.steps[0].whole and abs(one.demanded / load.rate - 1) < _NEAR]
        if cpu := describe_cpu(one.cpu_us for one in near):
            words += f". Near that rate {cpu}"
        yield Doubt("capacity", words, REMEDY, scale)


def _read_load(evaluation: Evaluation) -> Mapping[int, Load]:
    spec = evaluation.rows.whole.run.spec
    return read_loads(evaluation.rows.whole.tables, spec.objectives, spec.duration)


_COLUMNS: Final = (
    Column("scale"), Column("cycle", spare=True), Column("demanded", "1/s", digits=4),
    Column("achieved", "tps", digits=4), *(Column(f"p{100 * q:g}", "ms") for q in QUANTILES),
    Column("missed", form=".3%", about="share of the transactions that missed the objective"),
    Column("holds", left=True),
    Column("server CPU", "µs", about="CPU time of the server per transaction"),
    Column("seconds", "s", digits=2, spare=True),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    rows: list[tuple[Any, ...]] = []
    for scale, load in evaluation.load.items():
        yield Sentence(f"Scale {scale:,}: {load.words}.", "lead")
        at = [one.text for one in evaluation.run.spec.objectives].index(load.objective.text)
        for one in sorted(load.tried, key=lambda tried: tried.demanded):
            step = one.steps[at]
            share = step.missed / step.count if step.count else nan
            rows.append((scale, one.cycle, one.demanded, one.achieved, *one.quantiles_ms, share,
                         one.holds, one.cpu_us, one.seconds))  # fmt: skip
    if rows:
        yield Table("Response times over the rate, by rate", _COLUMNS, rows)


def _capacities(part: Evaluation) -> Values:
    return {scale: load.rate for scale, load in part.load.items()}


SUBJECT: Final = Subject(
    "load", "Capacity", reads={"load": _read_load}, whole={"load": _read_load}, tell=_tell,
    nothing="No rate was searched (--objective).",
    measures=(
        Measure("capacity", "tps", "highest rate at which the objective holds", _capacities,
                needs="make runs with --objective", possible=lambda spec: bool(spec.objective)),
    ),
)  # fmt: skip
