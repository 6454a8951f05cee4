"""Blocks as plain text, for a terminal, a log and results.txt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dsbench.read.blocks import Block, Column, Diagram, Listed, Part, Sentence, Table, Terms
from dsbench.read.format import DOWN, FAILED, UP

_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"
_WIDEST: Final = 120
"""Columns of a terminal beyond which texts do not stand beside each other."""

_MUCH: Final = 180
"""Columns beyond which a table with few rows is turned."""


def render_text(blocks: Iterable[Block]) -> str:
    """All blocks below each other, an empty line between them; diagrams have no text."""
    shown = ["\n".join(lines) for block in blocks if (lines := list(_lines(block)))]
    return "\n\n".join(shown)


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Sentence(text, role):
            yield f"warning: {text}" if role == "warning" else text
        case Listed(items):
            yield from items
        case Terms(pairs):
            known = [(name, value) for name, value in pairs if value]
            width = max((len(name) for name, _ in known), default=0)
            yield from (f"{name:{width}}  {value}" for name, value in known)
        case Table(title, columns, rows):
            yield from ([title] if title else [])
            lines = align_rows(columns, rows)
            width = max(map(len, lines))
            if width > _WIDEST and all(column.left for column in columns):
                lines = list(_stack_rows(columns, rows))
            elif width > _MUCH and max(map(len, turned := _turn_rows(columns, rows))) <= _WIDEST:
                lines = turned
            yield from lines
        case Part(title, blocks):
            below = render_text(blocks)
            yield from ([title, *below.splitlines()] if below else [])
        case Diagram():
            return


def colour_signs(text: str) -> str:
    """``text`` for a terminal: what is slower or failed in red, what is faster in green."""
    text = re.sub(rf"[\d.]+{DOWN}|\S+ of \S+ {FAILED}", lambda found: f"{_RED}{found[0]}{_PLAIN}", text)
    return re.sub(rf"[\d.]+{UP}", lambda found: f"{_GREEN}{found[0]}{_PLAIN}", text)


def _stack_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Texts too long to stand beside each other: a line for each cell, all but the first indented below its row."""
    width = max(len(column.short_head) for column in columns)
    for row in rows:
        cells = [(column.short_head, column.show(value)) for column, value in zip(columns, row, strict=True)]
        yield cells[0][1]
        yield from (f"  {head:{width}}  {shown}" for head, shown in cells[1:] if shown)


def _turn_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> list[str]:
    """Few rows of many columns: a line for each column."""
    shown = [[column.show(value) for column, value in zip(columns, row, strict=True)] for row in rows]
    heads = (Column("", left=True), *(Column("") for _ in rows))
    lines = [(column.short_head, *cells) for column, *cells in zip(columns, *shown, strict=True)]
    return align_rows(heads, lines)[1:]


def align_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> list[str]:
    """Heads and cells in columns, numbers to the right."""
    cells = [[column.short_head for column in columns]]
    cells += [[column.show(value) for column, value in zip(columns, row, strict=True)] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    # Texts of the last column end where they end.
    aligned = (
        "  ".join(
            cell.ljust(width) if column.left else cell.rjust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    )
    return list(aligned)
