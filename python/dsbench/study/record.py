"""``study.json``: what a study asks, what was added to it, and which trial each archive of its folder is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from dsbench import release
from dsbench.archive import ArchiveError
from dsbench.archive.folder import read as read_file
from dsbench.archive.parts import replace as written
from dsbench.dataclass import dataclass
from dsbench.measure.ahead import Ahead
from dsbench.measure.run import try_target
from dsbench.redaction import redact_values
from dsbench.spec import RunSpec, SpecError
from dsbench.spec.trust import risks
from dsbench.study.plan import Combination, Status, Trial, blocks, checked, combination, combinations
from dsbench.study.plan import tried as try_all
from dsbench.study.spec import Factor, StudySpec, level_name, parse, refuse_too_many

FAILED: Final[tuple[Status, ...]] = ("failed", "void")
"""Trials that ``--again`` makes once more."""
NAME: Final = "study.json"
ARCHIVES: Final = "archives"
"""Folder of the archives, beside it."""
_FORMAT: Final = 1
_TRIALS: Final = TypeAdapter(tuple[Trial, ...])


@dataclass(frozen=True)
class Study:
    """A study with its folder."""

    folder: Path
    spec: StudySpec
    """As it was begun."""
    factors: tuple[Factor, ...]
    """With the levels that were added."""
    trials: tuple[Trial, ...]

    @property
    def archives(self) -> Path:
        """Where its runs leave their archives."""
        return self.folder / ARCHIVES

    def archive_of(self, trial: Trial) -> Path:
        """That of ``trial``, a folder or a zip; ``ArchiveError`` where it is gone."""
        for name in (trial.archive, f"{trial.archive}.zip"):
            if trial.archive and (path := self.archives / name).exists():
                return path
        problem = f"trial {trial.number}: the archive {self.archives / trial.archive} is missing"
        raise ArchiveError(problem, "restore it", usage=True)

    def with_trial(self, trial: Trial) -> Study:
        """The same with another state of one trial."""
        return replace(self, trials=tuple(trial if one.number == trial.number else one for one in self.trials))

    def counted(self, *status: str) -> list[Trial]:
        """Trials with one of these states."""
        return [trial for trial in self.trials if trial.status in status]


def begin(spec: StudySpec, folder: Path, *, again: bool = False) -> tuple[Study, dict[Combination, Ahead]]:
    """The study of ``spec`` in ``folder``, with what is ahead of each combination: a new one, or the one that is there.

    Of that, trials that were left out are looked at again: the program that was missing may be there now; and
    ``again`` those that failed.
    Nothing is written. ``SpecError`` where the folder holds another study or something else.
    """
    if is_study(folder):
        study = load(folder)
        if as_stored(study.spec) != as_stored(spec):
            problem = f"{folder} contains another study, or its file has changed"
            raise SpecError("--out", problem, "specify another folder; dsbench study add extends the existing one")
        study = replace(study, spec=spec)  # With its passwords.
    else:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise SpecError("--out", f"{folder} exists, and is not a study", "specify a new folder with --out")
        factors = tuple(factor.computed(spec.limits) for factor in spec.factor)
        tried = combinations(spec, factors)
        study = Study(folder, spec, factors, tuple(blocks(spec, factors, tried, 1, spec.trials.repeat)))
    left = study.counted("planned", "running", "left out", *(FAILED if again else ()))
    trials, ahead = checked(study.spec, study.factors, left, _made(study)) if left else ([], {})
    for trial in trials:
        study = study.with_trial(replace(trial, status="planned") if trial.status == "running" else trial)
    return study, ahead


def tried(
    study: Study, tell: Callable[[str], None], *, again: bool = False, attempt: Callable[[RunSpec], object] = try_target
) -> Study:
    """``study`` with the trials left out whose server does not take their settings, which each server is asked once.

    ``attempt`` begins a run and ends it before anything is made, as ``try_target`` does.
    ``SpecError`` for a level that no server takes, ``RunError`` for a server that does not answer.
    """
    wanted = study.counted("planned", *(FAILED if again else ()))
    for trial in try_all(study.spec, study.factors, wanted, _made(study), tell, attempt):
        study = study.with_trial(trial)
    return study


def _made(study: Study) -> list[Combination]:
    return [combination(study.factors, trial) for trial in study.counted("done", "failed", "void")]


def extend(study: Study, levels: Mapping[str, Sequence[Any]], repeat: int = 0) -> Study:
    """``study`` with more ``levels`` of its factors, or ``repeat`` more blocks of what it has.

    The trials of new levels are blocks of their own, and have the reference of the factor beside them: without it a
    drift since then would look like the effect of the level. ``SpecError`` where that cannot be.
    """
    known = {factor.name: factor for factor in study.factors}
    if unknown := set(levels) - set(known):
        raise SpecError("--level", f"no factor {sorted(unknown)[0]!r}", f"the factors are {', '.join(known)}")
    for name, more in levels.items():
        factor = known[name]
        if not factor.path and any(not isinstance(raw, Mapping) for raw in more):
            like = next((raw for raw in factor.levels if isinstance(raw, Mapping)), {})
            sets = ", ".join(f'"{path}" = …' for path in like.get("set", {})) or '"clients" = 4'
            raise SpecError("--level", f"the levels of {name} are tables with their settings",
                            f"write --level '{name}={{name = \"…\", set = {{{sets}}}}}'")  # fmt: skip
    if study.spec.trials.design in ("list", "screening") and levels:
        problem = f"the design {study.spec.trials.design} counts trials, not levels"
        raise SpecError("--level", problem, "use --repeat, or start another study")
    factors = tuple(
        factor.model_copy(update={"levels": (*factor.levels, *levels.get(factor.name, ())),
                                  "reference": level_name(factor.levels[factor.reference_number])})
        for factor in study.factors
    )  # fmt: skip
    parse({**study.spec.model_dump(), "factor": [factor.model_dump() for factor in factors]})
    count = repeat or study.spec.trials.repeat
    refuse_too_many(study.spec, factors, count, len(study.trials))
    tried: list[Combination] = combinations(study.spec, factors)
    if levels:
        tried = [at for at in tried if _anchored(at, study.factors, levels)]
    block = max((trial.block for trial in study.trials), default=0) + 1
    more = blocks(study.spec, factors, tried, block, count, len(study.trials))
    added, _ = checked(study.spec, factors, more, _made(study))
    return replace(study, factors=factors, trials=(*study.trials, *added))


def _anchored(at: Combination, factors: Sequence[Factor], levels: Mapping[str, Sequence[Any]]) -> bool:
    """Whether each factor with new levels is at one of them, or at its reference."""
    return all(
        level >= len(factor.levels) or level == factor.reference_number
        for level, factor in zip(at, factors, strict=True) if factor.name in levels
    )  # fmt: skip


def is_study(folder: Path) -> bool:
    """Whether ``folder`` holds a study."""
    return (folder / NAME).is_file()


def load(folder: Path) -> Study:
    """The study in ``folder``. ``ArchiveError`` where there is none that can be read."""
    path = folder / NAME
    try:
        data = json.loads(read_file(folder, NAME))
        if data["format"] != _FORMAT:
            raise ArchiveError(f"{path} has format {data['format']}", "use the dsbench that wrote it", usage=True)
        spec = parse(data["spec"])
        factors = tuple(parse({**data["spec"], "factor": data["factors"]}).factor)
        trials = _TRIALS.validate_python(data["trials"])
        _refuse_others(factors, trials)
    except FileNotFoundError:
        raise ArchiveError(f"no study in {folder}", "specify the folder that dsbench study run "
                                                    "created", usage=True) from None
    except (OSError, ValueError, KeyError, TypeError, SpecError, RecursionError, OverflowError) as error:
        words = f"no study in {folder}: {path.name} cannot be read ({str(error)[:200]})"
        raise ArchiveError(words, "specify the folder that dsbench study run created", usage=True) from None
    return Study(folder, spec, factors, trials)


def sort_archives(paths: Sequence[Path]) -> tuple[list[Path], str]:
    """``paths`` to archives, and which of them the others are set beside; empty where nothing says so.

    In place of the folder of a study stand all that it has. Archives of one study are in the order of its levels, and
    that with the references is the one; others stay as they are.
    """
    folders = {path if is_study(path) else path.absolute().parent.parent for path in paths}
    if len(folders) != 1 or not is_study(folder := folders.pop()):
        return list(paths), ""
    study = load(folder)
    known = {study.archive_of(trial).resolve(): trial for trial in study.counted("done")}
    given = {path.resolve(): path for path in paths if not is_study(path)}
    wanted = given or {path: path for path in known}
    if not set(wanted) <= set(known):
        return list(paths), ""
    at = {path: combination(study.factors, known[path]) for path in wanted}
    ordered = sorted(wanted, key=lambda path: (at[path], known[path].block))
    references = tuple(factor.reference_number for factor in study.factors)
    first = next((path for path in ordered if at[path] == references), None)
    return [wanted[path] for path in ordered], str(wanted[first]) if first else ""


def _refuse_others(factors: Sequence[Factor], trials: Sequence[Trial]) -> None:
    """``ValueError`` for trials that are none of the study with these ``factors``."""
    names = [{level.name for level in factor.resolved} for factor in factors]
    for number, trial in enumerate(trials, start=1):
        if trial.number != number:
            raise ValueError(f"trial {number} has the number {trial.number}")
        if len(trial.levels) != len(factors) or any(one not in of for one, of in zip(trial.levels, names, strict=True)):
            raise ValueError(f"trial {number} has unknown levels")


def again(folder: Path) -> StudySpec:
    """The specification of the study in ``folder``, to go on with it. ``SpecError`` where it had a password."""
    spec = load(folder).spec
    if "***" in json.dumps(as_stored(spec)):
        problem, remedy = "study.json contains no password", f"specify its file: dsbench study run FILE --out {folder}"
        raise SpecError("FILE", problem, remedy)
    return spec


def risks_of(spec: StudySpec, folder: Path) -> tuple[str, ...]:
    """What ``spec``, and the study in ``folder`` where one is there, ask for beside tuning, in words."""
    stored = load(folder).factors if is_study(folder) else ()
    return risks([one.model_dump(mode="json") for one in (spec, *stored)])


def make_folder(study: Study) -> None:
    """Makes the folders of ``study``; ``SpecError`` where that cannot be."""
    try:
        study.archives.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError("--out", f"cannot make {study.archives}: {error.strerror}", "specify another folder") from None


def store(study: Study) -> None:
    """Writes ``study.json`` whole, or not at all. ``ArchiveError`` where that fails."""
    data = {
        "format": _FORMAT,
        "dsbench": release.VERSION,
        "spec": as_stored(study.spec),
        "factors": [redact_values(factor.model_dump(mode="json")) for factor in study.factors],
        "trials": [asdict(trial) for trial in study.trials],
    }
    written(study.folder / NAME, (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())


def as_stored(spec: StudySpec) -> Any:
    """What ``study.json`` has of ``spec``: JSON values, no password."""
    return redact_values(spec.model_dump(mode="json"))
