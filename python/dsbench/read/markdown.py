"""Blocks as Markdown, for a comment on a pull request: the answer, a picture, and all else folded."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final

from dsbench.read.blocks import (
    Block,
    Diagram,
    Listed,
    Notice,
    Notices,
    Overview,
    Part,
    Picture,
    Sentence,
    Table,
    Terms,
)

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~])")
_MENTION: Final = re.compile(r"(?<!\w)@(?=\w)")
"""Of people: a name in an archive must not call anybody."""


def render_markdown(blocks: Iterable[Block], picture: str = "") -> str:
    """All blocks below each other. ``picture`` is the address of one that stands below the answer; diagrams among the
    blocks are left out."""
    lines: list[str] = []
    for block in blocks:
        if shown := list(_lines(block)):
            lines += [*shown, ""]
        if isinstance(block, Overview) and picture:
            lines += [f"![{escape(block.sentence)}](<{picture}>)", ""]
    return "\n".join(lines)


def escape(text: str) -> str:
    """``text`` as it is, in one line: nothing in it is a mark of Markdown, a tag or the name of a person."""
    return _SPECIAL.sub(r"\\\1", _called(text))


def _called(text: str) -> str:
    return _MENTION.sub("@\u200b", " ".join(text.split()))


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Overview():
            yield from (f"**{escape(line)}**  " for line in block.verdict)
            yield f"**{escape(block.sentence)}**  "
            yield from (f"{escape(line)}  " for line in (block.why, block.about, *block.dangers) if line)
            yield from ([""] if block.tiles else [])
            yield from (f"- {escape(one.name)}: **{escape(one.value)}** {escape(one.note)}" for one in block.tiles)
        case Sentence(text, role):
            yield f"warning: {escape(text)}" if role == "warning" else escape(text)
        case Listed(items):
            yield from (f"- {escape(item)}" for item in items if item)
        case Terms(pairs):
            yield from (f"- **{escape(name)}** {escape(value)}" for name, value in pairs if value)
        case Table():
            yield from _fold(block.title, _table(block))
        case Part(title, blocks):
            below = render_markdown(blocks).splitlines()
            yield from _fold(title, below) if below else ()
        case Notices(items):
            yield from map(_notice, items)
        case Diagram() | Picture():
            return


def _fold(title: str, lines: Iterable[str]) -> Iterator[str]:
    if title:
        yield from ["<details>", f"<summary>{html.escape(_called(title))}</summary>", "", *lines, "", "</details>"]
    else:
        yield from lines


def _table(table: Table) -> Iterator[str]:
    yield _row(column.short_head for column in table.columns)
    yield "|" + "|".join("---" if column.left else "--:" for column in table.columns) + "|"
    for row in table.rows:
        yield _row(column.show(cell) for column, cell in zip(table.columns, row, strict=True))


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(escape, cells)) + " |"


def _notice(one: Notice) -> str:
    where = f" ({', '.join(one.where)})" if one.where else ""
    remedy = f"; {one.remedy}" if one.remedy else ""
    word = "VOID" if one.severe else "warning"
    return f"- {escape(f'{word}{where}: {one.text}{remedy}')}"
