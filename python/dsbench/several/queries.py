"""Queries of several archives beside each other: the figures that TPC-H makes of them, and the times of each query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, isfinite, log, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.format import finite
from dsbench.read.blocks import Block, Column, Listed, Part, Ratio, Sentence, Table
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.precision import LEVEL, student
from dsbench.stats.queries import QUERIES, Decision
from dsbench.stats.values import Interval

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.several.compare import Comparison

NO_RESULT: Final = "TPC-H-like: not TPC results"
_FIGURES: Final = (
    ("Power@Size-like", "power"), ("Throughput@Size-like", "throughput"), ("QphH@Size-like", "qphh"),
    ("geometric mean [s]", "geometric_s"), ("sum [s]", "sum_s"),
    ("22 queries cold [1/h]", "power_cold"), ("22 queries hot [1/h]", "power_hot"),
)  # fmt: skip
_APART: Final = ("throughput", "qphh", "power_cold", "power_hot")
"""Figures of stages that not every run has."""
_LESS: Final = frozenset({"geometric_s", "sum_s"})
"""Figures of which less is better."""
_ACROSS: Final = 12
"""Queries beside each other on a page."""
Times = Mapping[str, tuple[float, ...]]
"""Query to its times: of the power tests, then of the streams."""


@dataclass(frozen=True)
class ComparedQueries:
    """The queries of the sides at one scale; sequences are in the order of the sides."""

    scale: int
    figures: tuple[Mapping[str, float], ...]
    """Of the run that counts, by name; of repeated runs the geometric mean, nan as soon as one of them is void. Empty
    for a side without the scale."""
    times: tuple[Times, ...]
    bases: tuple[int, ...]
    factor: float
    """The scale factor."""
    uneven: tuple[frozenset[str], ...]
    """Queries that not all runs of a side have as many times of: no two places are of the same test."""
    void: tuple[str, ...]
    """Of each side what some of its runs lack: ``QphH@Size-like not known: void in 1 of 2 runs``; empty for nothing."""

    @property
    def kinds(self) -> list[str]:
        """The queries that any side has."""
        return list(dict.fromkeys(kind for times in self.times for kind in times))

    @property
    def heads(self) -> list[tuple[str, str]]:
        """Title and name of the figures that any side has."""
        known = {name for side in self.figures for name, value in side.items() if isfinite(value)}
        return [(title, name) for title, name in _FIGURES if name in known or name not in _APART]

    def relative(self, side: int, kind: str) -> Interval | None:
        """How many times as fast as its base a side is; ``None`` where one of them has no time."""
        ours, theirs = (self.times[at].get(kind, ()) for at in (side, self.bases[side]))
        paired = not any(kind in self.uneven[at] for at in (side, self.bases[side]))
        return _quotient(theirs, ours, paired=paired) if ours and theirs else None

    def relative_figure(self, side: int, name: str) -> float:
        """A figure of a side divided by that of its base, the other way round where less is better."""
        ours, theirs = (self.figures[at].get(name, nan) for at in (side, self.bases[side]))
        over, under = (theirs, ours) if name in _LESS else (ours, theirs)
        return over / under if under > 0 else nan


def _quotient(over: Sequence[float], under: Sequence[float], *, paired: bool) -> Interval:
    """Of geometric means. Times at the same place of the same tests are pairs: then the interval is Student's, of the
    logarithms of their quotients."""
    value = exp(sum(map(log, over)) / len(over) - sum(map(log, under)) / len(under))
    if not paired or len(over) != len(under) or len(over) < 3:
        return Interval(value, nan, nan, LEVEL)
    logs = np.log(np.array(over) / np.array(under))
    half = student(LEVEL, logs.size - 1) * float(logs.std(ddof=1)) / logs.size**0.5
    return Interval(value, value * exp(-half), value * exp(half), LEVEL)


def _together(values: Sequence[float]) -> float:
    """Geometric mean; nan as soon as one is not known."""
    return exp(sum(map(log, values)) / len(values)) if values and all(map(_is_known, values)) else nan


def _is_known(value: float) -> bool:
    return isfinite(value) and value > 0


def _times(decisions: Sequence[Decision]) -> tuple[Times, frozenset[str]]:
    """Of repeated runs the geometric mean, place by place, where each has as many times; else all times, and of which
    queries that is so."""
    found: dict[str, tuple[float, ...]] = {}
    uneven = set()
    by_run = [{q.kind: (*q.power_s, *q.streams_s) for q in one.queries} for one in decisions]
    for kind in dict.fromkeys(kind for times in by_run for kind in times):
        every = [times.get(kind, ()) for times in by_run]
        if len({len(times) for times in every}) > 1:
            uneven.add(kind)
            found[kind] = tuple(time for times in every for time in times)
        else:
            found[kind] = tuple(map(_together, zip(*every, strict=True)))
    return {kind: times for kind, times in found.items() if times}, frozenset(uneven)


def _say_void(decisions: Sequence[Decision]) -> str:
    """Which figures some of repeated runs have and others do not; empty where there are none."""
    void = {title: [not _is_known(_figure(one, name)) for one in decisions] for title, name in _FIGURES}
    some = {title: sum(runs) for title, runs in void.items() if any(runs) and not all(runs)}
    return "; ".join(
        f"{', '.join(title for title, many in some.items() if many == count)} not known: void in {count} of "
        f"{len(decisions)} runs" for count in dict.fromkeys(some.values())
    )  # fmt: skip


def read_queries(comparison: Comparison) -> list[ComparedQueries]:
    """By scale, rising, what at least two sides have; empty for workloads without such queries."""
    sides = [[_sound(one) for one in side.evaluations] for side in comparison.sides]
    scales = sorted({scale for side in sides for one in side for scale in one})
    found = []
    for scale in scales:
        decisions = [[one[scale] for one in side if scale in one] for side in sides]
        if sum(map(bool, decisions)) < 2:
            continue
        figures = tuple(
            {name: _together([_figure(one, name) for one in some]) for _, name in _FIGURES} if some else {}
            for some in decisions
        )
        factor = next(one.factor for some in decisions for one in some)
        times, uneven = zip(*map(_times, decisions), strict=True)
        void = tuple(map(_say_void, decisions))
        found.append(ComparedQueries(scale, figures, times, comparison.stages.bases, factor, uneven, void))
    return found


def _figure(decision: Decision, name: str) -> float:
    """Of the run that counts, or of the stage that asks each query cold and hot. nan for the time of all queries where
    one has no end."""
    if name in _LESS and decision.reported.finished < len(QUERIES):
        return nan
    return float(getattr(decision.reported if hasattr(decision.reported, name) else decision.temperatures, name, nan))


def _sound(evaluation: Evaluation) -> Mapping[int, Decision]:
    return {x: one
        for x, one in evaluation.of(QueriesResult).queries.items() if x not in evaluation.of(RateResult).void_scales}


def tell_queries(found: Sequence[ComparedQueries], names: Sequence[str], *, brief: bool) -> Iterator[Block]:
    """Figures, and for each scale how fast each query is, with a colour for its size: for a page a row for each side,
    and their intervals below."""
    if not found:
        return
    yield Sentence(f"{NO_RESULT}.", "note")
    for one in found:
        at_scale = f"scale factor {one.factor:g}"
        rows: list[list[Any]] = [[title, *(side.get(name) for side in one.figures)] for title, name in one.heads]
        columns = [Column(name, digits=4) for name in names]
        yield Table(f"Figures, {at_scale}", [Column("", left=True), *columns], rows)
        if void := [f"{name}: {words}" for name, words in zip(names, one.void, strict=True) if words]:
            yield Listed(void)
        bases = " and ".join(names[base] for base in dict.fromkeys(one.bases))
        title = f"How many times as fast as {bases}, {at_scale}; ▲ faster, ▼ slower, no sign: no significant difference"
        sides = range(len(names))
        if brief:
            yield _tabulate(title, one, names)
            continue
        for at in range(0, len(one.kinds), _ACROSS):
            kinds = one.kinds[at : at + _ACROSS]
            rows = [[names[side], *(_ratio(one.relative(side, kind), brief=True) for kind in kinds)] for side in sides]
            yield Table("" if at else title, [Column("", left=True), *(Column(kind) for kind in kinds)], rows)
        yield Part(f"With intervals, {at_scale}", [_tabulate(title, one, names)], folded=True)
    yield Sentence(
        "A query: the geometric mean of its times in all tests, with a 95% interval of Student's t if both sides, and "
        "all runs of each, have the same number; with the same seed, both ran the same queries in the same order.",
        "note",
    )  # fmt: skip


def _tabulate(title: str, one: ComparedQueries, names: Sequence[str]) -> Table:
    """A row for each figure and each query."""
    sides = range(len(names))
    figures = [
        [head, *(_ratio(Interval(one.relative_figure(side, name), nan, nan, LEVEL)) for side in sides)]
        for head, name in one.heads
    ]
    rows = [[kind, *(_ratio(one.relative(side, kind)) for side in sides)] for kind in one.kinds]
    return Table(title, [Column("query", left=True), *(Column(name) for name in names)], [*figures, *rows])


def _ratio(factor: Interval | None, *, brief: bool = False) -> Ratio | None:
    known = factor is not None and isfinite(factor.value)
    return Ratio(factor.value, factor.low, factor.high, brief) if factor is not None and known else None


def document(found: Sequence[ComparedQueries], labels: Sequence[str]) -> list[dict[str, Any]]:
    """As JSON values: an entry for each scale."""
    return [
        {"scale": one.scale, "scale_factor": one.factor, "archives": [
            {"label": label, **{name: finite(one.figures[side].get(name, nan)) for _, name in _FIGURES},
             "queries": {kind: _entry(one, side, kind) for kind in one.kinds if kind in one.times[side]}}
            for side, label in enumerate(labels)
        ]}
        for one in found
    ]  # fmt: skip


def _entry(one: ComparedQueries, side: int, kind: str) -> dict[str, Any]:
    relative = one.relative(side, kind)
    known = relative or Interval(nan, nan, nan, LEVEL)
    return {
        "time_s": finite(_together(one.times[side][kind])), "times_as_fast": finite(known.value),
        "low": finite(known.low), "high": finite(known.high),
    }  # fmt: skip
