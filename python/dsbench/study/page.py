"""A study as one page that loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dsbench.read.draw.theme import Spec
from dsbench.read.html import render_page
from dsbench.read.report.page.glance import figure
from dsbench.read.report.page.markup import Html, section, table, tag

_CAPTIONS = {
    "effects": "Each level beside the reference of its factor, averaged over the levels of the others. Bars: intervals "
    "that hold together; where one crosses the line at 1, no effect was found.",
    "relative": "Each level over the reference, scale by scale; bars: least to greatest of the blocks.",
    "heat": "Two factors at once: a dark column or row is one factor, a single dark field is an interaction.",
    "lines": "Over the numbers of a factor, a line for each level of another.",
    "freq": "Share of transactions that take longer than x, at the largest scale, all trials of a level together: "
    "steps are classes of transactions, such as those that found their block in memory.",
    "course": "Rate of each second through the cycles of the largest scale, averaged over the trials of a level: "
    "a slope is warming up, a notch a checkpoint.",
}
"""By the first word of a diagram's name."""


def page(
    title: str,
    heading: Sequence[str],
    verdict: Sequence[str],
    notes: Sequence[str],
    grids: Sequence[tuple[str, list[list[str]]]],
    drawn: Mapping[str, Spec],
) -> str:
    """``grids`` are tables by title, whose first row has the heads."""
    figures = [figure(name, _CAPTIONS[name.partition("-")[0]]) for name in drawn]
    body = tag(
        "main",
        tag("h1", title),
        *(tag("p", line, cls="note") for line in heading),
        section("What it found", tag("ul", *(tag("li", line) for line in verdict)), key="verdict"),
        section("Diagrams", tag("div", *figures, cls="diagrams"), key="diagrams") if figures else "",
        *(_grid(number, name, rows) for number, (name, rows) in enumerate(grids, start=1)),
        section("Notes", tag("ul", *(tag("li", line) for line in notes)), key="notes") if notes else "",
    )
    return render_page(title, body, drawn)


def _grid(number: int, name: str, rows: list[list[str]]) -> Html:
    return section(name[:1].upper() + name[1:], table(name, rows[0], rows[1:]), key=f"figures-{number}")
