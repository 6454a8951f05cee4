"""A class of ``dsbench.dataclass`` is one of the standard library, made later."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench.dataclass import dataclass


@dataclass(frozen=True)
class Point:
    """A value with what values here have: defaults, what is made for each, what is kept out of the words."""

    x: float
    names: list[str] = field(default_factory=list)
    spec: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    y: int = 2

    @cached_property
    def sum(self) -> float:
        return self.x + self.y


@dataclass
class Counter:
    """One that changes."""

    count: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        self.twice = 2 * self.count


@dataclass(frozen=True)
class Farther(Point):
    """One below another."""

    z: str = ""


@dataclass(frozen=True, eq=False)
class Itself:
    """One that equals nothing else."""

    x: int = 0


@dataclass(frozen=True)
class Nothing:
    """One without fields."""


def standard(kind: Any) -> Any:
    """The same class as the standard library makes it."""
    body = {name: value for name, value in vars(kind).items() if name in ("__post_init__", "__module__", "__doc__")}
    own = [(one.name, one.type, copy.copy(one)) for one in fields(kind)]
    made = dataclasses.make_dataclass(
        kind.__name__, own, namespace=body, frozen=kind.__setattr__ is not object.__setattr__,
        eq=kind.__eq__ is not object.__eq__,
    )  # fmt: skip
    made.__qualname__ = kind.__qualname__
    return made


@pytest.mark.parametrize(
    ("kind", "given", "named"),
    [
        (Point, (1.5,), {}), (Point, (1.5, ["a"]), {"y": 3}), (Point, (), {"x": float("nan")}), (Counter, (3,), {}),
        (Farther, (1.0, [], {}, 2, "z"), {}), (Itself, (), {"x": 4}), (Nothing, (), {}),
    ],
)  # fmt: skip
def test_it_is_what_the_standard_library_makes(kind: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = kind(*given, **named), standard(kind)(*given, **named)
    assert repr(ours) == repr(theirs)
    assert vars(ours) == vars(theirs)
    assert asdict(ours) == asdict(theirs)
    assert kind.__match_args__ == type(theirs).__match_args__
    assert (ours == copy.copy(ours)) == (theirs == copy.copy(theirs))
    assert (kind.__hash__ is None) == (type(theirs).__hash__ is None)
    assert ours != theirs


@pytest.mark.parametrize("kind", [Point, Counter, Nothing])
@pytest.mark.parametrize("given", [(1, 2, 3, 4, 5, 6), {"unknown": 1}, {"x": 1, "count": 1}])
def test_it_refuses_what_the_standard_library_refuses(kind: Any, given: Any) -> None:
    words = []
    for one in (kind, standard(kind)):
        with pytest.raises(TypeError) as told:
            one(**given) if isinstance(given, dict) else one(*given)
        words.append(str(told.value).split("__init__")[1])
    assert words[0] == words[1]


def test_values_are_compared_hashed_replaced_and_sent() -> None:
    one, other = Nothing(), Nothing()
    assert one == other
    assert hash(one) == hash(other) == hash(())
    whole = Farther(1.0, z="z")
    assert replace(whole, z="") == Farther(1.0)
    assert replace(whole, z="") != Point(1.0)
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert Point(1.0, spec={"a": 1}) == Point(1.0)
    assert Point(1.0).names is not Point(1.0).names
    assert {Itself(1), Itself(1)} != {Itself(1)}


def test_one_that_is_frozen_stays_as_it_is_but_for_what_is_cached() -> None:
    point: Any = Point(1.0)
    for change in (lambda: setattr(point, "x", 2.0), lambda: setattr(point, "new", 2.0), lambda: delattr(point, "x")):
        with pytest.raises(FrozenInstanceError):
            change()
    assert point.sum == 3.0
    changing = Counter(1)
    changing.count = 5
    assert vars(changing) == {"count": 5, "twice": 2}


def test_nothing_is_compiled_before_the_first_value() -> None:
    @dataclass(frozen=True)
    class Late:
        x: int

    before: Any = Late.__init__
    assert Late(1) == Late(1)
    assert Late.__init__ is not before
    assert before.__code__.co_varnames != ("self", "x")


def test_the_parts_of_the_program_take_this_one() -> None:
    package = Path(dsbench.__file__).parent
    standard = [file.name for file in package.rglob("*.py") if re.search(r"import.*\bdataclass\b", file.read_text())
                and "from dsbench.dataclass import dataclass" not in file.read_text()]  # fmt: skip
    assert standard == ["dataclass.py"]
