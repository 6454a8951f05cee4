"""Blocks as HTML, by templates: a page and a notebook show the same."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from dsbench.format import NONE, UNIT, tone
from dsbench.read.blocks import Block, Column, Diagram, Overview, Part, Ratio, Table

if TYPE_CHECKING:
    from dsbench.read.draw.vega import Spec

_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:"
)
"""The browser itself refuses to load anything; Vega compiles its expressions, hence eval."""


@cache
def environment(package: str = "dsbench.read") -> Environment:
    """The templates of a package; whatever they show is escaped."""
    made = Environment(
        loader=PackageLoader(package, "templates"), autoescape=select_autoescape(default=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["script"], made.filters["tone"] = escape_script, tone
    made.filters["together"] = lambda text: UNIT.sub("\xa0", text)
    made.filters["filled"] = find_filled
    made.tests["ratio"] = lambda value: isinstance(value, Ratio)
    return made


def find_filled(block: Table) -> list[tuple[int, Column]]:
    """The columns of a table that say something in some row, with their places; the first one always does."""
    return [
        (at, column) for at, column in enumerate(block.columns)
        if not at or any(isinstance(row[at], Ratio) or column.show(row[at]) not in ("", NONE) for row in block.rows)
    ]  # fmt: skip


def render_page(title: str, body: str, specs: Mapping[str, Spec], courses: Mapping[str, Any] | None = None) -> str:
    """``body``, which is HTML, as a whole page with what draws the diagrams ``specs``."""
    from dsbench.read.draw.render import vega  # Late: what draws takes a second, and a notebook needs none of it.

    return environment().get_template("page.html").render(
        title=title, body=Markup(body), specs=specs, courses=courses or {}, policy=Markup(_POLICY),
        style=read_template("page.css"), drawing=read_template("page.js"),
        vega=Markup(vega(next(iter(specs.values())))) if specs else "",
    )  # fmt: skip


def render_document(title: str, blocks: Sequence[Block]) -> str:
    """The blocks as a whole page: those without a tab, then the tabs in the order in which they come."""
    tabs: dict[str, list[Part]] = {}
    top: list[Block] = []
    for block in blocks:
        if isinstance(block, Part) and block.tab:
            tabs.setdefault(block.tab, []).append(block)
        else:
            top.append(block)
    answered = any(isinstance(block, Overview) for block in blocks)
    body = tag(
        "main", tag("div", tag("span", f"dsbench · {title}"), cls="top") if answered else tag("h1", title),
        list_contents({tab: [(one.key, one.title) for one in parts] for tab, parts in tabs.items()}) if tabs else "",
        Html(render_blocks(top)),
        *(tag("div", Html(render_blocks(parts)), data_tab=tab) for tab, parts in tabs.items()),
    )
    return render_page(title, body, specs_of(blocks))


def list_contents(tabs: Mapping[str, Sequence[tuple[str, str]]]) -> Html:
    """A link to the first section of each tab, and below it one to each of its sections, which are keys and titles."""
    def inner(sections: Sequence[tuple[str, str]]) -> Html:
        return tag("ul", *(tag("li", tag("a", title, href=f"#{key}")) for key, title in sections))

    rows = [tag("li", tag("a", tab, href=f"#{sections[0][0]}", data_opens=tab), inner(sections) if sections[1:] else "")
            for tab, sections in tabs.items()]  # fmt: skip
    return tag("nav", tag("ul", *rows), aria_label="Contents")


def specs_of(blocks: Sequence[Block]) -> dict[str, Spec]:
    """The diagrams among the blocks by name."""
    found: dict[str, Spec] = {}
    for block in blocks:
        if isinstance(block, Diagram):
            found[block.name] = {**block.spec, "width": "container"} if block.wide else block.spec
        elif isinstance(block, Part):
            found |= specs_of(block.blocks)
    return found


def escape_script(value: Any) -> Markup:
    """JSON for the inside of a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def render_section(key: str, title: str, blocks: Sequence[Block]) -> str:
    """A titled part of a page that can be linked to."""
    return str(_macro("section")(key, title, blocks))


def render_blocks(blocks: Sequence[Block]) -> str:
    """The blocks alone."""
    return str(_macro("blocks")(blocks))


@cache
def read_template(name: str, package: str = "dsbench.read") -> Markup:
    """A stylesheet, a script or a text, as it is."""
    return Markup(resources.files(package).joinpath("templates", name).read_text("utf-8"))


def _macro(name: str) -> Any:
    return getattr(environment().get_template("blocks.html").module, name)


class Html(str):
    """Markup that is safe as it is, for templates as well."""

    def __html__(self) -> str:
        return self


def tag(name: str, *children: object, **attributes: object) -> Html:
    """An element; ``None`` and ``False`` omit an attribute, ``cls`` is class, ``_`` in a name is ``-``."""
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
