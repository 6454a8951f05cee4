"""What the archives of a study hold, trial by trial, and the effects of its factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

import numpy as np

from dsbench.archive import Archive, RunRecord
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.several.settings import OF_SERVER, SAYS_NOTHING, described
from dsbench.read.stats.cache import Hits, hits
from dsbench.read.stats.comparison import differing
from dsbench.read.stats.effects import Effects, effects
from dsbench.read.stats.values import Floats, Frequency, Resource
from dsbench.read.subjects import measures
from dsbench.spec import SpecError
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


MEASURES: Final = {"rate": "rate", "p50": "median residence time", "p99": "99 % quantile of the residence times"}
"""What effects can be of, and its name."""


class Point(NamedTuple):
    """Where a trial measured: one of its numbers of threads, and a scale."""

    threads: int
    """0 where each run has one number only."""
    scale: int


@dataclass(frozen=True)
class Made:
    """A trial that was made, and what it found."""

    trial: Trial
    at: tuple[int, ...]
    """Numbers of the levels."""
    values: Mapping[Point, float]
    """Rate in ``unit``, or time in ms."""
    seconds: Floats
    """Committed transactions of each second of its cycles at its largest scale, in order."""
    resources: tuple[Resource, ...]
    """What a transaction cost there."""
    probes: Mapping[str, float] = field(default_factory=dict)
    """Tests of storage tools to what they found there."""
    dsi: float = float("nan")
    frequency: Frequency | None = None
    """Of its residence times there."""

    @property
    def hits(self) -> Hits:
        """What it found in memory there."""
        return hits(self.frequency, self.resources)

    def mean(self, points: Iterable[Point]) -> float:
        """Geometric mean over ``points``, or over its own where there are none; nan where one is missing or 0."""
        found = np.array([self.values.get(point, np.nan) for point in points or self.values])
        return float(np.exp(np.log(found).mean())) if found.size and np.all(found > 0) else float(np.nan)


@dataclass(frozen=True)
class Outcomes:
    """A study with what was found so far."""

    study: Study
    measure: str
    """One of ``MEASURES``."""
    unit: str
    """"tps", "NOPM …" or "ms"."""
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
    """Which stage of the runs the rates are of, and what they count; empty where all transactions of a run count."""
    products: tuple[str, ...]
    """Servers with their versions."""
    unlike: Mapping[int, Unlike]
    """By number of a trial that is not comparable with others of its levels: what differs and is no factor."""

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
        """What the effects are of: the geometric mean over the common points."""
        return made.mean(self.points)

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

        ``None`` where one of them was not measured. Within a block a trial is divided by the one whose other levels are
        the same: where one of the two is missing, the other says nothing.
        """
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


def outcomes(study: Study, measure: str = "rate") -> Outcomes:
    """What ``study`` found; ``measure`` is one of ``MEASURES``. ``ArchiveError`` where an archive cannot be read."""
    if measure not in MEASURES:
        raise SpecError("--of", f"no measure {measure!r}", f"use one of {', '.join(MEASURES)}")
    done = study.counted("done")
    read = [(trial, *_read(study, trial)) for trial in done]
    headline = _headline([evaluation for _, _, evaluation in read]) if measure == "rate" else ""
    made = tuple(_made(study, trial, evaluation, measure, headline) for trial, _archive, evaluation in read)
    levels = tuple(factor.resolved for factor in study.factors)
    points = _points(made, varied=any(_LADDER & set(one.sets) for some in levels for one in some))
    references = tuple(factor.reference_number for factor in study.factors)
    runs = [archive.run for _, archive, _ in read]
    stage = "; ".join(filter(None, dict.fromkeys(one.of_stage(_parts(one)[-1]) for _, _, one in read)))
    unit = headline or ("operations/s" if stage else "tps")
    return Outcomes(
        study, measure, "ms" if measure != "rate" else unit, levels, references, made, points,
        _effects(made, points, levels, references, study.spec.trials.design != "screening"),
        ", ".join(dict.fromkeys(run.entry.label for run in runs)),
        stage,
        tuple(dict.fromkeys(run.server_version.partition(" on ")[0] for run in runs)),
        unlike(study.factors, [(trial, archive.run) for trial, archive, _ in read]),
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


def _read(study: Study, trial: Trial) -> tuple[Archive, Evaluation]:
    archive = Archive.open(study.archive_of(trial))
    return archive, evaluate(archive)


def _headline(evaluations: list[Evaluation]) -> str:
    """What all of them count beside transactions, such as New-Orders per minute; empty where they do not."""
    labels = [{one.label for one in part.nopm.values()} for found in evaluations for part in _parts(found)]
    known = set().union(*labels) if labels else set()
    return next(iter(known)) if len(known) == 1 and all(labels) else ""


def _parts(evaluation: Evaluation) -> list[Evaluation]:
    """The numbers of threads of one evaluation, in its last stage."""
    own = [part for key, part in evaluation.series.items() if key.stage == evaluation.stage]
    return own or [evaluation]


def _made(study: Study, trial: Trial, evaluation: Evaluation, measure: str, headline: str) -> Made:
    parts = _parts(evaluation)
    values = {
        Point(part.threads if len(parts) > 1 else 0, row.scale): _value(evaluation, part, row.scale, measure, headline)
        for part in parts for row in part.scales
    }  # fmt: skip
    largest = max(evaluation.seconds, default=max(evaluation.frequency, default=0))
    course = evaluation.seconds[largest][:, 0] if largest in evaluation.seconds else np.empty(0)
    return Made(
        trial, combination(study.factors, trial), values, np.asarray(course, dtype=float),
        evaluation.resources.get(largest, ()), {one.name: one.mean for one in evaluation.probes.get(largest, ())},
        evaluation.index.dsi.value if evaluation.index.dsi else float("nan"),
        evaluation.frequency.get(largest),
    )  # fmt: skip


def _value(whole: Evaluation, part: Evaluation, scale: int, measure: str, headline: str) -> float:
    if measure != "rate":
        found = part.frequency.get(scale)
        return found.quantiles_ns[0.5 if measure == "p50" else 0.99] / 1e6 if found else float(np.nan)
    if headline:
        return measures()["nopm"](part).get(scale, float(np.nan))
    return whole.own_rates(part).get(scale, float(np.nan))


def _effects(
    made: tuple[Made, ...],
    points: tuple[Point, ...],
    levels: tuple[tuple[Level, ...], ...],
    references: tuple[int, ...],
    pairs: bool,
) -> Effects | None:
    used = [(one, one.mean(points)) for one in made]
    used = [(one, value) for one, value in used if np.isfinite(value) and value > 0]
    if len(used) < 2:
        return None
    return effects(
        np.array([one.at for one, _ in used], dtype=np.int64), [len(one) for one in levels], references,
        np.array([one.trial.block for one, _ in used], dtype=np.int64), np.array([value for _, value in used]),
        pairs=pairs,
    )  # fmt: skip
