"""Two specifications against each other: interleaved runs until their ratio is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench import servers
from dsbench.analysis.comparison import mean_lg
from dsbench.analysis.ratio import Ratio, Verdict, of_block, ratio
from dsbench.archive import Archive, OutError
from dsbench.evaluation import evaluate
from dsbench.library.running import perform
from dsbench.runner import Observer, RunError, Stop
from dsbench.servers.folder import Folder
from dsbench.spec import RunSpec, SpecError

BLOCK: Final = "ABBA"
"""A drift that goes straight on hits both alike."""
STEM: Final = "ab"
"""Of the files that are written beside the archives."""
BEFORE: Final = "before"
"""Folder of the archives of runs that made a database for others."""
_BRIEF_S: Final = 1.0
"""Seconds of their only cycle."""


@dataclass(frozen=True)
class Block:
    """One block of runs, in the order of ``BLOCK``."""

    archives: tuple[Path, ...]
    rates: tuple[float, ...]
    """Of each run in tps: at several scales the geometric mean along lg scale."""

    @property
    def log_ratio(self) -> float:
        """ln(B / A)."""
        return of_block(np.array(self.rates))


@dataclass(frozen=True)
class Versus:
    """B against A."""

    names: tuple[str, str]
    blocks: tuple[Block, ...]
    difference: float
    """Share (0-1) below which rates count as equal."""

    def after(self, blocks: int) -> Ratio:
        """What was known after so many blocks."""
        return ratio(np.array([block.log_ratio for block in self.blocks[:blocks]]), self.difference)

    @property
    def ratio(self) -> Ratio:
        """What is known."""
        return self.after(len(self.blocks))

    @property
    def archives(self) -> list[Path]:
        """All of them, in the order in which they were made."""
        return [path for block in self.blocks for path in block.archives]

    def sentence(self) -> str:
        """The verdict in words."""
        found, within = self.ratio, self.ratio.interval
        bounds = f" [{within.low:.3f}, {within.high:.3f}]" if isfinite(within.high) else ""
        number = f"{len(self.blocks)} block{'s' if len(self.blocks) > 1 else ''}"
        figure = f"B has {within.value:.3f} times the rate of A{bounds}, {within.level:.0%}, after {number} of {BLOCK}"
        if found.verdict is Verdict.ALIKE:
            return f"no difference of more than {found.most:.1%}: {figure}"
        if found.verdict is Verdict.OPEN:
            return f"undecided: {figure}; make more blocks (--most-blocks) or longer runs (--duration, --cycles)"
        return f"{found.verdict}: {figure}"

    def lines(self) -> list[str]:
        """The names, each block, and the verdict, for people."""
        found = [f"{letter}  {name}" for letter, name in zip("AB", self.names, strict=True)]
        for number, block in enumerate(self.blocks, 1):
            rates = "  ".join(f"{letter} {rate:,.1f}" for letter, rate in zip(BLOCK, block.rates, strict=True))
            found.append(f"block {number}: {rates} tps, B / A {np.exp(block.log_ratio):.3f}")
        return [*found, self.sentence()]

    def document(self) -> dict[str, Any]:
        """As JSON values; ``null`` for a bound that is not known yet."""
        found, within = self.ratio, self.ratio.interval
        blocks = [{"archives": [path.name for path in one.archives], "rates_tps": one.rates,
                   "ratio": float(np.exp(one.log_ratio))} for one in self.blocks]  # fmt: skip
        known = isfinite(within.high)
        return {
            "a": self.names[0], "b": self.names[1], "order": BLOCK, "verdict": found.verdict.value,
            "ratio": {"value": within.value, "low": within.low if known else None,
                      "high": within.high if known else None, "level": within.level},
            "difference": self.difference, "blocks": blocks,
        }  # fmt: skip


def versus(
    a: RunSpec, b: RunSpec, out: Path, *, names: tuple[str, str] = ("A", "B"), difference: float = 0.02,
    blocks: int = 3, most_blocks: int = 20, one_database: bool = False, observer: Callable[[RunSpec], Observer],
    stop: Stop | None = None, told: Callable[[str], None] = lambda _words: None,
) -> Versus:
    """Makes blocks of runs A B B A, each on a fresh server and database, until one verdict stands.

    That is when the interval of the ratio excludes 1, or leaves no ``difference`` (share 0-1) open; after ``blocks``
    at the earliest, after ``most_blocks`` anyway. The runs of a block share a seed. Their archives are left in ``out``.
    With ``one_database`` a short run before each block makes the database, and each run of the block starts a server on
    it, as the run before left it: for settings that do not shape data.
    ``observer`` makes the one that hears a run, ``told`` hears a line for each block. Raises ``SpecError`` for what
    cannot be compared, and ``RunError`` for a run that failed, was stopped, or whose database was wrong.
    """  # fmt: skip
    for option, wrong in (("--threads", a.several_threads or b.several_threads), ("--keep", a.keep or b.keep),
                          ("--reuse", a.reuse or b.reuse)):  # fmt: skip
        if wrong:
            raise SpecError(option, "runs that are compared have one number of threads and databases of their own",
                            "leave it out, or make several comparisons")  # fmt: skip
    if a.scales != b.scales:
        raise SpecError("--scales", "both have to have the same scales", "name them once, for both")
    if one_database:
        _refuse_apart(a, b)
    specs = {"A": a.model_copy(update={"label": a.label or "A"}), "B": b.model_copy(update={"label": b.label or "B"})}
    found = Versus(names, (), difference)
    for number in count(1):
        sides = {letter: one.model_copy(update={"seed": a.seed + number}) for letter, one in specs.items()}
        with _on_one_database(sides, out, observer, stop) if one_database else nullcontext(sides) as asked:
            made = [_run(asked[letter], out, observer, stop) for letter in BLOCK]
        block = Block(tuple(path for path, _ in made), tuple(rate for _, rate in made))
        found = Versus(names, (*found.blocks, block), difference)
        told(found.lines()[-2])
        done = number >= blocks and found.ratio.verdict is not Verdict.OPEN
        if done or number >= most_blocks:
            return found
    raise AssertionError("count() does not end")


def _refuse_apart(a: RunSpec, b: RunSpec) -> None:
    """``SpecError`` where A and B cannot work on one database."""
    option, remedy = "--one-database", "leave it out: then each run has a database of its own"
    if a.target.private is None or a.target.private != b.target.private or a.target.version != b.target.version:
        raise SpecError(option, "A and B have to be private servers of one product and version", remedy)
    if len(a.scales) > 1:
        raise SpecError(option, "a database is kept of one scale", "name one scale, or leave --one-database out")
    if a.storage or b.storage:
        raise SpecError(option, "a file system that is made for a run goes with it", "leave --storage out")


@contextmanager
def _on_one_database(
    sides: dict[str, RunSpec], out: Path, observer: Callable[[RunSpec], Observer], stop: Stop | None
) -> Iterator[dict[str, RunSpec]]:
    """``sides`` on a database that is made now, by a run that counts for nothing: so all that count start a server.

    Where this program is killed, the next private server that is started there removes it.
    """
    folder = Folder.create(servers.base_directory(sides["A"].target), "ab")
    try:
        there = {letter: one.model_copy(update={"target": one.target.model_copy(update={"directory": folder.path})})
                 for letter, one in sides.items()}  # fmt: skip
        made = {"keep": True, "cycles": 1, "duration": _BRIEF_S, "ramp_up": 0.0, "precision": None, "shortest": None,
                "find_ramp_up": False}  # fmt: skip
        _run(there["A"].model_copy(update=made), out / BEFORE, observer, stop)
        yield {letter: one.model_copy(update={"reuse": True}) for letter, one in there.items()}
    finally:
        folder.remove()


def _run(spec: RunSpec, out: Path, observer: Callable[[RunSpec], Observer], stop: Stop | None) -> tuple[Path, float]:
    outcome = perform(spec, out, observer(spec), stop).outcome
    if outcome.error is not None:
        raise outcome.error
    found = evaluate(Archive.open(outcome.archive))
    if outcome.void_scales:
        scales = ", ".join(map(str, outcome.void_scales))
        raise RunError(f"the check failed at scale {scales} of {outcome.archive.name}", "see its results.log")
    rates = found.cycle_rates
    rate = float(10 ** mean_lg(rates, sorted(rates)))
    if not isfinite(rate):
        words = f"nothing was committed at a scale of {outcome.archive.name}: there is no rate to compare"
        raise RunError(words, "use longer cycles: --duration")
    return outcome.archive, rate


def write(found: Versus, out: Path) -> list[Path]:
    """Writes ab.txt, ab.json, a diagram, and the archives side by side into ``out``; gives the paths."""
    from dsbench.evaluation.side_by_side import read  # Late: the libraries that draw take a second.
    from dsbench.report import render, several
    from dsbench.report.diagrams.versus import versus as drawn

    courses = [(np.exp(block.log_ratio), found.after(number).interval) for number, block in enumerate(found.blocks, 1)]
    files = {
        f"{STEM}.txt": ("\n".join(found.lines()) + "\n").encode(),
        f"{STEM}.json": (json.dumps(found.document(), indent=2, ensure_ascii=False) + "\n").encode(),
        **render.drawn_as(STEM, drawn(courses, found.difference)),
        **several.files(read(found.archives)),
    }
    try:
        for name, content in files.items():
            (out / name).write_bytes(content)
    except OSError as error:
        raise OutError(f"--out: cannot write to {error.filename or out}: {error.strerror}") from None
    return [out / name for name in files]
