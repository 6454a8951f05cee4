"""Blocks as plain text, for a terminal, a log and results.txt."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.format import DOWN, FAILED, NONE, UNIT, UP
from dsbench.read.blocks import (
    Block,
    Column,
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
    Tile,
)  # fmt: skip

_COLOURS: Final = {"good": 32, "fair": 33, "bad": 31, "strong": 1, "soft": 2}
"""Of a terminal, by what they say."""
_WIDEST: Final = 120
"""Columns of a terminal beyond which texts do not stand beside each other."""

_MUCH: Final = 180
"""Columns beyond which a table with few rows is turned."""

_TOGETHER: Final = re.compile(r"(?<!·) (?!·)")
"""Spaces within the parts of a line, at which no line ends."""


@dataclass(frozen=True)
class Style:
    """What a text is written for."""

    width: int = 0
    """Columns of a terminal, at which lines end; 0 for a file or a pipe, whose reader breaks them where he likes."""
    colour: bool = False

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.colour and colour and text else text

    def wrap(self, text: str, colour: str = "", *, first: str = "", indent: str = "") -> Iterator[str]:
        """Lines of ``text``: ``first`` stands before it, ``indent`` before all but its first line."""
        lines = (first + text).splitlines() or [""]
        if self.width:
            # Whoever copies a path or an option wants it whole.
            kept = _TOGETHER.sub("\xa0", text) if " · " in text else UNIT.sub("\xa0", text)
            lines = textwrap.wrap(
                first + kept, self.width, subsequent_indent=indent, drop_whitespace=True, break_long_words=False,
                break_on_hyphens=False,
            ) or [first]  # fmt: skip
        lines = [line.replace("\xa0", " ") for line in lines]
        yield lines[0][: len(first)] + self.paint(lines[0][len(first) :], colour)
        yield from (self.paint(line, colour) for line in lines[1:])



PLAIN: Final = Style()


def render_text(blocks: Iterable[Block], style: Style = PLAIN) -> str:
    """All blocks below each other, an empty line between them; diagrams have no text."""
    shown = ["\n".join(lines) for block in blocks if (lines := list(_lines(block, style)))]
    return "\n\n".join(shown)


def _lines(block: Block, style: Style) -> Iterator[str]:
    match block:
        case Sentence(text, role):
            shown = f"warning: {text}" if role == "warning" else text
            yield from style.wrap(shown, {"warning": "fair", "lead": "strong", "note": "soft"}.get(role, ""))
        case Listed(items):
            yield from (line for item in items for line in style.wrap(item, indent="  "))
        case Terms(pairs):
            yield from _terms(pairs, style)
        case Table():
            yield from _table(block, style)
        case Part(title, blocks):
            below = render_text(blocks, style)
            yield from ([style.paint(title, "strong"), *below.splitlines()] if below else [])
        case Overview():
            yield from _answer(block, style)
        case Notices(items):
            yield from (line for one in items for line in _notice(one, style))
        case Diagram() | Picture():
            return


def _terms(pairs: Sequence[tuple[str, str]], style: Style) -> Iterator[str]:
    known = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        yield from style.wrap(value, first=f"{name:{width}}  ", indent=" " * (width + 2))


def _answer(block: Overview, style: Style) -> Iterator[str]:
    for line in block.verdict:
        yield from style.wrap(line, "bad", indent="  ")
    yield from style.wrap(block.sentence, "strong")
    yield from style.wrap(block.why) if block.why else ()
    yield from style.wrap(block.about, "soft") if block.about else ()
    for danger in block.dangers:
        yield from style.wrap(danger, "fair", indent="  ")
    if block.tiles:
        yield ""
        yield from _tiles(block.tiles, style)


def _tiles(tiles: Sequence[Tile], style: Style) -> Iterator[str]:
    names, values = (max(len(getattr(one, what)) for one in tiles) for what in ("name", "value"))
    for one in tiles:
        first = f"  {one.name:{names}}  {style.paint(f'{one.value:{values}}', one.tone or 'strong')}  "
        before = 6 + names + values
        lines = textwrap.wrap(one.note, style.width - before) if style.width else [one.note]
        yield (first + style.paint(lines[0], "soft") if lines else first.rstrip())
        yield from (" " * before + style.paint(line, "soft") for line in lines[1:])


def _notice(one: Notice, style: Style) -> Iterator[str]:
    word = "VOID" if one.severe else "warning"
    where = f" ({', '.join(one.where)})" if one.where else ""
    first, *others = style.wrap(f"{word}{where}: {one.text}", indent="  ")
    yield style.paint(word, "bad" if one.severe else "fair") + first[len(word) :]
    yield from others
    yield from style.wrap(one.remedy, "soft", first="  hint: ", indent="        ") if one.remedy else ()


def _table(table: Table, style: Style) -> Iterator[str]:
    columns, rows = table.columns, table.rows
    lines = align_rows(columns, rows)
    width, most = max(map(len, lines)), style.width or _WIDEST
    if width > most and all(column.left for column in columns):
        lines = list(_stack_rows(columns, rows, style))
    elif width > (style.width or _MUCH):
        turned = _turn_rows(columns, rows)
        if max(map(len, turned)) <= most:
            lines = turned
        elif style.width:
            lines = _fit_rows(columns, rows, style.width)
    yield from style.wrap(table.title, "strong") if table.title else ()
    yield from (colour_signs(line) if style.colour else line for line in lines)


def colour_signs(text: str) -> str:
    """``text`` for a terminal: what is slower or failed in red, what is faster in green."""
    paint = Style(colour=True).paint
    text = re.sub(rf"[\d.]+{DOWN}|\S+ of \S+ {FAILED}", lambda found: paint(found[0], "bad"), text)
    return re.sub(rf"[\d.]+{UP}", lambda found: paint(found[0], "good"), text)


def _stack_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]], style: Style) -> Iterator[str]:
    """Texts too long to stand beside each other: a line for each cell, all but the first indented below its row."""
    width = max(len(column.short_head) for column in columns)
    for row in rows:
        cells = [(column.short_head, column.show(value)) for column, value in zip(columns, row, strict=True)]
        yield from style.wrap(cells[0][1])
        for head, shown in cells[1:]:
            yield from style.wrap(shown, first=f"  {head:{width}}  ", indent=" " * (width + 4)) if shown else ()


def _turn_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> list[str]:
    """Few rows of many columns: a line for each column."""
    shown = [[column.show(value) for column, value in zip(columns, row, strict=True)] for row in rows]
    heads = (Column("", left=True), *(Column("") for _ in rows))
    lines = [(column.short_head, *cells) for column, *cells in zip(columns, *shown, strict=True)]
    return align_rows(heads, lines)[1:]


def _fit_rows(columns: Sequence[Column], rows: Sequence[Sequence[object]], width: int) -> list[str]:
    """As many columns as fit: first those without a value go, then those to spare; what is still too much stands
    below, behind the first column once more."""
    shown = [[column.show(row[at]) for row in rows] for at, column in enumerate(columns)]
    kept = [at for at, cells in enumerate(shown) if not at or not {NONE, ""}.issuperset(cells)]

    def aligned(some: Sequence[int]) -> list[str]:
        return align_rows([columns[at] for at in some], [[row[at] for at in some] for row in rows])

    for spare in [at for at in reversed(kept) if columns[at].spare]:
        if max(map(len, aligned(kept))) > width:
            kept.remove(spare)
    first, *others = kept
    lines: list[str] = []
    while others:
        fit = next((n for n in range(len(others), 1, -1) if max(map(len, aligned([first, *others[:n]]))) <= width), 1)
        lines += [*([""] if lines else []), *aligned([first, *others[:fit]])]
        others = others[fit:]
    return lines


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
