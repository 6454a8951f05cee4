"""What the archives of a study hold, trial by trial, and the effects of its factors.

``outcomes(study, "p99", "l.i1")`` reads each archive once, with all measures of all its stages. After that
``found.choose("cpu")`` and ``found.choose(stage="l.i2")`` are the same trials by another measure or stage, with effects
of their own, and read nothing. ``found.how`` says what the measure is, ``found.value(made)`` is that of a trial,
``made.values`` has it by clients and scale, ``found.mean(values)`` combines trials as the measure wants it, and
``made.measured["iowait"]`` has any other measure of the same stage by ``Point``. Where ``found.how.geometric`` is
false, effects are differences around 0, and values may be 0. Where ``found.how.per_run`` is true, as for the DSI, the
only points have scale 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import prod
from typing import Final, NamedTuple

import numpy as np

from dsbench.archive import Archive, RunRecord
from dsbench.dataclass import dataclass
from dsbench.read.choice import choose, find_measure, list_stages, of_what, read_unit, read_values, refuse_missing
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subject import Measure
from dsbench.read.subjects import measures
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.probes import ProbesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.stages import StagesResult
from dsbench.read.verdict import RunVerdict, Soundness, Tally, judge_run
from dsbench.several.settings import OF_SERVER, SAYS_NOTHING, described
from dsbench.spec import SpecError
from dsbench.stats.cache import Hits, hits
from dsbench.stats.comparison import differing
from dsbench.stats.effects import Effect, Effects, effects
from dsbench.stats.index import Fall
from dsbench.stats.values import Floats, Frequency, Interval, Resource
from dsbench.study.paths import HOST
from dsbench.study.plan import Trial, combination
from dsbench.study.record import Study
from dsbench.study.spec import Factor, Level

_OF_TARGET: Final = (
    "server", "durability.", "setting.", "RDBMS.", "API.", "driver.", "application.dsbench", OF_SERVER,
    "spec.target.version",
)  # fmt: skip
"""How names begin that tell of the server and its client; the others are those of the machine, or of the work."""
_SETTING: Final = "target.settings."

Unlike = Mapping[str, tuple[str, str]]
"""Name to its value in the first trial of the same levels, and in this one; empty text where there is none."""


def unlike(factors: Sequence[Factor], made: Sequence[tuple[Trial, RunRecord]]) -> dict[int, Unlike]:
    """By number of a trial, what of its target differs from that of the first one with the same levels.

    The host is no level here, as its machine may differ and its server may not; trials of one combination are set
    beside the first of them in the order of ``made``. Settings that a factor sets are left out: what rules compute is
    for each machine its own.
    """
    hosts = [at for at, factor in enumerate(factors) if factor.path == HOST]
    set_by = {path.removeprefix(_SETTING) for factor in factors for level in factor.resolved for path in level.sets}
    known = described([run for _, run in made])
    firsts: dict[tuple[str, ...], Mapping[str, str]] = {}
    found: dict[int, Unlike] = {}
    for (trial, run), values in zip(made, known, strict=True):
        target = {name: value for name, value in values.items() if _counts(name, set_by)}
        if not hosts:
            target["machine"] = run.host
        key = tuple(level for at, level in enumerate(trial.levels) if at not in hosts)
        apart = differing([firsts.setdefault(key, target), target])
        if apart:
            found[trial.number] = {name: (there, here) for name, (there, here) in apart.items()}
    return found


def _counts(name: str, set_by: set[str]) -> bool:
    return name.startswith(_OF_TARGET) and name not in SAYS_NOTHING and name.rpartition(".")[2] not in set_by


class Point(NamedTuple):
    """Where a trial measured: one of its numbers of clients, and a scale."""

    clients: int
    """0 where each run has one number only."""
    scale: int


    """0 for what a run has once, such as the DSI."""


@dataclass(frozen=True)
class Ladder:
    """What one number of clients made of all scales."""

    dsi: Interval | None
    fall: Fall | None
    """Between which scales the rate falls most; ``None`` without a cut-off."""


@dataclass(frozen=True)
class OfStage:
    """What a trial found in one stage of its run; with a group of clients, of these alone."""

    measured: Mapping[str, Mapping[Point, float]]
    """Name of each measure to its values."""
    units: Mapping[str, str]
    """Name of each measure to its unit."""
    of_stage: str
    """What rates are of, as ``Evaluation.of_stage``."""
    seconds: Floats
    """Committed transactions of each second of its cycles at its largest scale, in order."""
    resources: tuple[Resource, ...]
    """What a transaction cost there."""
    probes: Mapping[str, float] = field(default_factory=dict)
    """Tests of storage tools to what they found there."""
    frequencies: Mapping[int, Frequency] = field(default_factory=dict)
    """Of its residence times at its smallest and at its largest scale, and at those that the study names."""
    missed: bool = False
    """Whether inserts in the background did not keep the target rate somewhere."""
    ladders: Mapping[int, Ladder] = field(default_factory=dict)
    """By number of clients, 0 where each run has one only."""
    probe_units: Mapping[str, str] = field(default_factory=dict)
    """Units of the tests of ``probes``."""
    grown: bool = False
    """Whether scales were made of the one before, so that times of population are those of the added rows."""
    alone: Mapping[str, Mapping[Point, float]] = field(default_factory=dict)
    """Name of each measure that is one of a whole run to what it is in this stage alone."""


@dataclass(frozen=True)
class Made:
    """A trial that was made, and what it found in the stage that was chosen."""

    trial: Trial
    at: tuple[int, ...]
    """Numbers of the levels."""
    verdict: RunVerdict
    """Of its run."""
    values: Mapping[Point, float]
    """Of the measure that was chosen; empty where the trial has none."""
    seconds: Floats
    """Committed transactions of each second of its cycles at its largest scale, in order."""
    resources: tuple[Resource, ...]
    """What a transaction cost there."""
    probes: Mapping[str, float] = field(default_factory=dict)
    """Tests of storage tools to what they found there."""
    dsi: float = float("nan")
    frequencies: Mapping[int, Frequency] = field(default_factory=dict)
    """Of its residence times at its smallest and at its largest scale, and at those that the study names."""
    measured: Mapping[str, Mapping[Point, float]] = field(default_factory=dict)
    """Name of each measure to its values in that stage."""
    stages: Mapping[str, OfStage] = field(default_factory=dict)
    """Every stage that measures something, in order."""
    last: str = ""
    """The stage that counts where none is chosen: the last with clients."""
    marks: Mapping[str, float] = field(default_factory=dict)
    """Sizes of memories in bytes, by name."""

    @property
    def hits(self) -> Hits:
        """What it found in memory there."""
        return hits(self.frequency, self.resources)

    @property
    def frequency(self) -> Frequency | None:
        """That at its largest scale."""
        return self.frequencies[max(self.frequencies)] if self.frequencies else None


@dataclass(frozen=True)
class Outcomes:
    """A study with what was found so far."""

    study: Study
    measure: str
    """The name of ``how``, as the user wrote it."""
    unit: str
    """"tps", "NOPM …", "rows/s", "ms" …"""
    levels: tuple[tuple[Level, ...], ...]
    """Of each factor."""
    references: tuple[int, ...]
    made: tuple[Made, ...]
    points: tuple[Point, ...]
    """That all trials have; empty where a factor varies them, so that each trial counts as a whole."""
    effects: Effects | None
    """``None`` where fewer than two trials were made."""
    workload: str
    stage: str
    """Which stage of the runs the figures are of, and what a rate counts; empty where all transactions of a run do."""
    products: tuple[str, ...]
    """Servers with their versions."""
    unlike: Mapping[int, Unlike]
    """By number of a trial that is not comparable with others of its levels: what differs and is no factor."""
    how: Measure
    """What is measured."""
    chosen: str = ""
    """The stage that was chosen; empty where each trial counts with its last one."""
    group: str = ""
    """The group of clients that was chosen."""
    pairs: tuple[tuple[int, int], ...] = ()
    """Pairs of factors that are to be drawn; empty where none was chosen."""
    beside: int = 1
    """Stages that are shown beside each other: the intervals of their effects hold together."""

    def choose(self, measure: str = "", stage: str = "") -> Outcomes:
        """The same trials by another measure or stage; each that is not named stays. Nothing is read again."""
        return _chosen(self, measure or self.measure, stage or self.chosen)

    def put_beside(self, stages: int) -> Outcomes:
        """The same as one of so many stages."""
        one = replace(self, beside=stages)
        return replace(one, effects=_effects(one))

    @property
    def tally(self) -> Tally:
        """The verdicts of the trials that were made, of which the void ones are in no figure."""
        void = [RunVerdict(Soundness.VOID, (trial.reason,)) for trial in self.study.counted("void")]
        return Tally({"": [*(one.verdict for one in self.made), *void]})

    def part(self, made: Made) -> OfStage | None:
        """What ``made`` found in the stage that counts."""
        return made.stages.get(self.chosen or made.last)

    @property
    def stages(self) -> tuple[str, ...]:
        """All stages of all trials, in order."""
        return tuple(dict.fromkeys(name for one in self.made for name in one.stages))

    @property
    def staged(self) -> bool:
        """Whether runs have several stages, none of them was chosen, and the measure is not one of a whole run."""
        several = not self.chosen and any(len(one.stages) > 1 for one in self.made)
        return several and not is_of_run(self.made, self.measure)

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(factor.name for factor in self.study.factors)

    @property
    def uneven(self) -> bool:
        """Whether some levels were not tried together as often as others of their factors were."""
        tried = Counter(one.at for one in self.made)
        whole = prod(len({at[factor] for at in tried}) for factor in range(len(self.factors)))
        return len(tried) < whole or len(set(tried.values())) > 1

    def value(self, made: Made) -> float:
        """What the effects are of: the mean over the common points, or over its own where there are none; nan where it
        is not known, or no number above 0 where the mean is geometric."""
        found = np.array([made.values.get(point, np.nan) for point in self.points or made.values])
        known = found.size and np.all(found > (0 if self.how.geometric else -np.inf))
        return self.mean(found) if known else float(np.nan)

    def mean(self, values: Iterable[float]) -> float:
        """Of those of ``values`` that are known, geometric or arithmetic as the measure wants it; nan without one."""
        if self.how.geometric:
            return mean(values)
        found = np.array([value for value in values if np.isfinite(value)])
        return float(found.mean()) if found.size else float(np.nan)

    def gain(self, effect: Effect) -> float:
        """How much better the level is than its reference: ln of the ratio, or the difference; below 0 it is worse."""
        return effect.size if self.how.more else -effect.size

    def alike(self, factor: int) -> list[list[Made]]:
        """By level of ``factor`` the trials that can be compared."""
        kept = self.comparable((factor,))
        return [[one for one in kept if one.at[factor] == level] for level in range(len(self.levels[factor]))]

    def comparable(self, factors: Collection[int], among: Iterable[Made] | None = None) -> list[Made]:
        """Of the trials ``among`` all: those whose other factors take the same levels wherever ``factors`` were tried.

        All where the design has no such ones. Else a mean by level would be one over other work as well.
        """
        made = list(self.made if among is None else among)
        seen: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
        for one in made:
            seen.setdefault(_others(one, *factors), set()).add(tuple(one.at[n] for n in factors))
        present = {tuple(one.at[n] for n in factors) for one in made}
        whole = {others for others, levels in seen.items() if levels == present}
        return [one for one in made if _others(one, *factors) in whole] or made

    def relative(self, factor: int, level: int, point: Point) -> tuple[float, float, float] | None:
        """At ``point`` the value of a level over that of the reference, and the least and the greatest of the blocks.

        ``None`` where one of them was not measured, or the measure has no ratios. Within a block a trial is divided by
        the one whose other levels are the same: where one of the two is missing, the other says nothing.
        """
        if not self.how.geometric:
            return None
        alike = self.alike(factor)
        at_level, at_reference = (
            {(one.trial.block, _others(one, factor)): one.values.get(point, 0) for one in alike[number]}
            for number in (level, self.references[factor])
        )
        blocks: dict[int, list[float]] = {}
        for key, value in at_level.items():
            if value > 0 and (beside := at_reference.get(key, 0)) > 0:
                blocks.setdefault(key[0], []).append(value / beside)
        quotients = [mean(some) for some in blocks.values()]
        return (mean(quotients), min(quotients), max(quotients)) if quotients else None


def mean(values: Iterable[float]) -> float:
    """Geometric mean of the positive ones of ``values``; nan without one."""
    found = np.array([value for value in values if value > 0])
    return float(np.exp(np.log(found).mean())) if found.size else float(np.nan)


def _others(one: Made, *factors: int) -> tuple[int, ...]:
    return tuple(level for factor, level in enumerate(one.at) if factor not in factors)


def outcomes(
    study: Study, measure: str = "", stage: str = "", group: str = "", pairs: Sequence[tuple[str, str]] = ()
) -> Outcomes:
    """What ``study`` found by ``measure``, in ``stage``, by the clients of ``group``; see ``read.choice``.

    What is not named is what the study's file names, else the rate, the last stage, and the measured clients. ``pairs``
    of factors are to be drawn. ``SpecError`` where there is no such measure, stage, group or factor, ``ArchiveError``
    where an archive cannot be read.
    """
    spec = study.spec
    measure, stage, group = measure or spec.of or "rate", stage or spec.stage, group or spec.group
    find_measure(measure)
    made: list[Made] = []
    runs: list[tuple[Trial, RunRecord]] = []
    known: dict[str, dict[str, None]] = {}
    for trial in study.counted("done"):
        archive = Archive.open(study.archive_of(trial))
        evaluation = evaluate(archive)
        verdict = judge_run(evaluation, archive.run)
        made.append(replace(_made(study, trial, evaluation, verdict, group), marks=archive.run.marks))
        runs.append((trial, archive.run))
        for name, groups in list_stages(evaluation).items():
            known.setdefault(name, {}).update(dict.fromkeys(groups))
    refuse_missing(known, stage, group)
    found = Outcomes(
        study, measure, "", tuple(factor.resolved for factor in study.factors),
        tuple(factor.reference_number for factor in study.factors), tuple(made), (), None,
        ", ".join(dict.fromkeys(run.workload.label for _, run in runs)), "",
        tuple(dict.fromkeys(run.server_version.partition(" on ")[0] for _, run in runs)),
        unlike(study.factors, runs), find_measure(measure), stage, group,
        tuple(_pair([factor.name for factor in study.factors], pair) for pair in pairs or spec.pair),
    )  # fmt: skip
    return _chosen(found, measure, stage)


def _pair(factors: Sequence[str], names: tuple[str, str]) -> tuple[int, int]:
    unknown = [name for name in names if name not in factors]
    if unknown:
        raise SpecError("--pair", f"no factor {unknown[0][:60]!r}", f"the factors are {', '.join(factors)}")
    if names[0] == names[1]:
        raise SpecError("--pair", f"{names[0]!r} is there twice", "specify two factors")
    return factors.index(names[0]), factors.index(names[1])


def _chosen(found: Outcomes, measure: str, stage: str) -> Outcomes:
    """``found`` by another measure, in another stage."""
    how = find_measure(measure)
    parts = [one.stages.get(stage or one.last) for one in found.made]
    known = [part for part in parts if part is not None]
    # The rate of TPC-C is New-Orders per minute, where all trials have them.
    labels = {part.units["nopm"] if part.measured["nopm"] else "" for part in known}
    read = "nopm" if measure == "rate" and len(labels) == 1 and all(labels) else measure
    made = tuple(_with(one, part, read, alone=bool(stage)) for one, part in zip(found.made, parts, strict=True))
    units = list(dict.fromkeys(part.units[read] for part in known if part.measured[read]))
    unit = units[0] if len(units) == 1 else "operations/s" if units and measure == "rate" else how.unit * (not units)
    of_run = is_of_run(found.made, measure) and not (stage and how.in_stage)
    parts_named = () if of_run else known
    words = "; ".join(dict.fromkeys(of_what(how, part.of_stage) for part in parts_named if part.of_stage))
    points = _points(made, varied=any(_LADDER & set(one.sets) for some in found.levels for one in some))
    other = replace(found, measure=measure, unit=unit, made=made, points=points, stage=words, how=how, chosen=stage)
    return replace(other, effects=_effects(other))


def is_of_run(made: Iterable[Made], measure: str) -> bool:
    """Whether ``measure`` says the same in all of several stages, as one of a whole run does."""
    said = [[dict(part.measured[measure]) for part in one.stages.values() if part.measured[measure]] for one in made]
    known = [parts for parts in said if parts]
    return any(len(parts) > 1 for parts in known) and all(part == parts[0] for parts in known for part in parts)


def _with(made: Made, part: OfStage | None, measure: str, *, alone: bool) -> Made:
    if part is None:
        return replace(made, values={}, seconds=np.empty(0), resources=(), probes={}, dsi=float("nan"),
                       frequencies={}, measured={})  # fmt: skip
    dsi = list(part.measured["dsi"].values())
    values = part.alone.get(measure, part.measured[measure]) if alone else part.measured[measure]
    return replace(
        made, values=values, seconds=part.seconds, resources=part.resources, probes=part.probes,
        dsi=dsi[-1] if dsi else float("nan"), frequencies=part.frequencies, measured=part.measured,
    )  # fmt: skip


_LADDER: Final = {"scales", "profile"}
"""Paths that say at which scales a trial measures."""


def _points(made: tuple[Made, ...], *, varied: bool) -> tuple[Point, ...]:
    """Those that all trials have, ``varied`` by a factor: none, unless they are the same in all.

    A scale that some trials put in, or could not measure, is not compared: they would be means over other scales.
    """
    own = [set(one.values) for one in made if one.values]
    common = set.intersection(*own) if own else set()
    return () if varied and any(one != common for one in own) else tuple(sorted(common))


def _made(study: Study, trial: Trial, evaluation: Evaluation, verdict: RunVerdict, group: str) -> Made:
    stages = {name: choose(evaluation, name, group) for name in list_stages(evaluation)}
    found = {name: _of_stage(parts, study.spec.frequencies) for name, parts in stages.items() if parts}
    at = combination(study.factors, trial)
    return Made(trial, at, verdict, {}, np.empty(0), (), stages=found, last=evaluation.stage)


def _of_stage(parts: Sequence[Evaluation], drawn: Collection[int]) -> OfStage:
    """``parts`` are the numbers of clients of one stage; ``drawn``: scales whose frequencies were asked for."""
    several = len(parts) > 1

    def read(measure: Measure, *, alone: bool = False) -> dict[Point, float]:
        return {Point(part.clients if several else 0, x): value for part in parts for x, value in
                read_values(measure, part, alone=alone).items()}  # fmt: skip

    measured = {name: read(measure) for name, measure in measures().items()}
    alone = {name: read(measure, alone=True) for name, measure in measures().items() if measure.in_stage}
    units = {name: read_unit(measure, parts[-1]) for name, measure in measures().items()}
    whole = parts[-1]
    if not whole.has_clients:
        return OfStage(measured, units, whole.of_stage, np.empty(0), ())
    own = whole.own
    frequency = own.of(LatencyResult).frequency
    largest = max(own.of(CourseResult).seconds, default=max(frequency, default=0))
    course = own.of(CourseResult).seconds[largest][:, 0] if largest in own.of(CourseResult).seconds else np.empty(0)
    return OfStage(
        measured, units, whole.of_stage, np.asarray(course, dtype=float),
            whole.of(CostResult).resources.get(largest, ()),
        {one.name: one.mean for one in whole.of(ProbesResult).probes.get(largest, ())},
            {x: frequency[x] for x in (min(frequency, default=0), *drawn, largest) if x in frequency},
        any(one.sustained is False for part in parts for one in part.of(StagesResult).efficiency.values()),
        {part.clients if several else 0: Ladder(part.of(RateResult).index.dsi, part.of(RateResult).fall)
            for part in parts},
        {one.name: one.unit for one in whole.of(ProbesResult).probes.get(largest, ())},
            any(part.of(RateResult).grown for part in parts),
        alone,
    )  # fmt: skip


def _effects(found: Outcomes) -> Effects | None:
    used = [(one, value) for one in found.made if np.isfinite(value := found.value(one))]
    if len(used) < 2:
        return None
    every = effects(
        np.array([one.at for one, _ in used], dtype=np.int64), [len(one) for one in found.levels], found.references,
        np.array([one.trial.block for one, _ in used], dtype=np.int64), np.array([value for _, value in used]),
        pairs=found.study.spec.trials.design != "screening", ratios=found.how.geometric, studies=found.beside,
    )  # fmt: skip
    return _of_one_unit(every, [n for n in range(len(found.levels)) if changes_unit(found, n)])


def changes_unit(found: Outcomes, factor: int) -> bool:
    """Whether each level of a factor has a unit of its own, or shares it with some: their values are no ratios."""
    units: dict[int, set[str]] = {}
    for one in found.made:
        if (part := found.part(one)) is not None and part.measured[found.measure]:
            units.setdefault(one.at[factor], set()).add(part.units[found.measure])
    return all(len(some) == 1 for some in units.values()) and len(set().union(*units.values())) > 1


def _of_one_unit(every: Effects, without: Collection[int]) -> Effects:
    """``every`` but the effects of factors ``without`` one unit, and their share of the variance. What another factor
    does at each of their levels remains: that is a ratio of ratios."""
    apart = [(n,) for n in without]
    shares = [one for one in every.shares if one.factors not in apart]
    whole = sum(one.share for one in shares)
    part = whole / sum(one.share for one in every.shares) if every.shares and apart else 1.0
    return replace(
        every, main=tuple(one for one in every.main if one.factors not in apart),
        shares=tuple(replace(one, share=one.share / part) for one in shares if part > 0),
    )  # fmt: skip
