"""What blocks of runs of A and B tell: the verdict, what speaks against it, and the same for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import isfinite, nan
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench.archive import Archive, ArchiveError
from dsbench.dataclass import dataclass
from dsbench.format import finite, with_unit
from dsbench.measure.journal import RunError
from dsbench.read.blocks import Block as Show
from dsbench.read.blocks import Column, Diagram, Overview, Sentence, Table, Terms
from dsbench.read.choice import Choice, make_choice
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subject import Measure
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.why import WhyResult
from dsbench.read.text import render_text
from dsbench.read.verdict import RunVerdict, Tally
from dsbench.several.causes import read_times, say_change
from dsbench.several.work import find_differences, find_load, say_apart
from dsbench.stats.comparison import RateRatio, Verdict, of_block, ratio
from dsbench.stats.machine import MOST_OTHERS
from dsbench.stats.values import Floats

STEM: Final = "ab"
"""Of the files that are written beside the archives."""
RATE: Final = make_choice("rate")
_TURNED: Final = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
"""The verdict where less is better."""
_TIMED: Final = ("tps", "NOPM", "ms", "s")
"""Units of what is faster or slower; all else is better or worse."""


_OFTEN: Final = 0.05
"""Share of the seconds from which on a side is starved."""


@dataclass(frozen=True)
class Block:
    """One block of runs."""

    order: str
    """One of ``ORDERS``."""
    archives: tuple[Path, ...]
    rates: tuple[float, ...]
    """Of each run, in tps or what else is measured: at several scales the geometric mean along lg scale."""
    verdicts: tuple[RunVerdict, ...]
    """Of each run."""
    starved: tuple[tuple[float, ...], ...] = ()
    """Of each pair of runs at the same time, of A and of B, the share of the seconds in which it nearly stood still and
    the other side did not; empty if unknown."""
    foreign: tuple[float | None, ...] = ()
    """Of each such pair, the greatest share (0-1) of the CPU time of a cycle that neither side had;
    ``None`` if unknown."""


@dataclass(frozen=True)
class Versus:
    """B against A."""

    names: tuple[str, str]
    blocks: tuple[Block, ...]
    difference: float
    """Share (0-1) below which rates count as equal; where differences are compared, of ``Measure.step``."""
    seed: int = 0
    """Of the inputs of all runs and of the order of each block."""
    asked: Mapping[str, Any] | None = None
    """What both sides ask for, without passwords: ``--resume`` goes on with the same only."""
    error: RunError | None = None
    """Why it ended before a verdict stood: a run failed, or somebody stopped it."""
    choice: Choice = RATE
    """What is measured; where values are compared by differences, the ratio is a power of e, and is told as one."""
    unit: str = "tps"
    of_stage: str = ""
    """What rates are of, in a run of several stages."""
    evaluations: Mapping[Path, Evaluation] = field(default_factory=dict, compare=False, repr=False)
    """Of those archives that were evaluated already, by path."""

    @property
    def duet(self) -> bool:
        """Whether both sides ran at the same time."""
        return bool((self.asked or {}).get("duet"))

    @cached_property
    def how(self) -> Measure:
        """The measure, for the values of all blocks."""
        return self.choice.how.sized(value for block in self.blocks for value in block.rates)

    def log_ratio(self, block: Block) -> float:
        return float(self._pairs(block).mean())

    def _pairs(self, block: Block) -> Floats:
        return of_block(self.how.as_ratios(np.array(block.rates)), block.order)

    def after(self, blocks: int) -> RateRatio:
        """What was known after so many blocks."""
        found = ratio(np.array([self._pairs(block) for block in self.blocks[:blocks]]), self.difference)
        return found if self.choice.how.more else replace(found, verdict=_TURNED.get(found.verdict, found.verdict))

    @property
    def ratio(self) -> RateRatio:
        return self.after(len(self.blocks))

    @property
    def archives(self) -> list[Path]:
        """All of them, in the order in which they were made."""
        return [path for block in self.blocks for path in block.archives]

    def sentence(self) -> str:
        if not self.blocks:
            return "undecided: no block is complete"
        found, within = self.ratio, self.ratio.interval
        how = self.how
        known = isfinite(within.high) and within.low > 0
        if how.step:
            ends = f" [{how.show_ratio(within.low)}, {how.show_ratio(within.high)}]" if known else ""
            change = with_unit(how.show_ratio(within.value), self.unit)
            what = f"{how.label} of B minus that of A is {change}{ends}"
        else:
            bounds = f" [{within.low:.3f}, {within.high:.3f}]" if isfinite(within.high) else ""
            what = f"B has {within.value:.3f} times the {how.label} of A{bounds}"
        number = f"{len(self.blocks)} block{'s' if len(self.blocks) > 1 else ''}"
        figure = f"{what}, {within.level:.0%}, after {number}"
        if found.verdict is Verdict.ALIKE:
            most = with_unit(how.show_ratio(1 + found.most), self.unit) if how.step else f"{found.most:.1%}"
            return f"no difference of more than {most.removeprefix('+')}: {figure}"
        if found.verdict is Verdict.OPEN:
            more = "" if self.error else "; make more blocks (--max-blocks) or longer runs (--duration, --cycles)"
            return f"undecided: {figure}{more}"
        better = "better" if found.verdict is Verdict.FASTER else "worse"
        return f"{found.verdict if self.unit in _TIMED or how.name == 'rate' else better}: {figure}"

    @property
    def tally(self) -> Tally:
        """The verdict of each run, by side."""
        sides: dict[str, list[RunVerdict]] = {"A": [], "B": []}
        for block in self.blocks:
            for letter, verdict in zip(block.order, block.verdicts, strict=True):
                sides[letter].append(verdict)
        return Tally(sides)

    def answer(self) -> Overview:
        """The verdict, with what speaks against its runs before it."""
        said = self.sentence()
        about = "; ".join(self.tally.say_unknown())
        return Overview(f"{said[:1].upper()}{said[1:]}.", about, self._dangers(), verdict=self.tally.say())

    def tell(self, drawn: dict[str, Any] | None = None) -> Iterator[Show]:
        """The verdict, the names, the diagram ``drawn`` and each block, for people."""
        yield self.answer()
        if drawn:
            what = "difference" if self.how.step else "ratio"
            yield Diagram(STEM, drawn, f"The {what} of each block, and the interval of the {what} after it.", wide=True)
        yield Terms(list(zip("AB", self.names, strict=True)))
        if self.changed:
            yield Sentence(f"With B {self.changed}.")
        if self.blocks:
            how, ratios = self.how, [float(np.exp(self.log_ratio(block))) for block in self.blocks]
            rows = [(number, block.order, *block.rates, how.show_ratio(one) if how.step else one)
                    for number, (block, one) in enumerate(zip(self.blocks, ratios, strict=True), 1)]  # fmt: skip
            form = {"form": ",.1f"} if how.name == "rate" else {"digits": 4}
            each = (Column(name, self.unit, **form) for name in ("first", "second", "third", "fourth"))
            last = Column("B - A", self.unit) if how.step else Column("B / A", form=".3f")
            name = "Rates" if how.name == "rate" else how.label
            of = "in their order" if not self.duet else "on the first and the second half of the CPUs, twice"
            title = f"{name} of the runs of each block, {of}"
            yield Table(title, (Column("block"), Column("order", left=True), *each, last), rows)
            if self.of_stage:
                yield Sentence(f"What is measured: {self.of_stage}.", "note")
            what = "order" if not self.duet else "half of the CPUs of each side"
            yield Sentence(f"The {what} in each pair of runs was drawn with the seed {self.seed}.", "note")
            if self.duet:
                words = "They shared caches, memory and devices, and each had half of the CPUs"
                yield Sentence(f"Both sides ran at the same time. {words}: one server alone has a higher rate.", "note")

    def _open(self) -> dict[str, list[Archive]]:
        """Of each side, in the order in which they were made."""
        sides: dict[str, list[Archive]] = {"A": [], "B": []}
        for block in self.blocks:
            for letter, path in zip(block.order, block.archives, strict=True):
                sides[letter].append(Archive.open(path))
        return sides

    def _dangers(self) -> list[str]:
        """Why the sides did not do the same work, and which may lose what the other keeps: it is no fair winner."""
        try:
            runs = {letter: [one.run for one in some] for letter, some in self._open().items() if some}
        except ArchiveError:  # One that was taken away costs what is told beside the verdict.
            return []
        differences = find_differences([some[0] for some in runs.values()])
        apart = [*say_apart(runs, differences, find_load(differences, runs), self.choice.how.label)]
        apart += _say_of_duet([one for block in self.blocks for one in block.starved],
                              [one for block in self.blocks for one in block.foreign])  # fmt: skip
        return [f"{line[:1].upper()}{line[1:]}." for line in apart]

    @cached_property
    def changed(self) -> str:
        """Changes of a transaction's time with B, at the largest scale; empty where the archives do not tell, and
        where B is not known to differ."""
        if self.ratio.verdict not in _TURNED:
            return ""
        try:
            sides = {letter: [self.evaluations.get(one.path) or evaluate(one) for one in some]
                     for letter, some in self._open().items()}  # fmt: skip
        except ArchiveError:  # As above.
            return ""
        every = [one for side in sides.values() for one in side]
        if any(one.of(QueriesResult).queries for one in every):  # Their transactions are queries of all sizes.
            return ""
        common = set.intersection(*(set(one.of(WhyResult).why) for one in every)) if every else set()
        if not common:
            return ""
        return say_change(*(read_times(side, max(common)) for side in sides.values()))

    def text(self) -> str:
        """The same for a terminal."""
        return render_text(self.tell()) + "\n"

    def document(self) -> dict[str, Any]:
        """As JSON values; ``null`` for what is not known yet."""
        how = self.how
        key = "rates_tps" if how.name == "rate" else "values"
        ratios = {one: float(np.exp(self.log_ratio(one))) for one in self.blocks}
        blocks = [{"order": one.order, "archives": [path.name for path in one.archives], key: one.rates,
                   "verdicts": [verdict.document() for verdict in one.verdicts],
                   **({"starved": one.starved, "foreign": one.foreign} if self.duet else {}),
                   "change" if how.step else "ratio": how.as_change(ratios[one])}
                  for one in self.blocks]  # fmt: skip
        found, within = self.ratio, self.ratio.interval
        bounds = (within.low, within.high) if isfinite(within.high) else (nan, nan)
        value, low, high = (finite(how.as_change(one)) for one in (within.value, *bounds))
        return {
            "a": self.names[0], "b": self.names[1], "order": " ".join(one.order for one in self.blocks),
            "seed": self.seed, "runs": self.tally.document(), "verdict": found.verdict.value,
            "measure": how.name, "unit": self.unit, "stage": self.of_stage or self.choice.stage or None,
            "change" if how.step else "ratio": {"value": value, "low": low, "high": high, "level": within.level},
            "difference": self.difference, "error": str(self.error) if self.error else None, "blocks": blocks,
            "asked": self.asked,
        }  # fmt: skip


def _say_of_duet(starved: Sequence[Sequence[float]], foreign: Sequence[float | None]) -> list[str]:
    """What both sides being there at the same time may have done to a comparison; of each pair of runs."""
    lines = []
    for letter, shares in zip("AB", zip(*(one for one in starved if one), strict=True), strict=False):
        if (often := sum(share > _OFTEN for share in shares)):
            lines.append(f"{letter} stalled in up to {max(shares):.0%} of the seconds in which the other side did not, "
                         f"in {often} of {len(shares)} pairs of runs: compare without --duet")  # fmt: skip
    most = max((share for share in foreign if share is not None), default=0.0)
    if most > MOST_OTHERS:
        lines.append(f"other programs or the hypervisor took up to {most:.0%} of the CPU time, from both sides "
                     "at the same time")  # fmt: skip
    return lines
