"""The summary of the Insert Benchmark's reports over several archives: rates of the stages, absolute, relative to the
first archive, and those of the work in the background against their targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp, isfinite, log, nan
from typing import Any, Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.format import FAILED, NONE, finite, format_number
from dsbench.read.blocks import Column, Table
from dsbench.read.evaluation import Evaluation
from dsbench.read.groups import Series
from dsbench.read.series import headings
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.stages import StagesResult
from dsbench.stats.comparison import compare
from dsbench.stats.efficiency import COLUMNS, SUSTAINED, Background, Efficiency, per
from dsbench.stats.precision import LEVEL
from dsbench.stats.values import Interval

_RATIO: Final = ("l.i2", "l.i1")
"""Stages whose quotient the reports on the Insert Benchmark tell: what small transactions reach of large ones."""
_RATES_OF: Final = frozenset({"ips", "qps", "rps", "rmbps", "wps", "wmbps", "csps", "cpups", "p50", "p99"})
"""Columns of what was done in a second: their quotients say how fast a server was, not what an operation takes."""
Place = tuple[Series, int]
"""A series and a scale."""


@dataclass(frozen=True)
class Stages:
    """Archives by stage; sequences are in the order of the sides, their members in that of ``names``."""

    names: tuple[str, ...]
    """Of each column: the stage, with its number of clients and scale where there are several."""
    found: tuple[tuple[tuple[Efficiency, ...], ...], ...]
    """Side, column, runs."""
    staged: bool
    """Whether some archive has several stages, or work in the background."""
    bases: tuple[int, ...]
    """Of each side the number of the one that it is divided by."""
    ratios: tuple[tuple[str, int, int], ...] = ()
    """What else stands behind the columns: a name, and the columns of which the first is divided by the second."""
    scales: tuple[int, ...] = ()
    """Of each side, where each has one and they are not the same; a column then has each side at its own."""

    def rate(self, side: int, column: int) -> float:
        """Operations per second, the geometric mean of the runs; nan where there is none."""
        rates = [one.rate for one in self.found[side][column]]
        if len(rates) == 1:
            return rates[0]
        return exp(sum(log(rate) for rate in rates) / len(rates)) if rates and all(rate > 0 for rate in rates) else nan

    def relative(self, side: int, column: int) -> Interval:
        """That rate divided by the one of the side's base, with the interval out of the spread between repeated runs:
        at ``LEVEL`` for all sides of this base and all stages together (Bonferroni). Without bounds where no run was
        repeated."""
        base = self.bases[side]
        group = [base, *(at for at, other in enumerate(self.bases) if other == base and at != base)]
        runs = [[{1: np.array([one.rate])} for one in self.found[at][column] if isfinite(one.rate)] for at in group]
        unknown = Interval(nan, nan, nan, LEVEL)
        each = 1 - (1 - LEVEL) / len(self.names)
        return compare(runs, level=each)[group.index(side)].relative.get(1, unknown)

    def deletes(self, side: int, column: int) -> float:
        """Rows deleted per second, in the median over the runs; nan in a stage without."""
        known = [one.deletes_per_s for one in self.found[side][column] if isfinite(one.deletes_per_s)]
        return float(np.median(known)) if known else nan

    def times(self, side: int, column: int) -> dict[str, float]:
        """What an operation takes, and sizes, as multiples of those of the side's base: 80 is ``~80X``."""
        own, base = self.values(side, column), self.values(self.bases[side], column)
        return {name: per(value, base[name]) for name, value in own.items() if name not in _RATES_OF}

    def background(self, side: int, column: int) -> Background | None:
        """The inserts in the background of the run that sustained the least; ``None`` in a stage without."""
        beside = [b for one in self.found[side][column] for b in one.ruled]
        return min(beside, key=lambda b: b.share if isfinite(b.share) else -1.0, default=None)

    def values(self, side: int, column: int) -> dict[str, float]:
        """Each column of the efficiency in the median over the runs; nan where no run knows it."""
        runs = self.found[side][column]
        known = {c.name: [one.values[c.name] for one in runs if isfinite(one.values[c.name])] for c in COLUMNS}
        return {name: float(np.median(some)) if some else nan for name, some in known.items()}


def by_stage(sides: Sequence[Sequence[Evaluation]], bases: tuple[int, ...]) -> Stages:
    """The stages of all ``sides``, each of several runs, in the order in which the archives have them."""
    every = [[_places(one) for one in side] for side in sides]
    own = [{scale for one in side for _, scale in one} for side in every]
    apart = len(set().union(*own)) > 1 and all(len(scales) == 1 for scales in own)
    if apart:  # Profiles whose scale follows from the memory: each stage at its own.
        every = [[{(key, 0): found for (key, _), found in one.items()} for one in side] for side in every]
    order = dict.fromkeys(place for side in every for one in side for place in one)
    keys = list(dict.fromkeys(key for key, _ in order))
    scales = {scale for _, scale in order}
    places = [(key, scale) for key in keys for scale in sorted(scales) if (key, scale) in order]
    said = headings(keys) if len(keys) > 1 else dict.fromkeys(keys, "")
    names = tuple(_name(said[key], scale, several=len(scales) > 1) for key, scale in places)
    found = tuple(tuple(tuple(one[place] for one in side if place in one) for place in places) for side in every)
    at = tuple(min(scales, default=0) for scales in own) if apart else ()
    several = any(len({key.stage for key in one.series}) > 1 for side in sides for one in side)
    background = any(run.background for side in found for column in side for run in column)
    return Stages(names, found, several or background, bases, tuple(_ratios(places, names)), at)


def _ratios(places: Sequence[Place], names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """The columns of the stages of ``_RATIO``, at each number of clients and scale."""
    over, under = _RATIO
    for at, (key, scale) in enumerate(places):
        other = (Series(under, key.clients), scale)
        if key.stage == over and other in places:
            yield names[at].replace(over, f"{over} / {under}", 1), at, places.index(other)


def _places(one: Evaluation) -> Mapping[Place, Efficiency]:
    return {(key, scale): found for key, scales in one.of(StagesResult).stages.items()
        for scale, found in scales.items()
            if scale not in one.of(RateResult).void_scales}  # fmt: skip


def _name(heading: str, scale: int, *, several: bool) -> str:
    words = heading.removeprefix("stage ")
    return ", ".join(part for part in (words, f"scale {scale}" if scale and (several or not words) else "") if part)


_RATES: Final = "operations per second: rows in stages of inserts, otherwise queries or transactions"
_BACKGROUND: Final = f"background inserts per second, of their target; {FAILED} below {SUSTAINED:.0%}"


def tell_rates(stages: Stages, labels: Sequence[str]) -> Iterator[Table]:
    """Two tables of those reports, with a row for each side, without the stages that have nothing to show, and
    below them the quotients of two stages."""
    cells: tuple[tuple[str, Callable[[int, int], Any]], ...] = (
        (_RATES, stages.rate),
        (_BACKGROUND, lambda side, at: _words(stages.background(side, at))),
    )
    sides = [f"{label}, scale {stages.scales[side]}" if stages.scales else label for side, label in enumerate(labels)]
    for title, cell in cells:
        rows = [[cell(side, at) for at in range(len(stages.names))] for side in range(len(labels))]
        columns = [Column(name, signed=True) for name in stages.names]
        known = [at for at, column in enumerate(columns) if {column.show(row[at]) for row in rows} - {"", NONE}]
        if known:
            told = [[side, *(row[at] for at in known)] for side, row in zip(sides, rows, strict=True)]
            yield Table(title, [Column("", left=True), *(columns[at] for at in known)], told)
    for name, over, under in stages.ratios:
        columns = [Column("", left=True), Column("inserts/s", form=".3f"), Column("deletes/s", form=".3f")]
        rows = [[side, *quotients(stages, at, over, under)] for at, side in enumerate(sides)]
        yield Table(f"{name}: rate with few rows per transaction divided by that with many", columns, rows)


def quotients(stages: Stages, side: int, over: int, under: int) -> tuple[float, float]:
    """Of the rows inserted per second and of those deleted: column ``over`` divided by ``under``."""
    inserts, deletes = (per(of(side, over), of(side, under)) for of in (stages.rate, stages.deletes))
    return inserts, deletes


def tell_efficiency(stages: Stages, labels: Sequence[str]) -> Iterator[Table]:
    """For each stage the columns of the efficiency, with a row for each side that has it; below them those that are
    divided by that of the base."""
    columns = [Column("", left=True), *(Column(one.name, about=f"{one.sentence} [{one.unit}]") for one in COLUMNS)]
    for at, name in enumerate(stages.names):
        having = [side for side in range(len(labels)) if stages.found[side][at]]
        rows: list[list[Any]] = [[labels[side], *stages.values(side, at).values()] for side in having]
        for side in having:
            if side != stages.bases[side] and stages.found[stages.bases[side]][at]:
                times = stages.times(side, at)
                of = f"{labels[side]} / {labels[stages.bases[side]]}"
                rows.append([of, *(_multiple(times[one.name]) if one.name in times else "" for one in COLUMNS)])
        yield Table(f"efficiency, {name}", columns, rows)


def _multiple(factor: float) -> str:
    """``80×``: as many digits as such reports tell."""
    return f"{format_number(factor, digits=2)}×" if isfinite(factor) else NONE


def _words(found: Background | None) -> str:
    if found is None:
        return ""
    sustained, target = format_number(found.sustained_per_s), format_number(found.target_per_s)
    return f"{sustained} of {target}" + ("" if found.met else f" {FAILED}")


def document(stages: Stages, labels: Sequence[str]) -> list[dict[str, Any]]:
    """As JSON values: one entry for each stage, with what each archive reached there."""
    behind = {over: under for _, over, under in stages.ratios}
    sides = list(enumerate(labels))
    return [
        {"stage": name, "archives": [_entry(stages, side, at, label, behind.get(at)) for side, label in sides]}
        for at, name in enumerate(stages.names)
    ]


def describe_interval(found: Interval | None) -> dict[str, float | None] | None:
    """As JSON values; ``None`` where its value is not known."""
    if found is None or not isfinite(found.value):
        return None
    return {name: finite(getattr(found, name)) for name in ("value", "low", "high", "level")}


def _entry(stages: Stages, side: int, at: int, label: str, under: int | None) -> dict[str, Any]:
    beside = stages.background(side, at)
    found = {
        "label": label,
        "rate": finite(stages.rate(side, at)),
        "relative": describe_interval(stages.relative(side, at)),
        "background": None if beside is None else {
            "target_per_s": finite(beside.target_per_s), "sustained_per_s": finite(beside.sustained_per_s),
            "sustained": beside.met,
        },
        "efficiency": {name: finite(value) for name, value in stages.values(side, at).items()},
        "efficiency_relative": {name: finite(value) for name, value in stages.times(side, at).items()},
        "deletes_per_s": finite(stages.deletes(side, at)),
    }  # fmt: skip
    if under is not None:
        inserts, deletes = quotients(stages, side, at, under)
        found |= {f"of_{stages.names[under]}": {"inserts": finite(inserts), "deletes": finite(deletes)}}
    return found
