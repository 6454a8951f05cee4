"""Two specifications against each other: interleaved runs until their ratio is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench import servers
from dsbench.archive import Archive, ArchiveError, OutError, RunRecord
from dsbench.archive.parts import replace as written
from dsbench.dataclass import dataclass
from dsbench.format import format_number
from dsbench.library.apart import perform_apart, try_apart
from dsbench.library.duet import (
    Halves,
    find_foreign,
    find_starved,
    halves,
    judge_in_duet,
    refuse_duet,
    run_together,
)
from dsbench.library.pair import RATE, STEM, Block, Versus
from dsbench.measure.ahead import Ahead, look_ahead, refuse_settings
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Observer, format_time
from dsbench.measure.placing import TRY, fix_placement
from dsbench.read.choice import OF, Choice, Figure, list_stages, make_choice, refuse_missing
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.html import render_document
from dsbench.read.verdict import RunVerdict, judge_run
from dsbench.servers.folder import Folder
from dsbench.several.files import as_json, make_files
from dsbench.several.files import write as write_files
from dsbench.several.settings import flat
from dsbench.spec import Merged, RunSpec, SpecError
from dsbench.stats.comparison import ORDERS, Verdict, differing, order_of

BEFORE: Final = "before"
"""Folder of the archives of runs that made a database for others."""
_BRIEF_S: Final = 1.0
"""Seconds of their only cycle."""


def even(specs: Sequence[RunSpec]) -> dict[str, str]:
    """Options that give both sides as many clients on as large a database, those of the side that has fewer; empty
    where that is so. It is for sides of which neither was said."""
    fewer = min(specs, key=lambda one: one.all_clients)
    if any(one.several_clients for one in specs) or len({(one.clients, one.scales) for one in specs}) < 2:
        return {}
    return {"clients": str(fewer.clients), "scales": ",".join(map(str, fewer.scales))}


def look_ahead_of(asked: Sequence[Merged]) -> list[Ahead]:
    """What a run of A and one of B will do; what is wrong with a side is said with its letter."""
    found = []
    for letter, one in zip("AB", asked, strict=True):
        with naming_side(letter):
            refuse_settings(one.spec)
            found.append(look_ahead(one))
    return found


def seconds_of(ahead: Sequence[Ahead], blocks: int, max_blocks: int, *, duet: bool = False) -> tuple[float, float]:
    """Of all runs, but for the starts of their servers: at least on a fast machine, and at most on a slow one."""
    together = max if duet else sum
    least, most = (2 * together(one.time_s[end] for one in ahead) for end in (0, 1))
    return blocks * least, max_blocks * most


def say_plan(ahead: Sequence[Ahead], blocks: int, max_blocks: int, *, duet: bool = False) -> str:
    """How many runs are made, and how long they take at least and at most."""
    span = " to ".join(map(format_time, seconds_of(ahead, blocks, max_blocks, duet=duet)))
    runs = "2 pairs of runs" if duet else "4 runs"
    return f"{blocks} to {max_blocks} blocks of {runs}, {span} and the start of each server"


def versus(
    a: RunSpec, b: RunSpec, out: Path, *, names: tuple[str, str] = ("A", "B"), difference: float = 0.02,
    blocks: int = 3, max_blocks: int = 20, one_database: bool = False, resume: bool = False,
    observer: Callable[[RunSpec], Observer], stop: Stop | None = None,
    told: Callable[[str], None] = lambda _words: None, choice: Choice = RATE, duet: bool = False,
) -> Versus:
    """Makes blocks of two pairs of runs, A B or B A as drawn, each in a process of its own, until one verdict stands.

    Each has a fresh server and database. They end when the interval of the ratio excludes 1, or leaves no
    ``difference`` (share 0-1) open; after ``blocks`` at the earliest, after ``max_blocks`` anyway. The runs of a block
    share a seed. Their archives are left in ``out``, and so is ``ab.json``, before the first run and after each block:
    ``resume`` goes on after the blocks that it lists.
    With ``one_database`` a short run before each block makes the database, and each run of the block starts a server on
    it, as the run before left it: for settings that do not shape data.
    With ``duet`` the runs of a pair are made at the same time, each on half of the CPUs, which the order draws.
    ``choice`` is what is measured; of a run with stages, none of which it names, that is the last one.
    ``observer`` makes the one that hears a run, ``told`` hears a line for each block. Where a run fails, is stopped, or
    has a wrong database, the ``error`` of what is given says so, and its unfinished block does not count. Raises
    ``SpecError`` for what cannot be compared, and ``RunError`` for a side that cannot begin.
    """  # fmt: skip
    refuse_incomparable(a, b, one_database=one_database)
    specs = {"A": a.model_copy(update={"label": a.label or "A"}), "B": b.model_copy(update={"label": b.label or "B"})}
    asked = {**{letter: one.described() for letter, one in specs.items()}, "one_database": one_database}
    cpus = _choose_halves(specs, one_database, choice) if duet else None
    if duet:
        asked["duet"] = True
        specs = {letter: one.model_copy(update={"placement": "free"}) for letter, one in specs.items()}
    if choice != RATE:
        asked["measure"] = {"of": choice.how.name, "stage": choice.stage, "group": choice.group}
    found = Versus(names, (), difference, a.seed, asked, choice=choice, unit=choice.how.unit)
    if resume:
        found = _resumed(found, out)
    else:
        _refuse_unfinished(out)
    _try_both(specs, choice)
    store(found, out)
    first = found.blocks[0].archives[0] if found.blocks else None
    with listening(stop) as stop:
        while len(found.blocks) < blocks or (found.ratio.verdict is Verdict.OPEN and len(found.blocks) < max_blocks):
            number = len(found.blocks) + 1
            sides = {letter: one.model_copy(update={"seed": found.seed + number}) for letter, one in specs.items()}
            order = order_of(found.seed, number)
            try:
                with on_one_database(sides, out, observer, stop) if one_database else nullcontext(sides) as there:
                    made = (_make_block(there, order, out, observer, stop, choice, first) if cpus is None else
                            _make_pairs(there, order, cpus, out, observer, stop))  # fmt: skip
            except RunError as error:
                return replace(found, error=error)
            first = first or made[0].archive
            pairs = [(order[at], made[at : at + 2]) for at in range(0, len(made), 2)] if duet else []
            block = Block(
                order, tuple(one.archive for one in made), tuple(one.figure.value for one in made),
                tuple(one.verdict for one in made), tuple(_find_starved(first, some) for first, some in pairs),
                tuple(find_foreign([one.evaluation for one in some]) for _, some in pairs),
            )  # fmt: skip
            last = made[-1].figure
            evaluated = {**found.evaluations, **{one.archive: one.evaluation for one in made}}
            found = replace(found, blocks=(*found.blocks, block), unit=last.unit, of_stage=last.of_stage,
                            evaluations=evaluated)  # fmt: skip
            store(found, out)
            shown = [f"{one:,.1f}" if choice.how.geometric else format_number(one, digits=4) for one in block.rates]
            rates = "  ".join(f"{letter} {one}" for letter, one in zip(block.order, shown, strict=True))
            change = np.exp(found.log_ratio(block))
            words = f"B - A {found.how.show_ratio(change)}" if found.how.step else f"B / A {change:.3f}"
            told(f"block {number}: {rates} {last.unit}, {words}")
    return found


@dataclass(frozen=True)
class MadeRun:
    """One run."""

    archive: Path
    evaluation: Evaluation
    figure: Figure
    verdict: RunVerdict


def _make_block(
    sides: dict[str, RunSpec], order: str, out: Path, observer: Callable[[RunSpec], Observer], stop: Stop,
    choice: Choice, first: Path | None,
) -> list[MadeRun]:
    """The runs of a block. Where the clients are, the ``first`` run of all has found out for all."""
    made: list[MadeRun] = []
    for letter in order:
        made.append(run_once(fix_placement(sides[letter], first), out, observer, stop, choice))
        first = first or made[0].archive
    return made


def _choose_halves(specs: Mapping[str, RunSpec], one_database: bool, choice: Choice) -> Halves:
    """``SpecError`` where the sides cannot run at the same time."""
    for option, wrong, why in (("--one-database", one_database, "two servers cannot have one database"),
                               (OF, choice != RATE, "with --duet rates are compared")):  # fmt: skip
        if wrong:
            raise SpecError(option, why, f"omit {option}, or --duet")
    refuse_duet(specs)
    return halves()


def _make_pairs(
    sides: dict[str, RunSpec], order: str, cpus: Halves, out: Path, observer: Callable[[RunSpec], Observer], stop: Stop
) -> list[MadeRun]:
    """The runs of a block in pairs at the same time; the first of each pair is on the first half of the CPUs."""
    made: list[MadeRun] = []
    for at in range(0, len(order), 2):
        letters = order[at : at + 2]
        both = [(letter, sides[letter]) for letter in letters]
        for one in run_together(both, cpus, out, observer(sides[letters[0]]), stop):
            figure = replace(RATE.read(one.evaluation), value=one.rate_tps)
            verdict = judge_in_duet(one.evaluation, Archive.open(one.archive).run)
            made.append(MadeRun(one.archive, one.evaluation, figure, verdict))
    return made


def _find_starved(first: str, made: Sequence[MadeRun]) -> tuple[float, ...]:
    """Of A and of B, one of which is the ``first`` of two runs."""
    shares = find_starved([one.evaluation for one in made])
    return shares if first == "A" else shares[::-1]


def _try_both(specs: Mapping[str, RunSpec], choice: Choice) -> None:
    """``SpecError`` where a side cannot be run, or nobody has to run it to know that it has nothing of what is
    measured; ``RunError`` where its run could not begin."""
    for letter, spec in specs.items():
        if not choice.how.possible(spec):
            raise SpecError(OF, f"a run of {letter} has no {choice.how.name}", choice.how.needs)
    for letter, spec in specs.items():
        with naming_side(letter):
            stages = try_apart(spec)
        refuse_missing(dict.fromkeys(stages, ()), choice.stage, "")


@contextmanager
def naming_side(letter: str) -> Iterator[None]:
    """What is wrong with a side is said with its letter."""
    try:
        yield
    except SpecError as error:
        raise SpecError(f"{letter}: {error.option}", error.problem, error.remedy) from None
    except RunError as error:
        raise RunError(f"{letter}: {error}", error.remedy, usage=error.usage) from None


def _refuse_unfinished(out: Path) -> None:
    """``SpecError`` where ``out`` has blocks of a comparison that did not come to a verdict: they would be lost."""
    data = _document(out)
    if data.get("blocks") and data.get("verdict") == Verdict.OPEN.value:
        problem = f"{out} has {len(data['blocks'])} blocks of an unfinished comparison"
        raise SpecError("--out", problem, "continue it: --resume; or specify another folder")


def _resumed(asked: Versus, out: Path) -> Versus:
    """``asked`` with the seed and the blocks that ``out`` has; ``SpecError`` where these are of something else."""
    try:
        before = load(out)
        wanted, begun = asked.asked or {}, before.asked or {}
        # One that asks for a trial goes on with the placement that it began with.
        sides = {letter: {**one, "placement": begun[letter]["placement"]}
                 for letter in "AB" if (one := wanted[letter])["placement"] == TRY}  # fmt: skip
        asked = replace(asked, asked={**wanted, **sides})
        apart = _apart(begun, asked.asked)
    except (ArchiveError, KeyError, TypeError, AttributeError) as error:
        problem = f"no comparison to continue: {str(error)[:300]}"
        raise SpecError("--resume", problem, "specify the folder of the interrupted comparison with --out") from None
    if apart:
        problem = f"{out / STEM}.json compares something else: {', '.join(apart)}"
        raise SpecError("--resume", problem, "give the options of its beginning, or another --out")
    return replace(asked, seed=before.seed, blocks=before.blocks, evaluations=before.evaluations)


def count_blocks(out: Path) -> int:
    """How many complete blocks ``out`` has, with which ``resume`` goes on."""
    return len(_document(out).get("blocks", ()))


def _document(out: Path) -> dict[str, Any]:
    """What ab.json says; empty where there is none."""
    try:
        return dict(json.loads((out / f"{STEM}.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def brief(out: Path) -> tuple[str, str, str, int]:
    """The names of A and B, the verdict and the number of blocks that ``out`` has, without its archives."""
    data = _document(out)
    return str(data.get("a", "")), str(data.get("b", "")), str(data.get("verdict", "")), count_blocks(out)


def load(out: Path) -> Versus:
    """The comparison that ``out`` holds, with its archives. ``ArchiveError`` where none can be read."""
    path = out / f"{STEM}.json"
    try:
        data = json.loads(path.read_text("utf-8"))
        names, asked, seed = (str(data["a"]), str(data["b"])), dict(data["asked"]), int(data["seed"])
        measure = asked.get("measure")
        choice = make_choice(*(str(measure[name]) for name in ("of", "stage", "group"))) if measure else RATE
        opened = [[Archive.open(_archive(out, str(name))) for name in one["archives"]] for one in data["blocks"]]
        evaluations = {one.path: evaluate(one) for some in opened for one in some}
        judge = judge_in_duet if asked.get("duet") else judge_run
        blocks = tuple(_read_block(one, some, evaluations, judge)
                       for one, some in zip(data["blocks"], opened, strict=True))  # fmt: skip
        if any(one.order not in ORDERS or len(one.rates) != len(one.archives) or len(one.rates) != len(one.order)
               for one in blocks):  # fmt: skip
            raise ValueError("a block is incomplete")
        stage = str(data["stage"] or "")
        return Versus(
            names, blocks, float(data["difference"]), seed, asked, choice=choice, unit=str(data["unit"]),
            of_stage="" if stage == choice.stage else stage, evaluations=evaluations,
        )  # fmt: skip
    except (ArchiveError, SpecError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        remedy = "name the folder of a comparison: that of --out of dsbench ab"
        raise ArchiveError(f"{path} cannot be read ({str(error)[:200]})", remedy, usage=True) from None


def _read_block(
    said: Any, archives: list[Archive], evaluations: Mapping[Path, Evaluation],
    judge: Callable[[Evaluation, RunRecord], RunVerdict],
) -> Block:
    """One that ab.json tells of; what is to be said of its runs stands in their archives."""
    rates = tuple(float(rate) for rate in said.get("values", said.get("rates_tps")))
    verdicts = tuple(judge(evaluations[one.path], one.run) for one in archives)
    starved = tuple(tuple(map(float, one)) for one in said.get("starved", ()))
    foreign = tuple(one if one is None else float(one) for one in said.get("foreign", ()))
    return Block(str(said["order"]), tuple(one.path for one in archives), rates, verdicts, starved, foreign)


def _archive(out: Path, name: str) -> Path:
    for path in (out / Path(name).name, out / f"{Path(name).name}.zip"):
        if path.exists():
            return path
    raise ValueError(f"the archive {name[:200]!r} is gone")


def _apart(before: Any, asked: Any) -> list[str]:
    """Names of what two comparisons ask for that is not the same; their random seed does not count."""
    both = [flat(json.loads(json.dumps(one)), "") for one in (before, asked)]
    return [name for name in differing(both) if not name.endswith(".seed")]


def refuse_incomparable(a: RunSpec, b: RunSpec, *, one_database: bool) -> None:
    """``SpecError`` for sides that ``versus`` does not compare."""
    for option, wrong in (("--clients", a.several_clients or b.several_clients), ("--keep", a.keep or b.keep),
                          ("--reuse", a.reuse or b.reuse)):  # fmt: skip
        if wrong:
            raise SpecError(option, "each side of a comparison has one number of clients and its own database",
                            "omit it, or make several comparisons")  # fmt: skip
    if a.scales != b.scales:
        raise SpecError("--scales", "both must have the same scales", "specify them once, for both")
    if one_database:
        _refuse_apart(a, b)


def _refuse_apart(a: RunSpec, b: RunSpec) -> None:
    """``SpecError`` where A and B cannot work on one database."""
    option, remedy = "--one-database", "omit it: then each run has a database of its own"
    if a.target.private is None or a.target.private != b.target.private or a.target.version != b.target.version:
        raise SpecError(option, "A and B must be private servers of one product and version", remedy)
    if len(a.scales) > 1:
        raise SpecError(option, "a kept database has one scale", "specify one scale, or omit --one-database")
    if a.storage or b.storage:
        raise SpecError(option, "the file system of a run is removed at its end", "omit --storage")


@contextmanager
def on_one_database(
    sides: dict[str, RunSpec], out: Path, observer: Callable[[RunSpec], Observer], stop: Stop
) -> Iterator[dict[str, RunSpec]]:
    """``sides`` on a database that is made now, by a run that counts for nothing: so all that count start a server.

    Where this program is killed, the next private server that is started there removes it.
    """
    folder = Folder.create(servers.base_directory(sides["A"].target), "ab")
    try:
        there = {letter: one.model_copy(update={"target": one.target.model_copy(update={"directory": folder.path})})
                 for letter, one in sides.items()}  # fmt: skip
        made = {"keep": True, "cycles": 1, "duration": _BRIEF_S, "ramp_up": 0.0, "precision": None,
                "min_duration": None, "find_ramp_up": False}  # fmt: skip
        run_once(there["A"].model_copy(update=made), out / BEFORE, observer, stop)
        yield {letter: one.model_copy(update={"reuse": True}) for letter, one in there.items()}
    finally:
        folder.remove()


def run_once(
    spec: RunSpec, out: Path, observer: Callable[[RunSpec], Observer], stop: Stop, choice: Choice = RATE
) -> MadeRun:
    """One run, in a process of its own, read. ``RunError`` where it has nothing of what is measured."""
    if stop.requested:  # Between two runs.
        raise RunError("stopped between two runs", "")
    outcome = perform_apart(spec, out, observer(spec), stop)
    if outcome.error is not None:
        raise outcome.error
    archive = Archive.open(outcome.archive)
    evaluation = evaluate(archive)
    if outcome.void_scales:
        scales = ", ".join(map(str, outcome.void_scales))
        raise RunError(f"the check failed at scale {scales} of {outcome.archive.name}", "see its results.log")
    refuse_missing(list_stages(evaluation), choice.stage, choice.group)
    found = choice.read(evaluation)
    if choice == RATE and not isfinite(found.value):
        words = f"{outcome.archive.name} committed nothing at a scale, so there is no rate to compare"
        raise RunError(words, "use longer cycles: --duration")
    if not choice.how.is_known(found.value):
        stage = f" in stage {choice.stage}" * bool(choice.stage)
        lack = "0 or unknown" if choice.how.geometric else "unknown"
        words = f"{outcome.archive.name} has no {choice.how.name}{stage} to compare: it is {lack}"
        raise RunError(words, choice.remedy or "compare another metric: --of")
    return MadeRun(outcome.archive, evaluation, found, judge_run(evaluation, archive.run))


def store(found: Versus, out: Path) -> None:
    """Writes ab.json whole, or not at all. ``OutError`` where that fails."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        written(out / f"{STEM}.json", (as_json(found.document()) + "\n").encode())
    except (ArchiveError, OSError) as error:
        raise OutError(f"--out: {error}") from None


def write(found: Versus, out: Path) -> list[Path]:
    """Writes ab.txt, ab.json, ab.html, its diagram, and the archives side by side into ``out``; gives the paths.

    Before the first block is complete it writes ab.json alone.
    """
    store(found, out)
    if not found.blocks:
        return [out / f"{STEM}.json"]
    from dsbench.several import shown
    from dsbench.several.compare import read  # Late: the libraries that draw take a second.

    drawn = _draw(found)
    own = make_files(STEM, found.text(), found.document(), _title(found), list(found.tell(drawn)), {STEM: drawn})
    beside = read(found.archives, known=found.evaluations)
    return write_files(out, lambda: own | shown.files(beside, found.answer()))


def page(found: Versus) -> str:
    """ab.html of ``found``."""
    return render_document(_title(found), list(found.tell(_draw(found) if found.blocks else None)))


def _title(found: Versus) -> str:
    return f"{found.names[1]} against {found.names[0]}"


def _draw(found: Versus) -> Any:
    from dsbench.several.drawn import versus as draw_versus  # Late: as above.

    courses = [(float(np.exp(found.log_ratio(block))), found.after(number).interval)
               for number, block in enumerate(found.blocks, 1)]  # fmt: skip
    return draw_versus(courses, found.difference, found.how)
