"""What an archive is asked about, in one place for each: its results, its words, tables and diagrams, its measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import e, log
from typing import TYPE_CHECKING, Any

from dsbench.read.blocks import Block

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.spec import RunSpec
    from dsbench.stats.values import Floats

Read = Callable[["Evaluation"], Any]
Values = Mapping[int, float]
"""Scale to value; what is not known is nan, or no value."""


@dataclass(frozen=True)
class Measure:
    """A figure that studies, comparisons and histories can be about: ``--of NAME``.

    Each is defined by its subject; ``read.subjects.measures()`` has all of them by name, and ``read.choice`` reads them
    from the stage and the group of clients that somebody chose.
    """

    name: str
    unit: str
    """Empty for a number that has none."""
    about: str
    """What it is, in words that go on after ``the``."""
    read: Callable[[Evaluation], Values]
    """Of one series of cycles; at scale 0 where a run has one value for all its scales."""
    in_stage: Callable[[Evaluation], Values] | None = None
    """The same of one stage alone, for a stage that somebody names; ``None`` where ``read`` is that."""
    more: bool = True
    """Whether more of it is better."""
    geometric: bool = True
    """Whether trials are combined by their geometric mean, and effects are ratios. Else it is the arithmetic mean, and
    effects are differences: for shares, for what is often 0, and for what is a logarithm already, as the DSI."""
    own: bool = False
    """Whether it is that of the measured clients alone, without what runs beside them."""
    per_run: bool = False
    """Whether a run has one value for all its scales."""
    of_statements: bool = False
    """Whether a stage of statements that are timed, without clients, has it as well."""
    needs: str = ""
    """What a run is asked for that has it, as the remedy where none has; empty where that needs no saying."""
    possible: Callable[[RunSpec], bool] = lambda _: True
    """Whether a run of this specification may have it. It says no where nobody has to make the run to know."""
    unit_of: Callable[[Evaluation], str] | None = None
    """Its unit in one series, where workloads differ in it; empty for ``unit``."""

    @property
    def step(self) -> float:
        """What stands for a factor of e where two values are compared by their difference: 100 points of a share, 1 of
        a DSI. 0 where they are compared by their ratio."""
        if self.geometric:
            return 0.0
        return 100.0 if self.unit == "%" else float(self.per_run)

    def as_ratios(self, values: Floats) -> Floats:
        """Values whose ratios say how ``values`` compare: themselves, or powers of e."""
        return e ** (values / self.step) if self.step else values

    def show_ratio(self, ratio: float) -> str:
        """A ratio of these as a change: ``+12.3%``, or ``-1.5`` in the measure's unit."""
        return f"{self.step * log(ratio):+.3g}" if self.step else f"{ratio - 1:+.1%}"

    @property
    def label(self) -> str:
        """Its name in diagrams and tables."""
        return self.name.upper() if self.name in ("dsi", "nopm") else self.name

    def get_unit(self, part: Evaluation) -> str:
        return (self.unit_of(part) if self.unit_of else "") or self.unit


@dataclass(frozen=True)
class Subject:
    """A subject. Its file says all there is to say about it; ``read.subjects`` lists it by one line."""

    name: str
    """``dsbench show --by NAME``, the section of the page, the key of the docs."""
    title: str
    reads: Mapping[str, Read] = field(default_factory=dict)
    """Name of a result, as ``archive.evaluate()`` and ``--json`` have it, to what computes it from one series."""
    whole: Mapping[str, Read] = field(default_factory=dict)
    """The same from a run of several series, where its result is not that of the last of them."""
    tell: Callable[[Evaluation], Iterable[Block]] = lambda _: ()
    """What there is to show; nothing where the run has nothing of it."""
    nothing: str = ""
    """What ``show --by`` says where there is nothing to show."""
    measures: tuple[Measure, ...] = ()
    """Figures that comparisons, histories and studies can be about."""
