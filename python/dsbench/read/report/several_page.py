"""A comparison as one page that loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dsbench.read.draw.theme import Spec
from dsbench.read.html import render_page
from dsbench.read.report import stages_compared
from dsbench.read.report.page.glance import figure
from dsbench.read.report.page.markup import Html, join, section, table, tag
from dsbench.read.side_by_side import Comparison, Section
from dsbench.read.verdict import verdicts

_CAPTIONS = {
    "rate": "Rates over the scale; bars: minimum to maximum of the cycles.",
    "linear": "The same on a linear axis from 0.",
    "relative": "Each rate divided by that of the first at the same scale; bars: 95 % intervals.",
    "freq": "Share of transactions that take longer than the time below. The further right a curve ends, the worse "
    "its slowest transactions.",
    "threads": "Rates over the number of threads, at the largest scale.",
    "bound": "Rates over the number of clients, with the upper bound of the whole out of the peaks of its parts.",
}


def page(
    comparison: Comparison,
    drawn: Mapping[str, Spec],
    parts: Sequence[tuple[Section, Sequence[tuple[str, list[list[str]]]]]],
    differences: Sequence[Sequence[str]],
    overall: str,
    bounds: Html | None = None,
) -> str:
    """``parts`` are the tables of each section by title, ``differences`` the rows of what differs."""
    labels = comparison.labels
    title = f"{comparison.archives} archives side by side"
    apart = [tag("p", line, cls="note") for line in comparison.apart()]
    doubts = [tag("li", line) for line in comparison.warnings()]
    figures = [figure(name, _CAPTIONS[name]) for name in drawn]
    archives = [
        tag("li", f"{side.label}: {', '.join(one.name for one in side.evaluations)}") for side in comparison.sides
    ]
    body = tag(
        "main",
        tag("h1", title),
        section("Verdict", *apart, *(_verdict(comparison, part) for part, _ in parts), key="verdict"),
        section("Doubts", tag("ul", *doubts), key="doubts") if doubts else "",
        section("Diagrams", tag("div", *figures, cls="diagrams"), key="diagrams") if figures else "",
        bounds or "",
        stages_compared.section_of_stages(comparison.stages, labels),
        *(_tables(number, part, grids, labels) for number, (part, grids) in enumerate(parts, start=1)),
        tag("p", f"mean: {overall}.", cls="note"),
        section("What differs", _differences(differences, labels), key="differences"),
        section("Archives", tag("ol", *archives), key="archives"),
    )
    return render_page(title, body, drawn)


def _verdict(comparison: Comparison, part: Section) -> Html:
    found = verdicts(comparison, part, comparison.labels)
    told = [tag("li", tag("strong", name), f": {words}") for name, words in found]
    return join([tag("h3", part.heading) if part.heading else Html(""), tag("ul", *told)])


def _tables(
    number: int, part: Section, grids: Sequence[tuple[str, list[list[str]]]], labels: Sequence[str]
) -> Html:
    shown = [join([tag("h3", title), table(title, ["scale", *labels], rows)]) for title, rows in grids]
    return section(f"Figures, {part.heading}" if part.heading else "Figures", *shown, key=f"figures-{number}")


def _differences(rows: Sequence[Sequence[str]], labels: Sequence[str]) -> Html:
    if not rows:
        return tag("p", "Nothing that is known of the runs differs.")
    return table("Settings that differ", ["setting", *labels], rows, numbers=False)
