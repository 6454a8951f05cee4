"""A against A: equal runs over databases, starts of the server and cycles, and one long cycle, to know their noise."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench.archive import Archive, ArchiveError, OutError
from dsbench.archive.parts import replace as written
from dsbench.dataclass import dataclass
from dsbench.library.ab import MadeRun, naming_side, on_one_database, run_once
from dsbench.library.apart import try_apart
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Observer
from dsbench.measure.placing import fix_placement
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.verdict import RunVerdict, Tally, judge_run
from dsbench.several import noise as several
from dsbench.several.files import as_json
from dsbench.several.noise import STEM, Noise, Watched
from dsbench.spec import RunSpec, SpecError
from dsbench.stats.machine import CycleUse
from dsbench.stats.noise import Costs, goes_with
from dsbench.stats.periods import find_period
from dsbench.stats.precision import ramp_up, shortest
from dsbench.stats.values import Floats

_CAUSES: Final[dict[str, Callable[[CycleUse], float]]] = {
    "stolen CPU time": lambda one: one.use.share(one.use.stolen_ns),
    "CPU time of other programs": lambda one: one.use.share(one.use.others_ns),
    "CPU time of the kernel": lambda one: one.use.share(one.use.kernel_ns),
    "waiting for a CPU": lambda one: one.use.cpus_of(one.use.queued_ns),
    "waiting for storage": lambda one: one.use.pressure(one.use.io_pressure_ns),
    "waiting for memory": lambda one: one.use.pressure(one.use.memory_pressure_ns),
}
"""What is looked at beside the rate of a cycle, on the machine of the command."""
_CHECKPOINT: Final = "a checkpoint"


@dataclass(frozen=True)
class NoiseRun:
    """One of the equal runs."""

    archive: str
    rates: tuple[float, ...]
    """tps by cycle."""
    causes: dict[str, list[float]]
    """What the machine did in each cycle; nan where it is not known."""
    verdict: RunVerdict
    seconds: float
    """It took, its cycles aside."""


@dataclass(frozen=True)
class Databases:
    """What has been measured so far."""

    made: tuple[tuple[NoiseRun, ...], ...] = ()
    """Runs by database."""
    took: tuple[float, ...] = ()
    """Seconds that each database took."""
    watched: Watched | None = None
    of: int = 0
    """How many databases are to be made."""
    error: RunError | None = None
    """Why it ended early."""

    def document(self, asked: dict[str, Any]) -> dict[str, Any]:
        runs = [[{"archive": one.archive, "seconds": one.seconds} for one in some] for some in self.made]
        watched = asdict(self.watched) if self.watched else None
        return {"asked": asked, "of": self.of, "watched": watched, "databases": runs, "took_s": self.took}


def shape_of(spec: RunSpec, databases: int, starts: int) -> tuple[int, int]:
    """Databases and starts on each: a server that dsbench does not start makes a database for each run, and tables that
    are there are one database."""
    if spec.existing:
        return 1, databases * starts
    return (databases, starts) if _shares(spec) else (databases * starts, 1)


def _shares(spec: RunSpec) -> bool:
    """Whether several runs can work on one database."""
    return spec.target.private is not None and not spec.storage and not spec.existing


def refuse(spec: RunSpec, databases: int, starts: int) -> None:
    """``SpecError`` for what has no noise of this kind."""
    for option, wrong, why in (
        ("--scales", len(spec.scales) > 1, "the noise of one database size is measured"),
        ("--clients", spec.several_clients or spec.peak, "the noise of one number of clients is measured"),
        ("--keep", spec.keep, "each database is made for the measurement"),
        ("--reuse", spec.reuse, "each database is made for the measurement"),
        ("--precision", spec.precision is not None, "all runs have as many cycles"),
        ("--objective", spec.searches, "a search has no cycles that repeat each other"),
        ("--nodes", bool(spec.nodes), "the noise of this machine is measured"),
        ("--find-ramp-up", spec.find_ramp_up, "all runs have the same ramp-up; the long cycle shows how long it takes"),
        ("--min-duration", spec.min_duration is not None, "all cycles are of one length"),
        ("--refine", spec.refine != "none", "the noise of one database size is measured"),
    ):  # fmt: skip
        if wrong:
            raise SpecError(option, why, "omit it" if option != "--scales" else "specify one scale")
    if spec.cycles < 2:
        raise SpecError("--cycles", "cycles have to repeat each other", "use 2 or more")
    if databases * starts < 2:
        raise SpecError("--databases, --starts", "runs have to repeat each other", "use 2 or more of one of them")


def measure(
    spec: RunSpec, out: Path, *, databases: int, starts: int, watch_s: float, resume: bool = False,
    observer: Callable[[RunSpec], Observer], stop: Stop | None = None,
    told: Callable[[str], None] = lambda _words: None,
) -> tuple[Noise | None, RunError | None]:
    """Makes equal runs of ``spec``, each in a process of its own: ``starts`` of the server on each of so many
    ``databases``, after one cycle of ``watch_s`` seconds (0 for none).

    ``noise-runs.json`` in ``out`` lists the databases that are complete, with which ``resume`` goes on. The noise is
    ``None`` where fewer than two runs are complete, and the error says why it ended early. Raises ``SpecError`` for
    what cannot be measured, and ``RunError`` where it cannot begin.
    """  # fmt: skip
    refuse(spec, databases, starts)
    databases, starts = shape_of(spec, databases, starts)
    asked = {**several.same(spec), "target": spec.described()["target"], "scale": spec.scales[0], "cycles": spec.cycles,
             "starts": starts, "watch_s": watch_s}  # fmt: skip
    begun = _resumed(spec, out, asked, databases) if resume else _new(out, databases)
    with naming_side("TARGET"):
        try_apart(spec)
    _store(out, begun, asked)
    with listening(stop) as stop:
        found = _make(spec, out, (databases, starts), begun, asked, watch_s, observer, stop, told)
    if len(found.made) * starts < 2:
        return None, found.error
    return _concluded(spec, found), found.error


def _make(
    spec: RunSpec, out: Path, shape: tuple[int, int], found: Databases, asked: dict[str, Any], watch_s: float,
    observer: Callable[[RunSpec], Observer], stop: Stop, told: Callable[[str], None],
) -> Databases:  # fmt: skip
    databases, starts = shape
    first = out / found.made[0][0].archive if found.made else None
    try:
        if watch_s and found.watched is None:
            long = spec.model_copy(update={"cycles": 1, "duration": watch_s, "ramp_up": 0.0, "label": "watch"})
            found = replace(found, watched=_watch(run_once(long, out / "watch", observer, stop)))
            _store(out, found, asked)
        while len(found.made) < databases:
            began = time.monotonic()
            with _database(spec, out, len(found.made) + 1, observer, stop) as there:
                took, runs = time.monotonic() - began, list[NoiseRun]()
                for _ in range(starts):
                    began = time.monotonic()
                    made = run_once(fix_placement(there, first), out, observer, stop)
                    first = first or made.archive
                    runs.append(_read(made.archive.name, made.evaluation, made.verdict, time.monotonic() - began, spec))
                    told(f"database {len(found.made) + 1}: {' '.join(f'{rate:,.0f}' for rate in runs[-1].rates)} tps")
            found = replace(found, made=(*found.made, tuple(runs)), took=(*found.took, took))
            _store(out, found, asked)
    except RunError as error:
        return replace(found, error=error)
    return found


@contextmanager
def _database(
    spec: RunSpec, out: Path, number: int, observer: Callable[[RunSpec], Observer], stop: Stop
) -> Iterator[RunSpec]:
    """What a run on the database asks for; runs of different databases have different seeds."""
    seeded = spec.model_copy(update={"seed": spec.seed + number})
    if not _shares(spec):
        yield seeded
        return
    with on_one_database({"A": seeded}, out, observer, stop) as sides:
        yield sides["A"]


def _read(archive: str, evaluation: Evaluation, verdict: RunVerdict, seconds: float, spec: RunSpec) -> NoiseRun:
    """``RunError`` where a cycle committed nothing, or is missing."""
    (scale,) = spec.scales
    rates = evaluation.of(RateResult).cycle_rates.get(scale, np.array([]))
    if len(rates) != spec.cycles or not (rates > 0).all():
        raise RunError(f"{archive} has no rate in each of its cycles", "use longer cycles: --duration")
    numbers = evaluation.of(RateResult).cycle_numbers[scale]
    uses = {one.cycle: one for one in evaluation.of(MachineResult).machine.get(scale, ()) if not one.node}
    causes = {name: [float(read(uses[n])) if n in uses else float("nan") for n in map(int, numbers)]
              for name, read in _CAUSES.items()}  # fmt: skip
    fell = evaluation.of(MachineResult).checkpoints
    if scale in fell:
        causes[_CHECKPOINT] = [float(n in fell[scale]) for n in map(int, numbers)]
    load = spec.cycles * (spec.duration + spec.ramp_up)
    return NoiseRun(archive, tuple(map(float, rates)), causes, verdict, max(seconds - load, 0.0))


def _watch(made: MadeRun) -> Watched | None:
    courses = made.evaluation.of(CourseResult).seconds
    if not courses:
        return None
    counts: Floats = next(iter(courses.values()))[:, 0]
    early, settled = ramp_up(counts)
    rest = counts[early:]
    searched = rest if settled else counts
    return Watched(counts.size, find_period(searched), early, settled, searched.size, shortest(rest, 1))


def _concluded(spec: RunSpec, found: Databases) -> Noise:
    rates = [[list(one.rates) for one in some] for some in found.made]
    runs = [one for some in found.made for one in some]
    shares = _shares(spec)
    around = float(np.median([one.seconds for one in runs]))
    costs = Costs(float(np.median(found.took)) if shares else 0.0, around, spec.duration + spec.ramp_up)
    logs, groups = several.within_runs(np.log(np.array(rates)).tolist())
    names = set.intersection(*(set(one.causes) for one in runs))
    causes = {name: np.array([value for one in runs for value in one.causes[name]])
              for name in (*_CAUSES, _CHECKPOINT) if name in names}  # fmt: skip
    causes = {name: values for name, values in causes.items() if np.isfinite(values).all()}
    return Noise(
        spec.target.redacted, spec.scales[0], spec.duration, spec.ramp_up, rates, costs,
        goes_with(logs, causes, groups), list(causes), found.watched,
        datetime.now(UTC).isoformat(timespec="seconds"), several.means(spec, rates), shares,
        Tally({"": [one.verdict for one in runs]}).say(),
    )  # fmt: skip


def _store(out: Path, found: Databases, asked: dict[str, Any]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(found.document(asked), indent=1, allow_nan=True)
        written(out / f"{STEM}-runs.json", (text + "\n").encode())
    except (ArchiveError, OSError) as error:
        raise OutError(f"--out: {error}") from None


def _new(out: Path, databases: int) -> Databases:
    """Nothing yet. ``SpecError`` where ``out`` has databases of an interrupted measurement: they would be lost."""
    try:
        data = json.loads((out / f"{STEM}-runs.json").read_text("utf-8"))
        made, of = len(data["databases"]), int(data["of"])
    except (OSError, ValueError, KeyError, TypeError):
        return Databases(of=databases)
    if 0 < made < of:
        problem = f"{out} has {made} of {of} databases of an unfinished measurement"
        raise SpecError("--out", problem, "continue it: --resume; or specify another folder")
    return Databases(of=databases)


def _resumed(spec: RunSpec, out: Path, asked: dict[str, Any], databases: int) -> Databases:
    """What ``out`` has of the same; ``SpecError`` where it is of something else."""
    try:
        data = json.loads((out / f"{STEM}-runs.json").read_text("utf-8"))
        watched = several.read_watched(data["watched"])
        same, took = data["asked"] == json.loads(json.dumps(asked)), tuple(map(float, data["took_s"]))
        names = [[(str(one["archive"]), float(one["seconds"])) for one in some] for some in data["databases"]]
        made = tuple(tuple(_again(spec, out, *one) for one in some) for some in names) if same else ()
    except (ArchiveError, RunError, OSError, ValueError, KeyError, TypeError) as error:
        problem = f"no measurement to continue: {str(error)[:200]}"
        raise SpecError("--resume", problem, "specify the folder of the interrupted one with --out") from None
    if not same:
        raise SpecError("--resume", f"{out} measures something else", "give the options of its beginning")
    return Databases(made, took, watched, databases)


def _again(spec: RunSpec, out: Path, name: str, seconds: float) -> NoiseRun:
    archive = Archive.open(out / Path(name).name)
    evaluation = evaluate(archive)
    # Its cycles are taken off again.
    seconds += spec.cycles * (spec.duration + spec.ramp_up)
    return _read(name, evaluation, judge_run(evaluation, archive.run), seconds, spec)


def write(found: Noise, out: Path) -> Path:
    """Writes noise.json. ``OutError`` where that fails."""
    try:
        path = out / f"{STEM}.json"
        written(path, (as_json(found.document()) + "\n").encode())
    except (ArchiveError, OSError) as error:
        raise OutError(f"--out: {error}") from None
    return path


def seconds_of(
    spec: RunSpec, per_run: tuple[float, float], shape: tuple[int, int], watch_s: float
) -> tuple[float, float]:
    """Of all runs, at least and at most, by what one of them takes with its database."""
    databases, starts = shape
    load = spec.cycles * (spec.duration + spec.ramp_up)
    least, most = (watch_s + max(one - load, 0.0) * (databases + bool(watch_s)) + databases * starts * load
                   for one in per_run)  # fmt: skip
    return least, most
