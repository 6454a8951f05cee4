"""What the description of a stack consists of, as ``run.json`` keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Protocol, TypedDict

from dsbench.control_groups import text as text
from dsbench.dataclass import dataclass

_LONGEST = 200
"""Characters of a setting."""

Items = dict[str, str]
"""Names and values of one layer, in the order in which they are shown."""


class StackLayer(TypedDict):
    """One layer of the stack."""

    layer: str
    items: Items


class Switch(TypedDict):
    """Something that decides whether a committed transaction survives a power cut."""

    switch: str
    value: str
    safe: bool
    meaning: str


@dataclass(frozen=True)
class Described:
    """The description of a stack."""

    layers: list[StackLayer]
    settings: dict[str, str]
    """Settings of the database system that differ from its defaults, in its own words."""
    durability: list[Switch]
    marks: dict[str, int]
    """Sizes of memory in bytes that a database may or may not fit into: arrows of the rate diagram."""
    server_version: str
    server_pid: int | None = None
    """A process of the database server on this machine; ``None`` where there is none, or none is known."""


@dataclass(frozen=True)
class Database:
    """What a database system says of itself."""

    version: str = ""
    here: bool = True
    """Whether it runs on this machine."""
    pid: int | None = None
    """A process of its server here; ``None`` when it runs in this process or elsewhere."""
    items: Items = field(default_factory=dict)
    identity: Mapping[str, str] = field(default_factory=dict)
    """Which server answers, since when, and as what: by name. Empty values are not known."""
    settings: Mapping[str, str] = field(default_factory=dict)
    durability: list[Switch] = field(default_factory=list)
    marks: Mapping[str, int] = field(default_factory=dict)
    api: Items = field(default_factory=dict)
    driver: Items = field(default_factory=dict)


class StackQueries(Protocol):
    """Administrative queries on the database under test."""

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        """Rows by column name, all text."""


def rows(queries: StackQueries, sql: str) -> list[dict[str, str]]:
    """Rows with NULL as empty text; none when the server refuses: a description must not stop a run."""
    try:
        return [{name: cell or "" for name, cell in row.items()} for row in queries.fetch(sql)]
    except Exception:
        return []


def cell(queries: StackQueries, sql: str) -> str:
    """The first cell of a query; empty when the server refuses, or gives none."""
    return next((value for row in rows(queries, sql) for value in row.values()), "")


def shown(found: Iterable[tuple[str, str]], secret: re.Pattern[str]) -> dict[str, str]:
    """Settings by name as an archive shows them: not too long, ``***`` where a name is like ``secret``."""
    return {name: "***" if value and secret.search(name.lower()) else value[:_LONGEST] for name, value in found}


Meanings = Mapping[str, tuple[bool, str]]
"""By value of a setting: whether commits survive, and what it means; the empty value stands for all others."""


def switch(name: str, value: str, meanings: Meanings) -> Switch:
    """A setting and what its value means."""
    safe, meaning = meanings.get(value.lower(), meanings[""])
    return {"switch": name, "value": value, "safe": safe, "meaning": meaning}


def unsafe(name: str, value: str, meaning: str) -> Switch:
    """Something that breaks the promise."""
    return switch(name, value, {"": (False, meaning)})


def size(count: float) -> str:
    """Bytes as text, in powers of 1024."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"


def present(items: Mapping[str, str]) -> Items:
    """The items that have a value."""
    return {name: value for name, value in items.items() if value}
