"""report.html: one file that shows a whole archive, interactive, and loads nothing from anywhere."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from dsbench.archive import RunRecord
from dsbench.format import NONE
from dsbench.read import draw as diagrams
from dsbench.read import glance, subjects
from dsbench.read.answer import answer
from dsbench.read.blocks import Block, Sentence
from dsbench.read.draw import course
from dsbench.read.draw.axes import conditions
from dsbench.read.draw.hero import beside, hero
from dsbench.read.draw.theme import config
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.glance import Best, best, ceiling_tps
from dsbench.read.html import (
    Html,
    list_contents,
    number,
    render_blocks,
    render_page,
    render_section,
    section,
    specs_of,
    table,
    tag,
    terms,
)
from dsbench.read.naming import server, subject
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.why import WhyResult
from dsbench.read.terms import TERMS
from dsbench.spec import OPTIONS, RunSpec, printed
from dsbench.spec.files import said

_CAPTIONS: Final = {
    "rate": "Rate of the cycles over the scale: median, mean with standard deviation, range; on the right times. Or, "
    "for each number of clients, median and range.",
    "node": "The same for each node that made load.",
    "cycle": "Rate of each cycle in order: it moves with the age of the database.",
    "freq": "Share of transactions that take longer than the time below. The further right a curve ends, the worse "
    "its slowest transactions.",
    "connections": "Rate over the number of connections: where it stops to rise, the server or what transactions wait "
    "for is at its limit.",
    "latency": "",
    "response": "Mean and maximum of the response times over the number of connections.",
    "kinds": "Latencies of each kind of transactions, as above.",
    "stages": "Rate and largest response time of each second: of what is measured, and of what works beside it.",
    "statistics": "What the database counts of itself, for each transaction, over the number of connections.",
    "load": "Response time over the rate that was reached, of each cycle of the search; the line is the limit, the "
            "band the interval of the highest rate that keeps it.",
    "graduated": "Power, or CPUs where none was measured, and response times over the load, from the capacity to idle.",
    "legs": "Demanded and reached rate, and response times from the intended start, over the seconds of a cycle.",
    "outage": "Rate and 99th percentile of each second around what happened to the server; shaded: no client finished "
    "a transaction.",
    "queries": "Times of each query and refresh: of both power tests, and of all streams.",
    "scalability": "The Universal Scalability Law over the number of clients, and its residuals.",
    "memory": "Where the database outgrows the memory, by the times of hits and misses, and the residuals.",
    "collisions": "Share of attempts that succeed, by the model of collisions, and its residuals.",
}
"""Of each diagram that the page shows; others are those of dsbench plot."""
_OF_PAPERS: Final = frozenset({"rate", "connections", "response"})
"""Diagrams of ``dsbench plot`` whose place on a page the first picture and that of the latencies have."""
_ZOOMED: Final = ("cycle", "freq", "kinds")
_TABS: Final = {
    "Rate": ("summary", "load", "legs", "outage", "replication", "served", "why", "queries", "interference", "rate",
             "diagrams", "connections", "stages", "nodes", "models"),
    "Times": ("latency", "kinds", "statements", "server_statements", "course"),
    "Cost": ("cost", "stacks", "price", "energy", "probes", "statistics"),
    "Machine": ("machine", "device_times", "stack"),
    "Checks": ("checks", "errors", "durability", "checklist"),
    "Settings": ("settings", "specification"),
    "How to read": ("glossary",),
}
"""The tabs of the page with their sections; a section that none has stands in one more."""
_OWN: Final = {
    "summary": "Summary", "diagrams": "Diagrams", "course": "Timeline",
    "specification": "Specification", "glossary": "How to read",
}  # fmt: skip
"""Sections that are no subjects, or that only a page can show."""
_ALWAYS: Final = frozenset({"errors", "settings"})
"""Subjects of which the page says as well that there is nothing: no failure, no setting that differs."""


def page(evaluation: Evaluation, run: RunRecord, drawn: Mapping[str, Spec] | None = None) -> str:
    """The page of an evaluation and its run.json; ``drawn`` are its diagrams, if they exist already."""
    specs = dict(drawn) if drawn is not None else diagrams.specs(evaluation, run)
    picture = hero(evaluation, run)
    first = {"hero": picture} if picture else {}
    if picture and (latency := specs.pop("latency", None)):
        first["latency"] = beside(latency)
    left_out = _left_out(evaluation) if picture else frozenset()
    specs = {name: spec for name, spec in specs.items() if name in _CAPTIONS and name not in left_out}
    sections = {
        "summary": summarize(evaluation, run),
        **({"diagrams": _diagrams(list(specs))} if specs else {}),
        "course": course.section_of_courses(evaluation),
        "specification": specification(run),
        "glossary": glossary(run),
    }
    own: dict[str, Spec] = {}
    for name in subjects.NAMES:
        if name not in _OWN and (found := _section(name, evaluation)):
            sections[name], own = found[0], own | found[1]
    drawn_here = first | {name: _zoomable(spec) if name in _ZOOMED else spec for name, spec in specs.items()}
    grouped = {name for names in _TABS.values() for name in names}
    rest = tuple(name for name in sections if name not in grouped and name != "warnings")
    tabs = {tab: [name for name in names if name in sections] for tab, names in {**_TABS, "More": rest}.items()}
    tabs = {tab: names for tab, names in tabs.items() if names}
    body = tag(
        "main", head(evaluation, run), _contents(tabs), show_answer(evaluation, run),
        tag("div", *(figure(name, "") for name in first), cls="diagrams first"), sections.get("warnings", ""),
        *(tag("div", *(sections[name] for name in names), data_tab=tab) for tab, names in tabs.items()),
    )
    drawn_here |= {"course": course.spec()} | {name: {**spec, "config": config()} for name, spec in own.items()}
    return render_page(f"{subject(run)} – {evaluation.name}", body, drawn_here, course.courses(evaluation))


def _left_out(evaluation: Evaluation) -> frozenset[str]:
    """Diagrams of ``dsbench plot`` that a page does not show: the course of stages neither, where there are none."""
    staged = evaluation.counts_operations or any(part.counts_operations for part in evaluation.series.values())
    return _OF_PAPERS | (frozenset() if staged else {"stages"})


def _section(name: str, evaluation: Evaluation) -> tuple[Html, dict[str, Spec]] | None:
    """What a subject tells, with its diagrams; ``None`` where that is nothing."""
    found = subjects.find_subject(name)
    blocks: list[Block] = list((found.on_page or found.tell)(evaluation))
    blocks = blocks or [Sentence(found.nothing)] * (name in _ALWAYS and bool(evaluation.of(RateResult).scales))
    return (Html(render_section(name, found.title, blocks)), specs_of(blocks)) if blocks else None


def _contents(tabs: Mapping[str, Sequence[str]]) -> Html:
    def title(name: str) -> str:
        return _OWN[name] if name in _OWN else subjects.find_subject(name).title

    return list_contents({tab: [(name, title(name)) for name in names] for tab, names in tabs.items()})


def _diagrams(names: list[str]) -> Html:
    figures = [figure(name, _CAPTIONS[name]) for name in names]
    without = Html("<noscript><p>The diagrams need JavaScript; dsbench plot writes them as SVG and PDF.</p></noscript>")
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


_FILE: Final = "repeat.toml"


def command_line(spec: Mapping[str, Any]) -> str:
    """The command for a specification as run.json holds it, with its seed and settings.

    What of the target has no option stands in a file: see ``config_file``. A password reads ``***``.
    """
    spec, target = said(spec), spec.get("target", {})
    # Both kinds of settings have one option; the program knows which are the workload's.
    given = {**spec, "workload_settings": {**spec.get("workload_settings", {}), **target.get("settings", {})}}
    words = ["dsbench", "run", str(target.get("url", ""))]
    for name, option in OPTIONS.items():
        words += option.words(given.get(name)) if name != "target" else []
    words += ["--config", _FILE] if config_file(spec) else []
    return shlex.join(words)


def config_file(spec: Mapping[str, Any]) -> str:
    """Content of the file beside the command: what has no option; empty when there is nothing."""
    target = spec.get("target", {})
    inner = [f"{name} = {json.dumps(str(target[name]))}" for name in ("version", "directory") if target.get(name)]
    return "\n".join([f"# {_FILE}", "[target]", *inner]) + "\n" if inner else ""


def answers(evaluation: Evaluation, run: RunRecord) -> list[tuple[str, object]]:
    """What limits the best rate and how sure it is, in sentences; nothing where nothing was committed, and nothing that
    the first screen says."""
    found = best(evaluation)
    if found is None:
        return []
    limit, why = glance.limit(found, run), found.part.of(WhyResult).why.get(found.row.scale)
    known = why is not None and why.explained and not limit.paced
    return [
        ("limited by", "" if limit.foreign or known else limit.words), ("failed", glance.failures(evaluation, found)),
        ("confidence", glance.sureness(found)),
    ]  # fmt: skip


_SWITCHED: Final = frozenset(
    {"hero", "rate", "cycle", "connections", "latency", "response", "kinds", "relative", "clients"}
)
"""Diagrams of which both a linear and a logarithmic axis tell something."""


def figure(name: str, caption: str) -> Html:
    """A diagram with its caption; the page draws it."""
    place = tag("div", cls="chart", data_diagram=name, data_switch=name in _SWITCHED)
    return tag("figure", place, tag("figcaption", caption) if caption else "", id=f"figure-{name}")


def specification(run: RunRecord) -> Html:
    """What the run was asked to do, and the command that asks for it again."""
    spec = run.spec.described()
    parts: list[object] = [tag("p", "To repeat this run:"), tag("pre", command_line(spec), tabindex=0)]
    if extra := config_file(spec):
        parts += [tag("p", "with a file beside it:"), tag("pre", extra, tabindex=0)]
    if "***" in run.spec.target.url:
        parts.append(tag("p", "Write the password where *** stands, or leave it to the client's own configuration."))
    values = _flat(spec)
    said = {name: value for name, value in values.items() if value != NONE and not _is_default(name, spec)}
    parts.append(_tabulate("Specification", said))
    if rest := {name: value for name, value in values.items() if name not in said}:
        parts.append(tag("details", tag("summary", f"The other {len(rest)}, which were not set"),
                         _tabulate("Settings that were not set", rest)))  # fmt: skip
    return section("Specification", *parts, key="specification")


def _tabulate(title: str, values: Mapping[str, str]) -> Html:
    return table(title, ["name", "value"], [list(pair) for pair in values.items()], numbers=False)


def _is_default(name: str, spec: Mapping[str, Any]) -> bool:
    """Whether an option, and no part of one, has the value that it has where nobody says anything."""
    option, field = OPTIONS.get(name), RunSpec.model_fields.get(name)
    if option is None or field is None:
        return False
    return bool(option.shown(spec[name]) == option.shown(field.get_default(call_default_factory=True)))


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            option = OPTIONS.get(prefix + name)
            flat[prefix + name] = (option.shown(value) if option else printed(value)) or NONE
    return flat


def glossary(run: RunRecord) -> Html:
    """How to read the page."""
    unit = run.workload.unit
    what = f"one {unit.name}" + (f", {unit.about}," if unit.about else "")
    scale = ("scale", f"Size of the database: {what} for each unit.")
    return section("How to read this page", terms((scale, *TERMS)), key="glossary")


def head(evaluation: Evaluation, run: RunRecord) -> Html:
    """What kind of page it is, and of when."""
    kept = " · ".join(part for part in (run.spec.label, _times(run)) if part)
    return tag("div", tag("span", f"dsbench · report · {evaluation.name}"), tag("span", kept), cls="top")


def show_answer(evaluation: Evaluation, run: RunRecord) -> Html:
    """The sentence that answers, the conditions, what voids or endangers the figures, and four of them."""
    return Html(render_blocks([answer(evaluation, run)]))


def summarize(evaluation: Evaluation, run: RunRecord) -> Html:
    """What limits the best rate, how sure it is, and what was run where and when."""
    found = best(evaluation)
    facts = terms([
        *answers(evaluation, run), ("server", server(run)), ("host", _host(run)), ("load", conditions(evaluation, run)),
        ("placement", evaluation.of(RateResult).placement), ("client's ceiling", _ceiling(found, run)),
        ("status", _status(run)), ("time", _times(run)), ("archive", evaluation.name),
        ("made with", f"dsbench {run.dsbench}"),
    ])  # fmt: skip
    return section("Summary", facts, key="summary")


def _host(run: RunRecord) -> str:
    return f"{run.host}, {run.cpus} CPUs" if run.cpus else run.host


def _status(run: RunRecord) -> str:
    return ": ".join(part for part in (run.status, run.reason) if part)


def _ceiling(found: Best | None, run: RunRecord) -> str:
    rate_tps = ceiling_tps(found, run) if found else math.nan
    return f"{number(rate_tps)} tps, what the client made with a database that costs nothing" if rate_tps > 0 else ""


def _times(run: RunRecord) -> str:
    started, ended = (_moment(text) for text in (run.started, run.ended))
    if started is None:
        return ""
    text = f"{started:%Y-%m-%d %H:%M:%S %Z}".strip()
    if ended is None:
        return f"{text}, not ended"
    took_s = int((ended - started).total_seconds())
    return f"{text}, took {took_s // 3600}:{took_s // 60 % 60:02}:{took_s % 60:02}"


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None
