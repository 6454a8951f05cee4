"""What a study is asked to do: a base run, factors with levels, a plan of trials; parsed once from TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dsbench.analysis.designs import MOST_SCREENED
from dsbench.redaction import redact_values
from dsbench.spec import SpecError, parsed_toml, plain, printed
from dsbench.study import rules
from dsbench.study.paths import check

_LONGEST: Final = 1_000_000
"""Bytes of a file."""
_MOST_TRIALS: Final = 100_000

Design = Literal["full", "one-at-a-time", "list", "screening"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Level(_Frozen):
    """A value of a factor: what it sets in the specification of a run."""

    name: str
    sets: dict[str, Any] = Field(default_factory=dict)
    """Path into the specification to value."""
    number: float | None = None
    """Where it is one: its place on an axis."""


class Factor(_Frozen):
    """What a study varies."""

    name: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^=,;\x00-\x1f]+$")]
    path: str = ""
    """Into the specification of a run: an option, ``target.settings.NAME``, ``workload_settings.NAME`` …"""
    levels: Annotated[tuple[Any, ...], Field(min_length=1, max_length=1000)]
    """As they were written: values of ``path``, or tables with a name."""
    reference: Any = None
    """One of the levels, or its name; the first where none is named."""
    same_database: bool = False
    """Whether its levels are made one after another, as they are listed, on one database: that of the first."""

    @property
    def resolved(self) -> tuple[Level, ...]:
        """The levels with what they set. ``SpecError`` names the key that is wrong."""
        return tuple(_level(self, raw) for raw in self.levels)

    @property
    def reference_number(self) -> int:
        """Of the reference among the levels."""
        if self.reference is None:
            return 0
        names, wanted = [level.name for level in self.resolved], level_name(self.reference)
        if wanted not in names:
            raise SpecError(f"factor {self.name!r}: reference", f"{wanted!r} is none of its levels",
                            f"use one of {', '.join(names)}")  # fmt: skip
        return names.index(wanted)


class Trials(_Frozen):
    """Which combinations are tried, how often and in which order."""

    design: Design = "full"
    repeat: Annotated[int, Field(ge=1, le=1000)] = 3
    """Blocks: each has every combination once."""
    order: Literal["random blocks", "as listed"] = "random blocks"
    seed: Annotated[int, Field(ge=0, lt=1 << 48)] = 1
    """Of the order, and of the inputs: the runs of one block have the same."""


class StudySpec(_Frozen):
    """A study, as its file has it."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
    about: str = ""
    """What it asks, for its page."""
    run: dict[str, Any] = Field(default_factory=dict)
    """Settings of every run, by the names of ``dsbench run --help``."""
    factor: Annotated[tuple[Factor, ...], Field(min_length=1, max_length=MOST_SCREENED)]
    trials: Trials = Trials()
    trial: tuple[dict[str, Any], ...] = ()
    """Of the design list: levels by factor; a factor that is not named has its reference."""
    nodes: tuple[str, ...] = ()
    """Commands that start the nodes of a trial elsewhere; a node without one is a process of this machine."""
    address: str = ""
    """Where the nodes find this machine; empty for its address towards the network, or the loopback if one is here."""

    @property
    def folder_name(self) -> str:
        """Its name as that of a folder."""
        return re.sub(r"[^\w.+-]+", "-", self.name).strip("-.") or "study"


def read(path: Path) -> StudySpec:
    """The study of a TOML file. ``SpecError`` names the key that is wrong."""
    try:
        with path.open("rb") as file:
            return of_text(file.read(_LONGEST + 1), str(path))
    except OSError as error:
        raise SpecError("FILE", f"{path}: {error.strerror}", "name a readable TOML file") from None


def of_text(text: bytes, source: str) -> StudySpec:
    """The study of the text of a TOML file, which errors call ``source``. ``SpecError`` as for ``read``."""
    try:
        if len(text) > _LONGEST:
            raise ValueError(f"it has more than {_LONGEST} bytes")
        values = parsed_toml(text.decode())
    except ValueError as error:
        raise SpecError("FILE", f"{source}: {error}", "mend the file: dsbench study templates shows examples") from None
    return parse(values)


def parse(values: Mapping[str, Any]) -> StudySpec:
    """The study of what a file or ``study.json`` says."""
    try:
        spec = StudySpec.model_validate(values)
    except ValidationError as error:
        raise _spec_error(error) from None
    _refuse_twice("factor", [factor.name for factor in spec.factor])
    for factor in spec.factor:
        _refuse_twice(f"factor {factor.name!r}: levels", [level.name for level in factor.resolved])
        _ = factor.reference_number
    if (spec.trials.design == "list") != bool(spec.trial):
        problem = "the design list needs a [[trial]] for each" if not spec.trial else "only the design list has them"
        raise SpecError("trial", problem, 'write [[trial]] tables and [trials] design = "list"')
    if len(sharing := [factor.name for factor in spec.factor if factor.same_database]) > 1:
        raise SpecError("same_database", f"{' and '.join(sharing)} have it", "give it to one factor")
    if sharing and spec.trials.design != "full":
        problem = f"the design {spec.trials.design} does not have all levels of {sharing[0]} together"
        raise SpecError("same_database", problem, 'write design = "full"')
    if spec.run.get("keep"):
        raise SpecError("run.keep", "each trial needs a database of its own", "leave it out")
    return spec


def level_name(value: Any) -> str:
    """How a value is called in tables, labels and ``study.json``: without a password."""
    if isinstance(value, Mapping):
        return str(value.get("name", ""))
    text = printed(value)
    return str(redact_values(text))


def _level(factor: Factor, raw: Any) -> Level:
    key = f"factor {factor.name!r}: levels"
    if not isinstance(raw, Mapping):
        if not factor.path:
            raise SpecError(
                f"factor {factor.name!r}: path", "it is missing", 'name what varies, such as path = "threads"'
            )
        check(factor.path, f"factor {factor.name!r}: path")
        number = float(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else None
        return Level(name=level_name(raw), sets={factor.path: raw}, number=number)
    if unknown := set(raw) - {"name", "set", "rules"}:
        raise SpecError(key, f"no level has {', '.join(sorted(unknown))}", "a table has name, set and rules")
    if not isinstance(raw.get("name"), str) or not isinstance(raw.get("set", {}), Mapping):
        raise SpecError(
            key, "a table needs a name", 'write { name = "tuned", set = { "target.settings.fsync" = "off" } }'
        )
    sets = {**(rules.of(raw["rules"], key) if "rules" in raw else {}), **raw.get("set", {})}
    for path in sets:
        check(path, key)
    return Level(name=raw["name"], sets=sets)


def _refuse_twice(key: str, names: list[str]) -> None:
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise SpecError(key, f"{twice[0]!r} stands there twice", "give each another name")


def _spec_error(error: ValidationError) -> SpecError:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
    words = {"extra_forbidden": "no key has this name", "missing": "it is missing"}.get(first["type"])
    return SpecError(where, words or plain(first["msg"]), "see docs/studies.md, and dsbench study templates")
