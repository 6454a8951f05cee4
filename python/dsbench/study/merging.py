"""Studies, or archives, of several machines as one study with the factor ``host`` (the paper, section 4.10)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dsbench.archive import Archive, ArchiveError
from dsbench.dataclass import dataclass
from dsbench.several.settings import SAYS_NOTHING, described
from dsbench.spec import SpecError
from dsbench.stats.comparison import differing
from dsbench.study.paths import HOST
from dsbench.study.plan import Trial
from dsbench.study.record import Study, as_stored, is_study, load, make_folder, store
from dsbench.study.spec import COMPUTED, Factor, StudySpec, level_name

_HOSTS: Final = StudySpec(
    name="hosts", about="The same run on several machines", factor=(Factor(name=HOST, path=HOST, levels=("here",)),)
)
"""What archives that are no study's are one of."""


@dataclass(frozen=True)
class _Brought:
    """A trial that was made somewhere."""

    host: str
    trial: Trial
    archive: Path
    source: Path
    """The study, or the archive itself."""


def merge(paths: Sequence[tuple[str, Path]], folder: Path) -> Study:
    """The trials of all ``paths``, studies or archives, copied into a new study in ``folder``.

    Each path has the name of its host, or none: then it is called as its archives say. Blocks of one number stand
    beside each other: in studies of one file their runs have the same inputs. ``SpecError`` where the work was not the
    same, or one path is named twice for a host, ``ArchiveError`` where something cannot be read or written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SpecError("--out", f"{folder} already exists", "specify a new folder")
    places = [(name, path.resolve()) for name, path in paths]
    if twice := next((path for place, (_, path) in zip(places, paths, strict=True) if places.count(place) > 1), None):
        raise SpecError("FOLDER", f"{twice} is listed twice, which is not a repetition", "specify each once")
    studies = [load(path) for _name, path in paths if is_study(path)]
    if studies and len(studies) < len(paths):
        raise SpecError("FOLDER", "some are studies and some are archives", "specify either studies or archives")
    common, factors = _common(studies) if studies else (_HOSTS, ())
    brought = _numbered(list(_of_studies(paths) if studies else _of_archives(paths)))
    hosts = list(dict.fromkeys(one.host for one in brought))
    if len(hosts) < 2:
        problem = f"all trials are of one host, {hosts[0]}" if hosts else "they have no finished trial"
        raise SpecError("FOLDER", problem, "set host names: before=FOLDER after=FOLDER")
    host = Factor(name=HOST, path=HOST, levels=tuple(hosts))
    plan = common.trials.model_copy(update={"repeat": max(one.trial.block for one in brought)})
    spec = common.model_copy(update={"factor": (host, *factors), "trials": plan})
    trials = tuple(
        replace(one.trial, number=number, levels=(one.host, *one.trial.levels), archive=f"{number:04}-{_stem(one)}")
        for number, one in enumerate(brought, start=1)
    )
    study = Study(folder, spec, spec.factor, trials)
    make_folder(study)
    for one, trial in zip(brought, trials, strict=True):
        _copy(one.archive, study.archives / f"{trial.archive}{one.archive.suffix if one.archive.is_file() else ''}")
    store(study)
    return study


def _of_studies(paths: Sequence[tuple[str, Path]]) -> Iterator[_Brought]:
    for name, path in paths:
        study = load(path)
        for trial in study.counted("done"):
            archive = study.archive_of(trial)
            yield _Brought(name or Archive.open(archive).run.host, trial, archive, path)


def _of_archives(paths: Sequence[tuple[str, Path]]) -> Iterator[_Brought]:
    runs = [Archive.open(path).run for _name, path in paths]
    apart = {name: values for name, values in differing(described(runs)).items() if name not in SAYS_NOTHING}
    others = ("spec.target.", "spec.label")
    _refuse({n: v for n, v in apart.items() if n.startswith("spec.") and not n.startswith(others)})
    for (name, path), run in zip(paths, runs, strict=True):
        if run.status != "complete":
            raise SpecError("FOLDER", f"{path}: its run is {run.status}", "omit it, or resume it")
        if run.broken:
            scales = ", ".join(map(str, sorted(run.broken)))
            raise SpecError("FOLDER", f"{path}: its check failed at scale {scales}", "omit it")
        yield _Brought(name or run.host, Trial(1, 1, (), "done"), path, path)


def _numbered(brought: list[_Brought]) -> list[_Brought]:
    """With the blocks of what a host brings second behind those of all that hosts bring first, and so on.

    A trial that is missing leaves its place empty: one of another time is no part of the block.
    """
    of_host: dict[str, list[Path]] = {}
    for one in brought:
        if one.source not in of_host.setdefault(one.host, []):
            of_host[one.host].append(one.source)
    turns = [of_host[one.host].index(one.source) for one in brought]
    widths = [max(one.trial.block for one, at in zip(brought, turns, strict=True) if at == n)
              for n in range(max(turns, default=-1) + 1)]  # fmt: skip
    moved = [replace(one, trial=replace(one.trial, block=one.trial.block + sum(widths[:turn])))
             for one, turn in zip(brought, turns, strict=True)]  # fmt: skip
    return sorted(moved, key=lambda one: one.trial.block)


def _common(studies: Sequence[Study]) -> tuple[StudySpec, tuple[Factor, ...]]:
    """The study that all of ``studies`` are but for their machine, and its factors with the levels of all."""
    first = studies[0]
    run: list[Mapping[str, str]] = []
    for study in studies:
        if any(HOST in (one.name, one.path) for one in study.factors):
            raise SpecError("FOLDER", f"{study.folder} already has the factor {HOST}", "merge its parts instead")
        said = as_stored(study.spec)["run"]
        values = {name: str(value) for name, value in said.items() if name != "target"}
        run.append({**values, "design": study.spec.trials.design})
    _refuse(differing(run))
    factors = list(first.factors)
    for study in studies[1:]:
        if [_kind(one) for one in study.factors] != [_kind(one) for one in factors]:
            words = f"{study.folder} has other factors than {first.folder}"
            raise SpecError("FOLDER", words, "merge studies of the same file")
        factors = [_with_levels(one, other) for one, other in zip(factors, study.factors, strict=True)]
    return first.spec, tuple(factors)


def _kind(one: Factor) -> tuple[str, str, bool]:
    return one.name, one.path, one.same_database


def _with_levels(one: Factor, other: Factor) -> Factor:
    known = {level_name(raw): raw for raw in one.levels}
    theirs = {level_name(raw): raw for raw in other.levels}
    for raw in other.levels:
        if isinstance(raw, Mapping) and _asked(known.get(level_name(raw), raw)) != _asked(raw):
            words = f"their work differs: level {level_name(raw)} of {one.name} sets other values"
            raise SpecError("FOLDER", words, "merge what differs in the machine only")
    more = tuple(raw for raw in other.levels if level_name(raw) not in known)
    # What rules say is for each machine its own: values that are not the same everywhere are those of none.
    kept = tuple(raw if theirs.get(level_name(raw), raw) == raw else _asked(raw) for raw in one.levels)
    return one.model_copy(update={"levels": (*kept, *more), "reference": one.resolved[one.reference_number].name})


def _asked(raw: Any) -> Any:
    """A level without what its rules said on a machine."""
    return {name: value for name, value in raw.items() if name != COMPUTED} if isinstance(raw, Mapping) else raw


def _refuse(apart: Mapping[str, Sequence[str]]) -> None:
    if apart:
        name, values = next(iter(apart.items()))
        words = ", ".join(dict.fromkeys(value or "none" for value in values))
        raise SpecError("FOLDER", f"their work differs: {name.removeprefix('spec.')} is {words}",
                        "merge what differs in the machine only")  # fmt: skip


def _stem(one: _Brought) -> str:
    return one.archive.name.removesuffix(".zip")


def _copy(archive: Path, to: Path) -> None:
    try:
        if archive.is_dir():
            shutil.copytree(archive, to)
        else:
            shutil.copy2(archive, to)
    except (OSError, shutil.Error) as error:
        words = error.strerror if isinstance(error, OSError) and error.strerror else "a file cannot be copied"
        raise ArchiveError(f"cannot copy {archive} to {to}: {words}", "name another --out", usage=True) from None
