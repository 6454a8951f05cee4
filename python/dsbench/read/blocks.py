"""What can be said of a run, whatever the medium: sentences, tables and diagrams. Each medium renders these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import inf, isfinite, log, nan
from typing import Any, Final, Literal

from dsbench.dataclass import dataclass
from dsbench.format import DOWN, UP, format_number

_SHADES: Final = (log(1.15), log(1.6))
"""Sizes from which on a colour is stronger."""


@dataclass(frozen=True)
class Column:
    """A column of a table. Values are SI or counts; how they are shown is said here once."""

    name: str
    unit: str = ""
    times: float = 1.0
    """What a value is multiplied by to be in ``unit``."""
    digits: int = 3
    """Significant digits of a float; whole numbers from 10 to that power on are shown whole."""
    form: str = ""
    """A format such as ``.1%`` in place of ``digits``."""
    left: bool = False
    """Whether cells are texts, aligned to the left."""
    about: str = ""
    signed: bool = False
    """Whether the signs of ``format.tone`` in its cells are coloured."""
    spare: bool = False
    """Whether a terminal that is too narrow leaves it out."""

    @property
    def head(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name

    @property
    def short_head(self) -> str:
        """The same for a terminal, where a column is as wide as its head."""
        return f"{self.name} {self.unit}".strip()

    def show(self, value: Any) -> str:
        """A cell; a dash where there is no value."""
        if isinstance(value, Ratio):
            return value.text
        return value if isinstance(value, str) else format_number(value, self.times, self.digits, self.form)


@dataclass(frozen=True)
class Ratio:
    """A rate divided by that of the reference, in a cell that is coloured by its size."""

    value: float
    low: float = nan
    high: float = nan
    """Ends of its interval; nan where there is none."""
    brief: bool = False
    """Whether the interval is left out."""

    @property
    def apart(self) -> bool:
        """Whether it is told apart from 1: by its interval, and without one never."""
        return self.low > 1 or self.high < 1

    @property
    def shade(self) -> str:
        """``up1`` to ``up3``, ``down1`` to ``down3``, or ``same``."""
        if not self.apart:
            return "same"
        size = abs(log(self.value)) if self.value > 0 else inf
        return ("up" if self.value > 1 else "down") + str(1 + sum(size > border for border in _SHADES))

    @property
    def within(self) -> str:
        """The interval."""
        return f"{self.low:.2f}–{self.high:.2f}" if isfinite(self.low) and self.low < self.high else ""

    @property
    def text(self) -> str:
        """Without colour: with a sign, and its interval."""
        sign = (UP if self.value > 1 else DOWN) if self.apart else ""
        figure = "1" if self.value == 1 and not self.within else f"{self.value:.2f}{sign}"
        return f"{figure} [{self.within}]" if self.within and not self.brief else figure


@dataclass(frozen=True)
class Sentence:
    """A sentence or a few."""

    text: str
    role: str = ""
    """"lead" for the answer, "note" for small print, "warning" where it must be seen; else plain."""


@dataclass(frozen=True)
class Listed:
    """Sentences that stand below each other."""

    items: Sequence[str]


@dataclass(frozen=True)
class Terms:
    """Names with what they are; pairs without a value are left out."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """A table; the first column tells what a row is of."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    marked: frozenset[int] = frozenset()
    """Numbers of rows that must not be used, or failed."""


@dataclass(frozen=True)
class Diagram:
    """A diagram by its Vega-Lite specification."""

    name: str
    spec: dict[str, Any] = field(repr=False)
    caption: str = ""
    switched: bool = False
    """Whether a linear axis and a logarithmic one both say something: a page then offers the other one."""
    wide: bool = False
    """Whether a page gives it its whole width."""


@dataclass(frozen=True)
class Picture:
    """A diagram that is drawn already: SVG that takes its colours from the page."""

    name: str
    svg: str = field(repr=False)
    caption: str = ""


@dataclass(frozen=True)
class Part:
    """Blocks below a heading of their own; ``folded``: a page shows them when they are opened."""

    title: str
    blocks: Sequence[Block]
    folded: bool = False
    key: str = ""
    """What a link names it by: then it is a section of the page."""
    tab: str = ""
    """The tab of the page that it stands behind."""


Tone = Literal["", "good", "fair", "bad"]


@dataclass(frozen=True)
class Tile:
    """A figure of the first screen."""

    name: str
    value: str
    note: str
    tone: Tone = ""


@dataclass(frozen=True)
class TimePart:
    """A part of a ``TimeBar``."""

    name: str
    share: float
    """Of the whole (0-1)."""
    value: str
    """Its time with the unit."""
    colour: str


@dataclass(frozen=True)
class TimeBar:
    """A time as a bar of its parts, which add up to it."""

    title: str
    parts: Sequence[TimePart]


@dataclass(frozen=True)
class Overview:
    """What a page and a terminal begin with."""

    sentence: str
    """What was measured and what came out."""
    about: str = ""
    """How it was measured, in a line."""
    dangers: Sequence[str] = ()
    """Why the figures may not be used, or not as they are."""
    tiles: Sequence[Tile] = ()
    why: str = ""
    """Where the time goes, in a sentence."""
    soundness: str = ""
    """The verdict of the run that it tells of, for who reads the page by a program."""
    verdict: Sequence[str] = ()
    """Whether the run is valid, or which of the runs that it rests on are void or disturbed, and by what: it stands
    before the sentence."""
    time: TimeBar | None = None
    """What ``why`` says, as a bar that a page shows in its place."""


@dataclass(frozen=True)
class Notice:
    """A warning with what to do about it."""

    text: str
    where: Sequence[str] = ()
    """``scale 5``, or the archives that it is about."""
    remedy: str = ""
    severe: bool = False
    """Whether figures are void."""


@dataclass(frozen=True)
class Notices:
    """Warnings, the worst first."""

    items: Sequence[Notice]


Block = Sentence | Listed | Terms | Table | Diagram | Picture | Part | Overview | Notices
