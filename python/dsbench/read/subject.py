"""What an archive is asked about, in one place for each: its results, its words, tables and diagrams, its measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import e, inf, isfinite, isnan, log
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, get_args, get_type_hints, overload

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.spec import RunSpec
    from dsbench.stats.values import Floats

T = TypeVar("T")
_FARTHEST: Final = 100
"""Most of the steps of a measure that a value is from 0."""
_ROUNDING: Final = 1e-9
"""Of a logarithm."""
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
    size: float = 1.0
    """Of values that are compared by their difference, and are neither shares nor the DSI: see ``sized``."""

    @property
    def step(self) -> float:
        """What stands for a factor of e where two values are compared by their difference: 100 points of a share, 1 of
        a DSI, else ``size``. 0 where they are compared by their ratio."""
        if self.geometric:
            return 0.0
        return self.size if self.of_mean else 100.0 if self.unit == "%" else 1.0

    @property
    def of_mean(self) -> bool:
        """Whether a share of a difference is one of the mean of all values."""
        return not (self.geometric or self.unit == "%" or self.per_run)

    def sized(self, values: Iterable[float]) -> Self:
        """The same for all the ``values`` of a comparison."""
        sizes = [abs(value) for value in values]
        mean = sum(sizes) / len(sizes) if sizes else 0.0
        # Powers of e have an end: of many values that are 0 but for a few, the mean is far below those.
        return replace(self, size=max(mean, max(sizes, default=0.0) / _FARTHEST) or 1.0)

    def is_known(self, value: float) -> bool:
        """Whether a value can be compared: one of 0 has no ratio."""
        return isfinite(value) and (not self.geometric or value > 0)

    def as_ratios(self, values: Floats) -> Floats:
        """Values whose ratios say how ``values`` compare: themselves, or powers of e."""
        return e ** (values / self.step) if self.step else values

    def as_change(self, ratio: float) -> float:
        """A ratio of these: itself, or the difference in the measure's unit."""
        if not self.step or isnan(ratio):
            return ratio
        found = log(ratio) if ratio > 0 else -inf
        return 0.0 if abs(found) < _ROUNDING else self.step * found

    def show_ratio(self, ratio: float) -> str:
        """The same in words: ``+12.3%``, or ``-1.5`` in the measure's unit."""
        if not self.step:
            return f"{ratio - 1:+.1%}"
        change = self.as_change(ratio)
        return f"{change:+.3g}" if abs(change) < 999.5 else f"{change:+,.0f}"

    @property
    def label(self) -> str:
        """Its name in diagrams and tables."""
        return self.name.upper() if self.name in ("dsi", "nopm") else self.name

    def get_unit(self, part: Evaluation) -> str:
        return (self.unit_of(part) if self.unit_of else "") or self.unit


class Result:
    """What a subject says of an evaluation: its attributes are ``computed`` when they are first used."""

    def __init__(self, evaluation: Evaluation, known: Mapping[str, Any] | None = None) -> None:
        """``known`` are values by name, which are not computed."""
        self.evaluation = evaluation
        self.__dict__.update(known or {})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Its attributes, as ``--json`` has them."""
        return tuple(name for name, value in vars(cls).items() if isinstance(value, computed))

    @classmethod
    def type_of(cls, name: str) -> Any:
        """The type of an attribute: as it is annotated, or of what computes it."""
        hints = get_type_hints(cls)
        if name in hints:
            return get_args(hints[name])[0]
        return get_type_hints(vars(cls)[name].read, localns={"Evaluation": object})["return"]


class computed(Generic[T]):
    """An attribute of a ``Result``, by what computes it from one series of cycles.

    Of a run of several series it is that of the last one, or what ``whole`` computes.
    """

    def __init__(self, read: Callable[[Evaluation], T], whole: Callable[[Evaluation], T] | None = None) -> None:
        self.read, self._whole = read, whole

    def __set_name__(self, owner: type[Result], name: str) -> None:
        self._owner, self._name = owner, name

    @overload
    def __get__(self, result: None, owner: type[Result]) -> Self: ...
    @overload
    def __get__(self, result: Result, owner: type[Result]) -> T: ...
    def __get__(self, result: Result | None, owner: type[Result]) -> Self | T:
        if result is None:
            return self
        found = result.__dict__[self._name] = self._compute(result.evaluation)
        return found

    def _compute(self, evaluation: Evaluation) -> T:
        if not evaluation.series:
            return self.read(evaluation)
        if self._whole is not None:
            return self._whole(evaluation)
        found: T = getattr(list(evaluation.series.values())[-1].of(self._owner), self._name)
        return found


@dataclass(frozen=True)
class Subject:
    """A subject. Its file says all there is to say about it; ``read.subjects`` lists it by one line."""

    name: str
    """``dsbench show --by NAME``, the section of the page, the key of the docs."""
    title: str
    result: type[Result] = Result
    """What ``evaluation.of()`` gives of it."""
    tell: Callable[[Evaluation], Iterable[Block]] = lambda _: ()
    """What there is to show; nothing where the run has nothing of it."""
    on_page: Callable[[Evaluation], Iterable[Block]] | None = None
    """What a page shows in its place, where that is less."""
    nothing: str = ""
    """What ``show --by`` says where there is nothing to show."""
    measures: tuple[Measure, ...] = ()
    """Figures that comparisons, histories and studies can be about."""
