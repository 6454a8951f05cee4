"""The tables among blocks as CSV: full figures in the unit of the head, empty where there is none."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from math import isfinite
from typing import Any

from dsbench.read.blocks import Block, Column, Part, Table


def render_csv(blocks: Iterable[Block]) -> str:
    """Every table with its heads, an empty line between them."""
    return "\n".join(_table(block) for block in _tables(blocks))


def _tables(blocks: Iterable[Block]) -> Iterable[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Part):
            yield from _tables(block.blocks)


def _table(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.head for column in table.columns])
    writer.writerows([_value(c, v) for c, v in zip(table.columns, row, strict=True)] for row in table.rows)
    return out.getvalue()


def _value(column: Column, value: Any) -> Any:
    if isinstance(value, float):
        return f"{value * column.times:.9g}" if isfinite(value) else ""
    return "" if value is None else value
