"""One column, one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["uint32", "uint64", "int64", "double", "string"]
"""Names of Arrow."""

Adds = Literal["sum", "min", "max", ""]
"""How the values of several kinds, threads and nodes become one; empty where they do not."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: Type
    sentence: str
    """What a value says, for people."""
    unit: str = ""
    """Empty for names, and for numbers that count nothing."""
    adds: Adds = ""
    few: bool = False
    """Text of which a table holds few different values: it is kept as a dictionary."""
    older: str | int | None = None
    """The value for archives that lack the column; ``None``: empty."""


@dataclass(frozen=True)
class Table:
    """A table of the archive."""

    name: str
    sentence: str
    columns: tuple[Column, ...]

    def named(self, adds: Adds) -> tuple[str, ...]:
        """Names of the columns that add up in that way, in order."""
        return tuple(column.name for column in self.columns if column.adds == adds)
