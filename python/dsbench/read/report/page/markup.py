"""HTML that cannot be broken by what it shows: text is escaped unless it is ``Html`` already."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence


class Html(str):
    """Markup that is safe as it is, for templates as well."""

    def __html__(self) -> str:
        return self


def tag(name: str, *children: object, **attributes: object) -> Html:
    """An element; ``None`` and ``False`` leave an attribute out, ``cls`` is class, ``_`` in a name is ``-``."""
    shown = "".join(
        f' {"class" if key == "cls" else key.replace("_", "-")}'
        + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{shown}>{join(children)}</{name}>")


def join(children: Iterable[object]) -> Html:
    """The children one after another, text escaped."""
    return Html("".join(c if isinstance(c, Html) else html.escape(str(c)) for c in children))


def section(title: str, *children: object, key: str) -> Html:
    """A titled part of the page that can be linked to."""
    return tag("section", tag("h2", title, id=f"{key}-title"), *children, id=key, aria_labelledby=f"{key}-title")


def table(
    caption: str, heads: Sequence[object], rows: Iterable[Sequence[object]], *, numbers: bool = True,
    marked: Iterable[int] = (),
) -> Html:
    """A table that scrolls within its frame, by keyboard too; the first cell of a row is its head.

    ``numbers`` aligns the other cells to the right; ``marked`` are numbers of rows that are void.
    """
    void = set(marked)
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]), cls=i in void and "void")
        for i, row in enumerate(rows)
    ]
    head = tag("tr", *(tag("th", cell, scope="col") if str(cell) else tag("td") for cell in heads))
    inner = tag(
        "table", tag("caption", caption), tag("thead", head), tag("tbody", *body), cls="numbers" if numbers else None
    )
    return tag("div", inner, cls="scroll", tabindex=0, role="region", aria_label=f"{caption}, table")


def terms(pairs: Iterable[tuple[object, object]]) -> Html:
    """A list of names with what they are; pairs without a value are left out."""
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in pairs if str(value)))


def number(value: float, digits: int = 4) -> str:
    """``digits`` significant digits without an exponent in the usual range; a dash where nothing was measured."""
    if not math.isfinite(value):
        return "–"
    if value == 0 or isinstance(value, int):
        return f"{int(value):,}"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}"

