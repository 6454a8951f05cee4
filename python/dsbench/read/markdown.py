"""Blocks as Markdown, for an issue, a wiki or a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence

from dsbench.read.blocks import Block, Diagram, Listed, Notices, Overview, Part, Picture, Sentence, Table, Terms


def render_markdown(blocks: Iterable[Block], level: int = 3) -> str:
    """All blocks below each other; ``level`` is that of the headings of parts."""
    return "\n\n".join("\n".join(lines) for block in blocks if (lines := list(_lines(block, level))))


def render_comment(blocks: Iterable[Block]) -> str:
    """The same for a comment on a pull request: tables, parts and warnings are folded."""
    return "\n\n".join(shown for block in blocks if (shown := _fold(block)))


def _fold(block: Block) -> str:
    match block:
        case Table(title, columns, rows) if title:
            below = render_markdown([Table("", columns, rows)])
        case Part(title, blocks):
            below = render_markdown(blocks)
        case _:
            return render_markdown([block])
    # Of what is within tags, nothing is Markdown but what stands between empty lines.
    return f"<details><summary>{html.escape(_called(title))}</summary>\n\n{below}\n\n</details>" if below else ""


def _lines(block: Block, level: int) -> Iterator[str]:
    match block:
        case Sentence(text):
            yield _escape(text)
        case Listed(items):
            yield from (f"- {_escape(item)}" for item in items)
        case Terms(pairs):
            yield from (f"- **{_escape(name)}**: {_escape(value)}" for name, value in pairs if value)
        case Table(title, columns, rows):
            yield from ([f"**{_escape(title)}**", ""] if title else [])
            yield _row([column.head for column in columns])
            yield _row([":---" if column.left else "---:" for column in columns])
            yield from (_row([column.show(v) for column, v in zip(columns, row, strict=True)]) for row in rows)
        case Part(title, blocks):
            yield f"{'#' * level} {_escape(title)}"
            yield ""
            yield render_markdown(blocks, level + 1)
        case Overview(sentence, about, dangers, tiles, why, _, verdict):
            yield from (f"{_escape(line)}\n" for line in verdict)
            yield f"**{_escape(sentence)}**"
            yield from (f"\n{_escape(line)}" for line in (why, about, *dangers) if line)
            yield ""
            yield from (f"- {_escape(one.name)}: **{_escape(one.value)}** ({_escape(one.note)})" for one in tiles)
        case Notices(items):
            for one in items:
                where = f" ({', '.join(one.where)})" if one.where else ""
                yield f"- **{'VOID' if one.severe else 'warning'}{_escape(where)}**: {_escape(one.text)}"
                yield from ([f"  {_escape(one.remedy)}"] if one.remedy else [])
        case Diagram() | Picture():
            return


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escape(cell).replace("|", "\\|") for cell in cells) + " |"


def _escape(text: str) -> str:
    """``text`` as itself: nothing in it is markup, or calls a person."""
    shown = _called(text).replace("\\", "\\\\").replace("\n", " ")
    for sign in "*_`<[":
        shown = shown.replace(sign, "\\" + sign)
    return shown


def _called(text: str) -> str:
    """``text`` with a space of no width in what a forge would take for the name of a person."""
    return re.sub(r"(?<!\w)@(?=\w)", "@\u200b", text)
