"""From archives to what is set side by side: runs of the same settings together, at every number of clients, and what
that comes to in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Final

import numpy as np

from dsbench.archive import Archive, ArchiveError, RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import counted
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.groups import Series
from dsbench.read.naming import warnings
from dsbench.read.series import headings
from dsbench.read.subjects.clients import longest_ns
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.rate import RateResult, indexed_rates, read_capacities
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.verdict import Tally, judge_run
from dsbench.several.settings import OF_WORKLOAD, SAYS_NOTHING, described, labels, product
from dsbench.several.stages import Stages, by_stage
from dsbench.several.work import find_load, say_apart
from dsbench.stats.comparison import (
    Compared,
    Known,
    Run,
    compare,
    compare_known,
    differing,
    dsi_of_runs,
    dsi_parts,
    ratio_interval,
    repeated,
)
from dsbench.stats.histogram import quantile_interval
from dsbench.stats.precision import FEWEST, LEVEL
from dsbench.stats.values import Doubt, Floats, Frequency, Interval

TIMES: Final = {0.5: "p50", 0.95: "p95", 0.99: "p99", 1.0: "max"}
"""Quantiles of the times that are set side by side."""
_SETUP: Final = OF_WORKLOAD + "sizes"
"""The setting by which the Insert Benchmark has a database within memory or beyond it: reports of it show both."""
_TOLD_ABOVE = frozenset({"durability", "cut-short", "check-failed"})
"""Doubts that stand beside every figure of an archive, in words."""


@dataclass(frozen=True)
class Side:
    """Runs that repeat each other, as one column."""

    label: str
    evaluations: tuple[Evaluation, ...]
    runs: tuple[RunRecord, ...]


@dataclass(frozen=True)
class Told:
    """What endangers figures."""

    kind: str
    """The same of all that one line can stand for."""
    words: str
    side: int | None
    """Number of the side; ``None`` for all of them."""


@dataclass(frozen=True)
class Section:
    """The sides at one number of clients, or in one stage; sequences are in the order of the sides."""

    heading: str
    """``clients 10``; empty where no run has several."""
    measure: str
    """What the rates count: ``tps``, or the headline where all sides have it."""
    evaluations: tuple[tuple[Evaluation, ...], ...]
    """Of each side those runs that have cycles there, with all their clients. Rates, times and failures that are
    compared are those of the measured ones, ``own``."""
    compared: tuple[Compared, ...]
    bases: tuple[int, ...]
    """Of each side the number of the one that it is divided by."""
    searched: bool = False
    """Whether all sides searched the highest rate with an objective: it is compared, and not the rates of cycles."""

    @property
    def figure(self) -> str:
        """What is divided: ``rate`` or ``capacity``."""
        return "capacity" if self.searched else "rate"

    def capacity(self, side: int, scale: int) -> Interval:
        """The highest rate with the objective, in the median over the runs of ``side``, whose bounds are nan for
        several; nan where none is known."""
        found = [known[scale] for one in self.evaluations[side] if scale in (known := _known(one))]
        return found[0] if len(found) == 1 else Interval(_median([one.value for one in found]), np.nan, np.nan, LEVEL)

    def objectives(self, side: int) -> str:
        """What the highest rate of ``side`` has to keep: ``99% below 20 ms``."""
        found = [load.objective.words for one in self.evaluations[side] for load in one.of(LoadResult).load.values()]
        return " or ".join(dict.fromkeys(found))

    @property
    def scales(self) -> list[int]:
        """Every scale of any side, rising."""
        return sorted({scale for one in self.compared for scale in one.medians})

    @property
    def begun(self) -> list[int]:
        """The same with void scales."""
        return sorted({row.scale for side in self.evaluations for one in side for row in one.of(RateResult).scales})

    def dsi(self, side: int) -> Interval | None:
        """Of runs that were repeated with the interval out of their spread, of a single one out of its cycles."""
        runs = self.evaluations[side]
        if len(runs) == 1:
            return runs[0].own.of(RateResult).index.dsi
        return dsi_of_runs([indexed_rates(one.own) for one in runs])

    def dsi_parts(self, side: int) -> dict[int, float]:
        """Scale to its part of the difference of the DSI of ``side`` from that of its base."""
        base = self.bases[side]
        if side == base:
            return {}
        ours, theirs = (
            repeated([[indexed_rates(one.own) for one in self.evaluations[at]]])[0].medians for at in (side, base)
        )
        return dsi_parts(ours, theirs)

    @property
    def waits(self) -> bool:
        """Whether the times are response times: those of an open loop."""
        return any(one.of(LatencyResult).response for side in self.evaluations for one in side)

    def time_ms(self, side: int, scale: int, quantile: float) -> float:
        """Quantile of the times, in the median over the runs of ``side``; nan where there is none, or a run has too few
        transactions beyond it. 1 is the longest of all, those in flight included."""
        every = [one.own for one in self.evaluations[side]]
        if quantile == 1:
            longest = [longest_ns(one, scale) for one in every]
            return _median([one / 1e6 for one in longest if one is not None])
        curves = (one.of(LatencyResult).curve(scale) for one in every)
        return _median([curve.told(quantile) / 1e6 for curve in curves if curve is not None])

    def time_interval(self, side: int, scale: int, quantile: float) -> Interval:
        """``time_ms`` in ms with its interval over the cycles of a single run; without bounds for several."""
        value = self.time_ms(side, scale, quantile)
        found = self._curve(side, scale)
        if found is None:
            return Interval(value, np.nan, np.nan, LEVEL)
        one = quantile_interval(found, quantile)
        return Interval(value, one.low / 1e6, one.high / 1e6, LEVEL)

    def time_ratio(self, side: int, scale: int, quantile: float) -> Interval:
        """Of the times of ``side`` to those of its base, with the interval at ``LEVEL`` for all columns together."""
        base = self.bases[side]
        over, under = self._curve(side, scale), self._curve(base, scale)
        value = self.time_ms(side, scale, quantile) / (self.time_ms(base, scale, quantile) or np.nan)
        if over is None or under is None:
            return Interval(value, np.nan, np.nan, LEVEL)
        each = 1 - (1 - LEVEL) / max(self.bases.count(base) - 1, 1)
        ends = [quantile_interval(one, quantile, each) for one in (over, under)]
        return replace(ratio_interval(*ends), value=value, level=LEVEL)

    def differs(self, side: int, scale: int) -> bool:
        """Whether the rates of ``side`` and of its base are told apart at ``scale`` by an interval."""
        found = self.compared[side].relative.get(scale)
        return found is not None and (found.low > 1 or found.high < 1)

    def _curve(self, side: int, scale: int) -> Frequency | None:
        """The times of a side of one run."""
        runs = [one.own for one in self.evaluations[side]]
        return (runs[0].of(LatencyResult).curve(scale)) if len(runs) == 1 else None

    def failed_share(self, side: int, scale: int) -> float:
        """Failed attempts of all, in the median over the runs of ``side``; nan without attempts."""
        found = (one.own.of(ErrorsResult).success_share.get(scale) for one in self.evaluations[side])
        return _median([1 - share for share in found if share is not None])


@dataclass(frozen=True)
class Comparison:
    """Archives side by side; all sequences are in the order of the sides."""

    sides: tuple[Side, ...]
    sections: tuple[Section, ...]
    """One at least."""
    differences: Mapping[str, Sequence[str]]
    """Setting to its values, where they are not all the same."""
    stages: Stages
    """What the sides reached and took, stage by stage."""
    alike: frozenset[int]
    """Numbers of the sides with the label and all settings of the first: what lies between them is chance."""
    setups: tuple[str, ...] = ()
    """Of each side, where several products were measured at several sizes, such as ``cached`` and ``io-bound``: then
    each is set beside the first of its own setup."""
    products: tuple[str, ...] = ()
    """What the sides are called within their setup."""
    of_one_run: bool = False
    """Whether the sides are the numbers of clients of one run."""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(side.label for side in self.sides)

    @property
    def archives(self) -> int:
        """How many there are, of all sides."""
        return sum(len(side.runs) for side in self.sides)

    @property
    def extent(self) -> str:
        """What is set side by side: ``3 archives``, or ``3 numbers of clients`` of one."""
        return counted(self.archives, "number of clients" if self.of_one_run else "archive")

    @property
    def changed(self) -> dict[str, Sequence[str]]:
        """The differences that somebody made: in what every side has, or between sides of one product."""
        servers = [product(side.runs[0]) for side in self.sides]
        return {
            name: values for name, values in self.differences.items()
            if all(values) or name.startswith("spec.") or _within(servers, values)
        }  # fmt: skip

    @property
    def _runs(self) -> dict[str, Sequence[RunRecord]]:
        return {side.label: side.runs for side in self.sides}

    @property
    def load(self) -> list[str]:
        """Options and settings of the workload in which the sides did not do the same work."""
        own = {name: values for name, values in self.differences.items()
               if not self.setups or _within(self.setups, values)}  # fmt: skip
        return find_load(own, self._runs)

    @cached_property
    def tally(self) -> Tally:
        """The verdict of each run, by side."""
        return Tally({
            side.label: [judge_run(*pair) for pair in zip(side.evaluations, side.runs, strict=True)]
            for side in self.sides
        })  # fmt: skip

    def warnings(self) -> Iterator[str]:
        """What makes figures unsafe, void or incomparable, with the label of the side."""
        for one in self.told():
            yield f"{self.labels[one.side]}: {one.words}" if one.side is not None else one.words
        yield from self.apart()

    def told(self) -> Iterator[Told]:
        """The same but for why the sides did not do the same work."""
        for number, side in enumerate(self.sides):
            pairs = zip(side.evaluations, side.runs, strict=True)
            lines = [line for one, run in pairs
                for line in [*(Told(words, words, number) for words in warnings(one, run)), *_doubts(one, number)]]
            yield from dict.fromkeys(lines)
        hosts = {run.host for side in self.sides for run in side.runs}
        if len(hosts) > 1:
            yield Told("hosts", f"measured on several machines: {', '.join(sorted(hosts))}", None)

    def apart(self) -> Iterator[str]:
        """Why the sides did not do the same work: what every figure has to be read with."""
        yield from say_apart(self._runs, self.differences, self.load)


def read(
    paths: Sequence[Path], reference: str = "", price: str = "", known: Mapping[Path, Evaluation] | None = None
) -> Comparison:
    """Reads archives, folders or zips; raises ``ArchiveError``. Scales whose check failed are left out.

    Runs of the same settings and label become one side, unless all of them are: then each is one. The sides are in the
    order of ``paths``, but for the ``reference``, which comes first: one of the paths, or the name or label of a run.
    The numbers of clients of a single archive are its sides. ``price`` is that of machines whose runs were not told it.
    Archives in ``known`` are not evaluated again.
    """
    if len(paths) == 1:
        return _by_clients(Archive.open(paths[0], price), reference)
    archives = _referred([Archive.open(path, price) for path in paths], reference)
    evaluations = [(known or {}).get(archive.path) or evaluate(archive) for archive in archives]
    return _compare([archive.run for archive in archives], evaluations)


def _by_clients(archive: Archive, reference: str) -> Comparison:
    """Each number of clients of one run beside the others, rising. ``ArchiveError`` where it has one only."""
    whole = evaluate(archive)
    numbers = sorted({key.clients for key in whole.series})
    if len(numbers) < 2:
        raise ArchiveError("ARCHIVES: compare needs at least two archives, or one with several numbers of clients",
                           "specify two or more", usage=True)  # fmt: skip
    if reference:
        wanted = reference.removeprefix("clients ")
        if wanted not in map(str, numbers):
            raise ArchiveError(f"--reference: {reference[:100]!r} is not a number of clients of this archive",
                               f"use one of {', '.join(map(str, numbers))}", usage=True)  # fmt: skip
        numbers.sort(key=lambda clients: str(clients) != wanted)
    parts = []
    for clients in numbers:
        series = {key: part for key, part in whole.series.items() if key.clients == clients}
        *_, last = series.values()
        parts.append(last if len(series) == 1 else Evaluation(last.rows, series))
    return replace(_compare([archive.run.at(clients) for clients in numbers], parts), of_one_run=True)


def _compare(runs: Sequence[RunRecord], evaluations: Sequence[Evaluation]) -> Comparison:
    known = described(runs)
    told = [{name: value for name, value in values.items() if name not in SAYS_NOTHING} for values in known]
    kinds: dict[tuple[object, ...], list[int]] = {}
    for number, run in enumerate(runs):
        kinds.setdefault((run.spec.label, *sorted(told[number].items())), []).append(number)
    members = list(kinds.values()) if len(kinds) > 1 else [[number] for number in range(len(runs))]
    setups = _setups([known[numbers[0]].get(_SETUP, "") for numbers in members])
    if setups:
        order = sorted(range(len(members)), key=lambda at: setups.index(setups[at]))
        members, setups = [members[at] for at in order], tuple(setups[at] for at in order)
    firsts = [numbers[0] for numbers in members]
    differences = differing([told[number] for number in firsts])
    products = _names(runs, known, told, firsts, setups)
    names = [f"{name}, {setup}" for name, setup in zip(products, setups, strict=True)] if setups else products
    sides = tuple(
        Side(name + (f" ({len(numbers)} runs)" if len(numbers) > 1 else ""),
             tuple(evaluations[n] for n in numbers), tuple(runs[n] for n in numbers))
        for name, numbers in zip(names, members, strict=True)
    )  # fmt: skip
    kind_of = {number: kind for kind, numbers in kinds.items() for number in numbers}
    alike = frozenset(at for at, number in enumerate(firsts) if at and kind_of[number] == kind_of[firsts[0]])
    bases = tuple(setups.index(setup) for setup in setups) or (0,) * len(sides)
    stages = by_stage([side.evaluations for side in sides], bases)
    return Comparison(sides, tuple(_sections(sides, bases)), differences, stages, alike, setups, tuple(products))


def _setups(found: Sequence[str]) -> tuple[str, ...]:
    """``found``, where one of several setups has several sides: else all are set beside the first."""
    return tuple(found) if 1 < len(set(found)) < len(found) else ()


def _names(
    runs: Sequence[RunRecord], known: Sequence[Mapping[str, str]], told: Sequence[Mapping[str, str]],
    firsts: Sequence[int], setups: Sequence[str],
) -> list[str]:
    """What ``firsts`` are called, within the setup of each."""
    found = dict.fromkeys(firsts, "")
    for setup in dict.fromkeys(setups or ("",)):
        here = [n for n, own in zip(firsts, setups, strict=True) if own == setup] if setups else list(firsts)
        differences = differing([told[n] for n in here])
        found |= zip(here, labels([runs[n] for n in here], [known[n] for n in here], differences), strict=True)
    return list(found.values())


def _referred(archives: list[Archive], reference: str) -> list[Archive]:
    """``archives`` with that of ``reference`` first. ``ArchiveError`` where it is none of them."""
    if not reference:
        return archives
    path = Path(reference).resolve()
    chosen = [one for one in archives if one.path.resolve() == path or reference in (one.name, one.run.spec.label)]
    if not chosen:
        labels = dict.fromkeys(one.run.spec.label for one in archives if one.run.spec.label)
        known = ", ".join(map(repr, labels)) or "they have no labels"
        raise ArchiveError(f"--reference: {reference[:100]!r} is not one of the archives",
                           f"specify one of their paths, or a label: {known}", usage=True)  # fmt: skip
    return sorted(archives, key=lambda one: one is not chosen[0])


def _sections(sides: Sequence[Side], bases: tuple[int, ...]) -> Iterator[Section]:
    """One for each number of clients or stage where a run has several, else one for all runs as they are."""
    every = [one for side in sides for one in side.evaluations]
    if not any(one.series for one in every):
        yield _section("", [side.evaluations for side in sides], bases)
        return
    keys = sorted({key for one in every for key in (one.series or {one.key: one})}, key=lambda key: key.clients)
    order = {stage: number for number, stage in enumerate(dict.fromkeys(k.stage for one in every for k in one.series))}
    names = headings(keys)
    for key in sorted(keys, key=lambda key: order.get(key.stage, -1)):
        yield _section(names[key], [tuple(_parts(side, key)) for side in sides], bases)


def _parts(side: Side, key: Series) -> Iterator[Evaluation]:
    for one in side.evaluations:
        if (one.series and key in one.series) or (not one.series and one.key == key):
            yield one.series.get(key, one)


def _section(heading: str, evaluations: Sequence[tuple[Evaluation, ...]], bases: tuple[int, ...]) -> Section:
    every = [one for side in evaluations for one in side]
    kinds = {found.label for one in every for found in one.of(KindsResult).nopm.values()}
    orders = bool(kinds) and all(set(one.of(KindsResult).nopm) >= set(one.of(RateResult).cycle_rates) for one in every)
    measure = (kinds.pop() if len(kinds) == 1 else "NOPM") if orders else "tps"
    searched = bool(every) and all(one.of(LoadResult).load for one in every)
    compared: dict[int, Compared] = {}
    for base in dict.fromkeys(bases):  # The first of each setup, which compares its own.
        own = [at for at, other in enumerate(bases) if other == base]
        found = (
            compare_known([[_known(one) for one in evaluations[at]] for at in own]) if searched else
            compare([[_sound(one, counted=orders) for one in evaluations[at]] for at in own])
        )  # fmt: skip
        compared |= zip(own, found, strict=True)
    columns = tuple(compared[at] for at in range(len(evaluations)))
    return Section(heading, "tps" if searched else measure, tuple(evaluations), columns, bases, searched)


def _known(one: Evaluation) -> Known:
    """The highest rate with the objective by scale, where one was found, without scales whose check failed."""
    return {x: found for x, found in read_capacities(one).items() if x not in one.of(RateResult).void_scales}


def _sound(one: Evaluation, *, counted: bool) -> Run:
    """Rates of the cycles by scale, of the headline where it is ``counted``, without scales whose check failed. In
    stages they are those of the measured clients, as in the table of the stages."""
    found: dict[int, Floats] = {}
    for scale, rates in one.own.of(RateResult).cycle_rates.items():
        if scale not in one.of(RateResult).void_scales:
            found[scale] = np.array(one.of(KindsResult).nopm[scale].by_cycle) if counted else rates
    return found


def _within(servers: Sequence[str], values: Sequence[str]) -> bool:
    """Whether two sides of one product have different ``values``."""
    found: dict[str, set[str]] = {}
    for server, value in zip(servers, values, strict=True):
        found.setdefault(server, set()).add(value)
    return any(len(some) > 1 for some in found.values())


def _doubts(evaluation: Evaluation, side: int) -> Iterator[Told]:
    """The other doubts of an archive, one of each kind in words, with their scales."""
    kinds: dict[str, list[Doubt]] = {}
    for doubt in evaluation.of(WarningsResult).doubts:
        if doubt.code not in _TOLD_ABOVE:
            kinds.setdefault(doubt.code, []).append(doubt)
    for code, some in kinds.items():
        alike = [one for one in some if one.message == some[0].message]
        others = [one for one in some if one not in alike]
        more = f", and {len({one.message for one in others})} more of this kind{_name_scales(others)}" if others else ""
        scales = _name_scales(alike)
        told = len(alike) == 1 and f"scale {alike[0].scale}" in alike[0].message
        yield Told(code, f"{some[0].message}{'' if told else scales}{more}", side)


def _name_scales(some: Sequence[Doubt]) -> str:
    scales = sorted({one.scale for one in some if one.scale is not None})
    return f" (scale{'s' * (len(scales) > 1)} {', '.join(f'{scale:,}' for scale in scales)})" if scales else ""


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else np.nan


def basis(section: Section) -> str:
    """What the intervals of ``section`` speak of, and what they know nothing of."""
    columns = max(map(section.bases.count, section.bases)) - 1
    together = f"; {LEVEL:.0%} for all {columns} columns of a row together (Bonferroni)" if columns > 1 else ""
    if not section.compared[0].repeated:
        what = "of one search each" if section.searched else "over the cycles of one run each"
        return f"{what}: the spread between runs is not included{together}"
    counts = [len(side) for side in section.evaluations]
    alike = "; a column with one run is assumed to have the same spread" if min(counts) == 1 else ""
    numbers = " + ".join(map(str, counts))
    return f"by the spread between runs of the same settings ({numbers} runs){alike}{together}"


def verdicts(comparison: Comparison, section: Section, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(name, sentence) for each side but those that others are divided by; ``names`` stand for the sides."""
    for number, name in enumerate(names):
        if number != section.bases[number]:
            yield name, _verdict(comparison, section, number, names[section.bases[number]])


def _verdict(comparison: Comparison, section: Section, number: int, first: str) -> str:
    one = section.compared[number]
    sound = {scale: found for scale, found in one.relative.items() if isfinite(found.value)}
    if not sound:
        return f"no verdict: no scale has a rate and a passed check, here and at {first}"
    over = "" if len(sound) == 1 else f" over scales {min(sound)}-{max(sound)}"
    if one.overall is None and len(sound) > 1:
        return f"no verdict: nothing was committed at a scale, see {', '.join(map(str, sound))} one by one"
    factor = one.overall or next(iter(sound.values()))
    at = f" at scale {next(iter(sound))}" if len(sound) == 1 else over
    within = f" [{factor.low:.2f}, {factor.high:.2f}]" if isfinite(factor.low) else ""
    figure = f"{factor.value:.2f} times the {section.figure} of {first}{within}{at}"
    both = [*section.evaluations[section.bases[number]], *section.evaluations[number]]
    void = sorted({x for found in both for x in found.of(RateResult).void_scales})
    more = f"; without scale {', '.join(map(str, void))}, whose check failed" if void else ""
    if "spec.workload" in comparison.differences:
        return f"no verdict, as the workloads differ: {figure}{more}"
    if comparison.load:
        more += "; they did different work"
    return _words(comparison, section, number, factor, figure) + more


def _words(comparison: Comparison, section: Section, number: int, factor: Interval, figure: str) -> str:
    differs = factor.low > 1 or factor.high < 1
    word = ("more" if factor.value > 1 else "less") if section.searched else "faster" if factor.value > 1 else "slower"
    if section.compared[number].repeated:
        if not isfinite(factor.low):
            return f"{figure}: no verdict, no run was repeated at these scales"
        return f"{word}: {figure}" if differs else f"cannot tell: {figure} lies within the spread between runs"
    if number in comparison.alike:
        return f"{figure} with the same settings: two runs may differ this much here without any change"
    if not isfinite(factor.low):
        without = "no verdict: the steps of the search give no interval" if section.searched else \
            f"no interval and no verdict below {FEWEST} committing cycles at each scale"
        return f"{figure}: {without}"
    if not differs:
        return f"cannot tell: {figure}"
    return (
        f"{word} in this one pair of runs: {figure}. The spread between runs with the same settings is "
        "unknown: repeat both, and specify all archives"
    )
