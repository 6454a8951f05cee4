"""The tables and terms among blocks as CSV: full figures in the unit of the head, empty where there is none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from math import isfinite
from typing import Any

from dsbench.read.blocks import Block, Column, Notices, Part, Ratio, Table, Terms


def render_csv(blocks: Iterable[Block], *, units: bool = True) -> str:
    """Every table with its heads, an empty line between them; heads without ``units`` are the names alone."""
    return "\n".join(_table(block, units) for block in _tables(blocks))


def _tables(blocks: Iterable[Block], of: str = "") -> Iterable[Table]:
    for block in blocks:
        match block:
            case Table():
                yield block
            case Terms(pairs):
                yield Table("", (Column("of"), Column("name"), Column("value")), [(of, *pair) for pair in pairs])
            case Notices(items):
                heads = [Column(name) for name in ("where", "warning", "what to do", "void")]
                rows = [(" ".join(one.where), one.text, one.remedy, str(one.severe).lower()) for one in items]
                yield Table("", heads, rows)
            case Part(title, inner):
                yield from _tables(inner, title)


def _table(table: Table, units: bool) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.head if units else column.name for column in table.columns])
    writer.writerows([_value(c, v) for c, v in zip(table.columns, row, strict=True)] for row in table.rows)
    return out.getvalue()


def _value(column: Column, value: Any) -> Any:
    if isinstance(value, Ratio):
        value = value.value
    if isinstance(value, float) or (isinstance(value, int) and column.times != 1):
        return f"{value * column.times:.9g}" if isfinite(value) else ""
    return "" if value is None else value
