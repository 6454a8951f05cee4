"""From a study to its trials: combinations of levels, in blocks, each with the specification of its run."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dsbench.dataclass import dataclass
from dsbench.measure.ahead import Ahead, look_ahead
from dsbench.measure.journal import RunError
from dsbench.measure.run import try_target
from dsbench.redaction import redact
from dsbench.spec import Merged, NotHere, RunSpec, SpecError, merged
from dsbench.stats import effects as designs
from dsbench.study.history import History
from dsbench.study.paths import AFTERWARDS, STORAGE, put, with_blocks
from dsbench.study.spec import Factor, StudySpec, level_name

Status = Literal["planned", "running", "done", "void", "failed", "left out"]
Combination = tuple[int, ...]
"""Number of a level for each factor."""
MOST_BLOCKS: Final = 100_000


@dataclass(frozen=True)
class Trial:
    """One run of a study."""

    number: Annotated[int, Field(ge=1)]
    """From 1, in the order in which they are made."""
    block: Annotated[int, Field(ge=1, le=MOST_BLOCKS)]
    """From 1."""
    levels: tuple[str, ...]
    """Name of the level of each factor."""
    status: Status = "planned"
    """"void": a check of its database failed; "left out": it cannot be made; "failed": it was begun."""
    reason: str = ""
    archive: Annotated[str, Field(max_length=255, pattern=r"^([^/\\\x00.][^/\\\x00]*)?$")] = ""
    """Name of its archive in the study's folder ``archives``; empty before it was begun."""
    started: str = ""
    ended: str = ""


@dataclass(frozen=True)
class AskedTrials:
    """What a trial asks for."""

    merged: Merged
    before: int = 0
    """Runs on the same database, or on the same file system, before the one that counts."""
    then: str = AFTERWARDS[0]
    """What happens to its file system after them."""
    kept: bool = True
    """Whether these runs keep their database, and the one that counts is made on it."""
    other: Merged | None = None
    """What the runs before do; ``None`` where it is the same as the one that counts."""

    @property
    def earlier(self) -> Merged:
        """What the runs before are asked to do."""
        return self.other or self.merged


def combinations(spec: StudySpec, factors: Sequence[Factor]) -> list[Combination]:
    """What the design tries, in order."""
    counts = [len(factor.levels) for factor in factors]
    references = [factor.reference_number for factor in factors]
    match spec.trials.design:
        case "full":
            return designs.full(counts)
        case "one-at-a-time":
            return designs.one_at_a_time(counts, references)
        case "list":
            return [_listed(factors, number, row) for number, row in enumerate(spec.trial, start=1)]
    for factor in factors:
        if len(factor.levels) != 2:
            raise SpecError(f"factor {factor.name!r}: levels", "the design screening needs two levels of each factor",
                            "specify two, or use the design one-at-a-time")  # fmt: skip
    return [
        tuple(ref if bit == 0 else 1 - ref for bit, ref in zip(row, references, strict=True))
        for row in designs.screening(len(factors))
    ]


def _listed(factors: Sequence[Factor], number: int, row: dict[str, Any]) -> Combination:
    known = [factor.name for factor in factors]
    if unknown := set(row) - set(known):
        raise SpecError(f"trial.{number}", f"no factor {sorted(unknown)[0]!r}", f"the factors are {', '.join(known)}")
    found = []
    for factor in factors:
        names = [level.name for level in factor.resolved]
        wanted = level_name(row[factor.name]) if factor.name in row else names[factor.reference_number]
        if wanted not in names:
            problem = f"{wanted!r} is not a level of {factor.name}"
            raise SpecError(f"trial.{number}", problem, f"use one of {', '.join(names)}")
        found.append(names.index(wanted))
    return tuple(found)


def blocks(
    spec: StudySpec, factors: Sequence[Factor], tried: Sequence[Combination], first: int, count: int, ahead: int = 0
) -> list[Trial]:
    """``count`` blocks of all combinations ``tried`` from block ``first`` on, after ``ahead`` earlier trials."""
    made: list[Trial] = []
    levels = [[level.name for level in factor.resolved] for factor in factors]
    for block in range(first, first + count):
        together: dict[Combination, list[Combination]] = {}
        for at in tried:
            together.setdefault(chain_of(factors, at) or at, []).append(at)
        order = list(together.values())
        if spec.trials.order == "random blocks":
            random.Random(f"{spec.trials.seed} {block}").shuffle(order)
        for at in (at for chain in order for at in chain):
            names = tuple(own[level] for own, level in zip(levels, at, strict=True))
            made.append(Trial(ahead + len(made) + 1, block, names))
    return made


def chain_of(factors: Sequence[Factor], at: Combination) -> Combination | None:
    """What the trials of a block have in common that are made one after another on one database; ``None``: alone."""
    sharing = next((number for number, factor in enumerate(factors) if factor.same_database), None)
    return None if sharing is None else (*at[:sharing], -1, *at[sharing + 1 :])


def combination(factors: Sequence[Factor], trial: Trial) -> Combination:
    """The numbers of the levels of ``trial``."""
    found = []
    for factor, name in zip(factors, trial.levels, strict=True):
        found.append([level.name for level in factor.resolved].index(name))
    return tuple(found)


def asked(spec: StudySpec, factors: Sequence[Factor], at: Combination, block: int) -> AskedTrials:
    """The run of a combination. ``SpecError`` where it cannot be asked for."""
    values = deepcopy(spec.run)
    values = {name.replace("-", "_"): value for name, value in values.items()}
    target = values.get("target", {})
    values["target"] = dict(target) if isinstance(target, dict) else {"url": target}
    values.setdefault("seed", spec.trials.seed * 1000 + block)
    said = []
    sets: list[tuple[str, Any]] = []
    for factor, level in zip(factors, at, strict=True):
        chosen = factor.resolved[level]
        said.append(f"{factor.name} {chosen.name}")
        sets += chosen.sets.items()
    for path, value in sorted(sets, key=lambda one: one[0] != STORAGE):  # A whole storage comes before its parts.
        put(values, path, value)
    values["target"] = with_blocks(values["target"])
    history = History.take(values)
    values["label"] = ", ".join(said)[:60].strip()
    found = merged(values)
    kept = history.keeps(values, found.spec)
    history.refuse(found.spec, kept, any(factor.same_database for factor in factors))
    return AskedTrials(found, history.runs, history.then, kept, history.before(values, found.spec))


def checked(
    spec: StudySpec, factors: Sequence[Factor], trials: Sequence[Trial], made: Collection[Combination] = ()
) -> tuple[list[Trial], dict[Combination, Ahead]]:
    """``trials`` with those left out that no run can be asked for, and what is ahead of each combination.

    One that was left out earlier and can be made now is planned; its reason stays until it is made.
    A base run that cannot be is an error, and so is a level that cannot be beside the references of all others:
    then the level is wrong, and not what it meets. ``made`` are combinations that were made before.
    """
    base = tuple(factor.reference_number for factor in factors)
    _refuse(spec, factors, base)
    found: dict[Combination, Ahead] = {}
    problems: dict[Combination, SpecError | RunError] = {}
    result = []
    for trial in trials:
        at = combination(factors, trial)
        if at not in found and at not in problems:
            try:
                wanted = asked(spec, factors, at, trial.block)
                if wanted.other:
                    look_ahead(wanted.other)  # What it lacks, the trial lacks.
                found[at] = look_ahead(wanted.merged)
            except (SpecError, RunError) as error:
                problems[at] = error
        result.append(_left_out(trial, problems.get(at)))
    _refuse_wrong(factors, problems, {*found, *made})
    stages = dict.fromkeys(stage.name for ahead in found.values() for one in ahead.scales for stage in one.stages
                           if stage.work in ("load", "work"))  # fmt: skip
    if spec.stage and stages and spec.stage not in stages:
        raise SpecError("stage", f"no run has a stage {spec.stage[:60]!r}", f"use one of {', '.join(stages)}")
    return result, found


def tried(
    spec: StudySpec, factors: Sequence[Factor], trials: Sequence[Trial], made: Collection[Combination],
    tell: Callable[[str], None], attempt: Callable[[RunSpec], object] = try_target,
) -> list[Trial]:
    """``trials`` with those left out whose server does not take what they ask of it; each server is started once.

    A setting that no combination of a level can have is an error, and so is a server that does not answer. ``made`` are
    combinations that were made before; ``tell`` hears of each server that is tried, which ``attempt`` does.
    """
    servers: dict[str, SpecError | None] = {}
    problems: dict[Combination, SpecError | RunError] = {}
    fine = set(made)
    result = []
    for trial in trials:
        at = combination(factors, trial)
        wanted = asked(spec, factors, at, trial.block).merged.spec
        key = wanted.target.model_dump_json()
        if key not in servers:
            tell(f"trying {redact(wanted.target.in_one) if wanted.target.private else wanted.target.redacted}")
            servers[key] = _refused(wanted, attempt)
        if (problem := servers[key]) is None:
            fine.add(at)
        else:
            problems[at] = problem
        result.append(_left_out(trial, problem))
    _refuse_wrong(factors, problems, fine)
    return result


def _refused(wanted: RunSpec, attempt: Callable[[RunSpec], object]) -> SpecError | None:
    """What is wrong with the target of ``wanted``; ``RunError`` where it does not answer."""
    try:
        attempt(wanted)
    except SpecError as error:
        return error
    return None


def _left_out(trial: Trial, problem: Exception | None) -> Trial:
    if problem is not None:
        more = f"; {problem.remedy}" if isinstance(problem, NotHere) else ""
        return replace(trial, status="left out", reason=f"{problem}{more}")
    return replace(trial, status="planned") if trial.status == "left out" else trial


def _refuse_wrong(
    factors: Sequence[Factor], problems: Mapping[Combination, SpecError | RunError], fine: Collection[Combination]
) -> None:
    """``SpecError`` where nothing can be made, or a level that is wrong wherever it is tried.

    A level that lacks a program, or fits some levels of other factors only, is left out there by name.
    """
    if not problems:
        return
    first = next(iter(problems.values()))
    if not fine:
        raise SpecError("factor", f"no trial can run: {first}", getattr(first, "remedy", "") or "correct the levels")
    for number, factor in enumerate(factors):
        usable = {at[number] for at in fine}
        for level, one in enumerate(factor.resolved):
            own = [error for at, error in problems.items() if at[number] == level]
            if own and level not in usable and all(_is_wrong(error) for error in own):
                key = f"factor {factor.name!r}: levels"
                raise SpecError(key, f"{one.name!r}: {own[0]}", own[0].remedy)


def _is_wrong(error: SpecError | RunError) -> bool:
    return error.usage and not isinstance(error, NotHere)


def _refuse(spec: StudySpec, factors: Sequence[Factor], base: Combination) -> None:
    try:
        asked(spec, factors, base, 1)
    except SpecError as error:
        raise SpecError(f"run: {error.option}", error.problem, error.remedy) from None
    for number, factor in enumerate(factors):
        for level, name in enumerate(one.name for one in factor.resolved):
            try:
                asked(spec, factors, (*base[:number], level, *base[number + 1 :]), 1)
            except SpecError as error:
                key = f"factor {factor.name!r}: levels"
                raise SpecError(key, f"{name!r}: {error}", error.remedy) from None
