"""report.html: one file that shows a whole archive, interactive, and loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read import draw as diagrams
from dsbench.read import subjects
from dsbench.read.blocks import Block, Sentence
from dsbench.read.draw.theme import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import render_page, render_section
from dsbench.read.naming import subject
from dsbench.read.report.page import (
    conditions,
    course,
    kind_sections,
    results,
    stage_section,
)
from dsbench.read.report.page.glance import figure
from dsbench.read.report.page.markup import Html, section, tag

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
_LINKS: Final = (
    ("warnings", "Warnings"), ("rate", "Rate"), ("latency", "Latency"),
    ("connections", "Connections"), ("kinds", "Kinds"),
    ("per-statement", "Statements"),
    ("diagrams", "Diagrams"), ("models", "Models"), ("results", "Results"), ("stages", "Stages"),
    ("resources", "Resources"), ("probes", "Storage tools"),
    ("machine", "Machine"), ("statistics", "Database statistics"), ("course", "Course"), ("nodes", "Nodes"),
    ("errors", "Errors"), ("checklist", "Checklist"), ("checks", "Checks"),
    ("durability", "Durability"), ("stack", "System stack"), ("settings", "Settings"),
    ("specification", "Specification"), ("glossary", "How to read"),
)  # fmt: skip


def page(evaluation: Evaluation, run: RunRecord, drawn: Mapping[str, Spec] | None = None) -> str:
    """The page of an evaluation and its run.json; ``drawn`` are its diagrams, if they exist already."""
    specs = dict(drawn) if drawn is not None else diagrams.specs(evaluation, run)
    of_connections, of_kinds = kind_sections.by_connections(evaluation), kind_sections.kinds(evaluation)
    of_statements = kind_sections.statements(evaluation)
    told = {name: _section(name, evaluation) for name in _SUBJECTS}
    of_models = _section("models", evaluation)
    of_stages = stage_section.section_of_stages(evaluation, run)
    optional = {
        "stages": of_stages, "connections": of_connections, "kinds": of_kinds, "per-statement": of_statements,
        "models": of_models, **told,
    }
    absent = {key for key, part in optional.items() if part is None}
    body = tag(
        "main",
        results.headline(evaluation, run, figure("rate", _CAPTIONS["rate"]) if "rate" in specs else None),
        _contents(absent),
        _section("warnings", evaluation) or "",
        _section("rate", evaluation) or "",
        _section("latency", evaluation) or "",
        of_connections or "",
        of_kinds or "",
        of_statements or "",
        _diagrams([name for name in specs if name != "rate"], any_drawn=bool(specs)),
        of_models or "",
        results.columns(evaluation),
        of_stages or "",
        results.resources(evaluation),
        told["probes"] or "",
        told["machine"] or "",
        told["statistics"] or "",
        course.section_of_courses(evaluation),
        *(told[name] or "" for name in _SUBJECTS[_SUBJECTS.index("nodes"):]),
        conditions.specification(run),
        conditions.glossary(run),
    )
    drawn_here = {name: _zoomable(spec) if name in _ZOOMED else spec for name, spec in specs.items()}
    drawn_here["course"] = course.spec()
    return render_page(f"{subject(run)} – {evaluation.name}", body, drawn_here, course.courses(evaluation))


_SUBJECTS: Final = (
    "machine", "statistics", "probes", "nodes", "errors", "checklist", "checks", "durability", "stack", "settings",
)
_ALWAYS: Final = frozenset({"errors", "checks", "durability", "stack", "settings"})
"""Where nothing is news, and said."""


def _section(name: str, evaluation: Evaluation) -> Html | None:
    """What a subject tells; ``None`` where that is nothing."""
    found = subjects.load(name)
    blocks: list[Block] = list(found.tell(evaluation))
    blocks = blocks or [Sentence(found.nothing)] * (name in _ALWAYS)
    return Html(render_section(name, found.title, blocks)) if blocks else None


def _contents(absent: Set[str]) -> Html:
    links = [tag("li", tag("a", title, href=f"#{key}")) for key, title in _LINKS if key not in absent]
    return tag("nav", tag("ul", *links), aria_label="Contents")


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
