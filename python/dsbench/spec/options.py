"""The table of options: each setting of a run with all that is known of it.

The command line, configuration files, errors, the command that repeats a run and the comparison of runs are made
from it. A setting that is added to ``RunSpec`` is in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dsbench.dataclass import dataclass
from dsbench.spec.run import RunSpec
from dsbench.spec.words import About, SpecError

Kind = Literal["boolean", "integer", "number", "string", "array", "object"]


@dataclass(frozen=True)
class Option:
    """One setting of a run."""

    name: str
    """In TOML, in ``run.json`` and in Python."""
    about: About
    kind: Kind
    """Of the value; of an array the items are ``item``."""
    item: Literal["integer", "number", ""]
    choices: tuple[str, ...]
    """All values that a text may have; empty where any may be."""
    low: float | None
    """Least value, or the value that it has to exceed where ``above`` is set; ``None`` where there is none."""
    above: bool
    high: float | None
    """Largest value; ``None`` where there is none."""
    default: Any
    """Its value in JSON when nothing is said; ``None`` where the engine, the workload or chance decides."""

    @property
    def flag(self) -> str:
        return self.about.flag or "--" + self.name.replace("_", "-")

    @property
    def flags(self) -> tuple[str, ...]:
        """All words of the command line that give it: those of a switch are two."""
        return (self.flag, "--no-" + self.flag.removeprefix("--")) if self.kind == "boolean" else (self.flag,)

    @property
    def of_load(self) -> bool:
        """Whether runs in which it differs do other work. The workload's own settings are looked at one by one."""
        return self.about.compared == "load" and self.kind != "object"

    @property
    def help(self) -> str:
        """What it is, with its default unless that is no, in a line."""
        default = self.about.default
        if not default and self.default is not False:
            default = self.shown(self.default) if self.about.unit == "s" else printed(self.default)
        return f"{self.about.help} [{default}]" if default else self.about.help

    @property
    def details(self) -> str:
        """The same with all that a user has to know of it, in sentences."""
        return f"{self.help}. {self.about.more}{'.' * bool(self.about.more)}".strip()

    def shown(self, value: Any) -> str:
        """``value``, as it is in ``run.json``, for people, with its unit."""
        text = ", ".join(map(printed, value)) if isinstance(value, list) else printed(value)
        return f"{text} {self.about.unit}" if text and self.about.unit else text

    def words(self, value: Any) -> list[str]:
        """What the command line says for ``value``, as it is in ``run.json``; nothing for what is said by silence."""
        if value is None or value == "" or (self.about.brief and value == self.default):
            return []
        if self.kind == "boolean":
            return [self.flags[0] if value else self.flags[1]]
        if self.kind == "object":
            return [word for name, text in value.items() for word in (self.flag, f"{name}={text}")]
        return [self.flag, printed(value)]

    def numbers(self, text: str) -> tuple[float, ...]:
        """The value of an array out of ``text``, such as 1,2,5; ``SpecError`` where it is none."""
        try:
            return tuple((float if self.item == "number" else int)(part) for part in text.split(","))
        except ValueError:
            example = "0.5,0.9" if self.item == "number" else "1,2,5"
            remedy = f"write, for example, {example}, in a file [{example.replace(',', ', ')}]"
            raise SpecError(self.flag, f"{text[:60]!r} is not a list of numbers", remedy) from None


def printed(value: Any) -> str:
    """``value``, as it is in ``run.json``, as a word of the command line; it loses nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, list | tuple):
        return ",".join(printed(part) for part in value)
    return str(value)


_KINDS: Final[dict[Any, Kind]] = {bool: "boolean", int: "integer", float: "number", str: "string", tuple: "array"}
_ITEMS: Final[dict[Any, Literal["integer", "number"]]] = {int: "integer", float: "number"}


def _value(hint: Any) -> tuple[Any, list[Any]]:
    """The type of a value that is there, with what is said of it beside its type."""
    if get_origin(hint) is Annotated:
        kind, *said = get_args(hint)
        inner, more = _value(kind)
        fields = (one.metadata if isinstance(one, FieldInfo) else [one] for one in said)
        return inner, [*more, *chain.from_iterable(fields)]
    if get_origin(hint) in (Union, UnionType):
        (there,) = [one for one in get_args(hint) if one is not NoneType]
        return _value(there)
    return hint, []


def _bound(said: Iterable[Any], *names: str) -> float | None:
    return next((getattr(one, name) for one in said for name in names if hasattr(one, name)), None)


def _table() -> Iterable[Option]:
    """From the annotations: a schema of them would take its time whenever anything is loaded."""
    for name, field in RunSpec.model_fields.items():
        about = next((found for found in field.metadata if isinstance(found, About)), None)
        if about is None:
            continue
        hint, said = _value(field.annotation)
        said += field.metadata
        origin = get_origin(hint) or hint
        inner = hint if about.several else _value(get_args(hint)[0])[0] if origin is tuple else None
        over = _bound(said, "gt")
        default = None if field.default is PydanticUndefined else field.default
        yield Option(
            name=name,
            about=about,
            kind="array" if about.several else "string" if origin is Literal else _KINDS.get(origin, "object"),
            item=_ITEMS.get(inner, ""),
            choices=get_args(hint) if origin is Literal else (),
            low=_bound(said, "ge") if over is None else over,
            above=over is not None,
            high=_bound(said, "le", "lt"),
            default=list(default) if isinstance(default, tuple) else default,
        )


OPTIONS: Final = {option.name: option for option in _table()}
"""By name, in the order of ``RunSpec``."""
