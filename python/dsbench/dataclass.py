"""``dataclass`` as the standard library has it, but for the time at which its methods are made.

The standard one compiles six methods of each class where the class is declared, which takes a millisecond. The parts
of this program declare hundreds, and make values of few. Here nothing is compiled but ``__init__``, with the first
value of its class. ``field``, ``fields``, ``replace`` and ``asdict`` are the standard ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(kind: type | None = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
        """The class decorator, with those options of the standard one that are used here."""
        if kind is None:
            return lambda given: _declared(given, frozen=frozen, eq=eq)
        return _declared(kind, frozen=frozen, eq=eq)


def _declared(kind: type, *, frozen: bool, eq: bool) -> type:
    own = set(vars(kind))
    dataclasses.dataclass(init=False, repr=False, eq=False)(kind)
    methods: dict[str, Any] = {"__init__": _making(kind, frozen), "__repr__": _representing(kind)}
    if eq:
        methods |= {"__eq__": _comparing(kind), "__hash__": _hashing(kind) if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, method in methods.items():
        if name not in own:  # What the class says itself stays.
            setattr(kind, name, method)
    return kind


def _making(kind: type, frozen: bool) -> Callable[..., None]:
    def __init__(self: Any, *given: Any, **named: Any) -> None:
        made: Callable[..., None] = _compiled(kind, frozen)
        setattr(kind, "__init__", made)  # noqa: B010 - mypy knows that no class should
        made(self, *given, **named)

    return __init__


def _compiled(kind: type, frozen: bool) -> Any:
    """``__init__`` with a parameter for each field."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_absent": MISSING}
    heads, lines = ["self"], []
    for number, one in enumerate(one for one in dataclasses.fields(kind) if one.init):
        name = value = one.name
        if one.default_factory is not MISSING:
            known[f"_made_{number}"] = one.default_factory
            value = f"_made_{number}() if {name} is _absent else {name}"
            heads.append(f"{name}=_absent")
        elif one.default is not MISSING:
            known[f"_default_{number}"] = one.default
            heads.append(f"{name}=_default_{number}")
        else:
            heads.append(name)
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(heads)}):\n " + "\n ".join(lines or ["pass"]), known)
    made = known["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    return made


def _values(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """The values of its fields that are compared."""
    names = [one.name for one in dataclasses.fields(kind) if one.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _comparing(kind: type) -> Callable[[Any, Any], Any]:
    values = _values(kind)

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hashing(kind: type) -> Callable[[Any], int]:
    values = _values(kind)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _representing(kind: type) -> Callable[[Any], str]:
    names = [one.name for one in dataclasses.fields(kind) if one.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot change field {name!r} of {self.__class__.__qualname__}")
