"""report.html: one file that shows a whole archive, interactive, and loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read import draw as diagrams
from dsbench.read import subjects
from dsbench.read.blocks import Block, Sentence
from dsbench.read.draw.theme import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import render_page, render_section
from dsbench.read.naming import subject
from dsbench.read.report.page import conditions, course, results
from dsbench.read.report.page.glance import figure
from dsbench.read.report.page.markup import Html, section, tag
from dsbench.read.series import each_series

_CAPTIONS: Final = {
    "rate": "Rate of the cycles over the scale: median, mean with standard deviation, range. On the right: times.",
    "node": "The same for each node that made load.",
    "cycle": "Rate of each cycle in order: it moves with the age of the database.",
    "freq": "Share of transactions that take longer than the time below. The further right a curve ends, the worse "
    "its slowest transactions.",
    "connections": "New-Orders per minute, or the rate, over the number of connections: where it stops to rise, the "
    "server or what transactions wait for is at its limit.",
    "response": "Mean and maximum of the response times over the number of connections.",
    "kinds": "Residence times of each kind of transactions, as above.",
    "stages": "Rate and largest response time of each second: of what is measured, and of what works beside it.",
    "scalability": "The Universal Scalability Law over the number of clients, and its residuals.",
    "memory": "Where the database outgrows the memory, by the times of hits and misses, and the residuals.",
    "collisions": "Share of attempts that succeed, by the model of collisions, and its residuals.",
    "conf": "What remains of the rate when a share of the transactions has to be fast enough. Levels are quantiles.",
}
_ZOOMED: Final = ("cycle", "freq", "kinds")
_ORDER: Final = (
    "warnings", "rate", "latency", "connections", "kinds", "statements", "diagrams", "models", "results", "stages",
    "cost", "probes", "machine", "statistics", "course", "nodes", "errors", "checklist", "checks", "durability",
    "stack", "settings", "specification", "glossary",
)  # fmt: skip
_OWN: Final = {
    "diagrams": "Diagrams", "results": "Results", "course": "Course", "specification": "Specification",
    "glossary": "How to read",
}  # fmt: skip
"""Sections that are no subjects."""
_ALWAYS: Final = frozenset({"cost", "errors", "checks", "durability", "stack", "settings"})
"""Subjects of which the page says as well that there is nothing."""


def page(evaluation: Evaluation, run: RunRecord, drawn: Mapping[str, Spec] | None = None) -> str:
    """The page of an evaluation and its run.json; ``drawn`` are its diagrams, if they exist already."""
    specs = dict(drawn) if drawn is not None else diagrams.specs(evaluation, run)
    sections = {
        "diagrams": _diagrams([name for name in specs if name != "rate"], any_drawn=bool(specs)),
        "results": results.columns(evaluation),
        "course": course.section_of_courses(evaluation),
        "specification": conditions.specification(run),
        "glossary": conditions.glossary(run),
    }
    sections |= {name: part for name in _ORDER if name not in _OWN and (part := _section(name, evaluation))}
    curve = figure("rate", _CAPTIONS["rate"]) if "rate" in specs else None
    shown = [name for name in _ORDER if name in sections]
    body = tag(
        "main", results.headline(evaluation, run, curve), _contents(shown), *(sections[name] for name in shown)
    )
    drawn_here = {name: _zoomable(spec) if name in _ZOOMED else spec for name, spec in specs.items()}
    drawn_here["course"] = course.spec()
    return render_page(f"{subject(run)} – {evaluation.name}", body, drawn_here, course.courses(evaluation))


def _section(name: str, evaluation: Evaluation) -> Html | None:
    """What a subject tells; ``None`` where that is nothing."""
    # Where no statement was timed, kinds and errors say the same of the transactions.
    if name == "statements" and not any(part.statement_times for _, part in each_series(evaluation)):
        return None
    found = subjects.load(name)
    blocks: list[Block] = list(found.tell(evaluation))
    blocks = blocks or [Sentence(found.nothing)] * (name in _ALWAYS)
    return Html(render_section(name, found.title, blocks)) if blocks else None


def _contents(names: Sequence[str]) -> Html:
    titles = {name: _OWN[name] if name in _OWN else subjects.load(name).title for name in names}
    return tag("nav", tag("ul", *(tag("li", tag("a", titles[name], href=f"#{name}")) for name in names)),
               aria_label="Contents")  # fmt: skip


def _diagrams(names: list[str], *, any_drawn: bool) -> Html:
    if not any_drawn:
        return section("Diagrams", tag("p", "No cycle was finished: there is nothing to draw."), key="diagrams")
    figures = [figure(name, _CAPTIONS[name]) for name in names]
    without = Html("<noscript><p>The diagrams need JavaScript; results-*.svg and results-*.pdf do not.</p></noscript>")
    note = tag(
        "p", "Point at a mark for its figures. In the diagrams by cycle and of the frequency, Shift and wheel zooms, "
        "dragging moves. The buttons below a diagram change its axis and hide its series.", cls="note",
    )
    return section("Diagrams", without, note, tag("div", *figures, cls="diagrams"), key="diagrams")


def _zoomable(spec: Spec) -> Spec:
    """``spec`` with a zoom on its last layer; the wheel alone scrolls the page as everywhere."""
    select = {"type": "interval", "zoom": "wheel![event.shiftKey]"}
    *others, last = spec["layer"]
    zoomed = {**last, "params": [{"name": "zoom", "select": select, "bind": "scales"}]}
    # Whatever is zoomed is clipped, unless it says otherwise: labels beside the plot have to.
    return {**spec, "layer": [*({**layer, "mark": {"clip": False, **layer["mark"]}} for layer in others), zoomed]}
