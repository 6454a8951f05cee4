"""Histories of configurations as one page that loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from dsbench.read.draw.theme import Spec
from dsbench.read.html import render_page
from dsbench.read.naming import counted
from dsbench.read.report.page.markup import Html, section, table, tag
from dsbench.read.stats.changes import FEWEST
from dsbench.read.trend import History, Told

_CAPTION = (
    "Each point is a run: the median rate of its cycles, of several scales the mean along lg scale. Grey: the median "
    "of a level. A dashed line stands where the level changed, red for the worse."
)


def page(histories: Sequence[History], left: Sequence[str], drawn: Mapping[int, tuple[str, Spec]]) -> str:
    """``drawn``: by number of the history, from 0, the name of its diagram and the diagram."""
    fell = sum(history.fell for history in histories)
    changed = sum(bool(history.changes) for history in histories)
    of = f"{changed} of {counted(len(histories), 'configuration')}"
    verdict = f"{of} changed; the last change of {fell} was for the worse."
    body = tag(
        "main",
        tag("h1", f"History of {counted(len(histories), 'configuration')}"),
        tag("p", verdict, cls="note"),
        *(_of(number, history, drawn.get(number)) for number, history in enumerate(histories)),
        section("Left out", tag("ul", *(tag("li", line) for line in left)), key="left-out") if left else "",
    )
    return render_page("Trend", body, dict(drawn.values()))


def sentence(told: Told) -> str:
    """``-12.3 % [-15.0, -9.8] from 2026-11-21T10:00 on (commit 3f2a), p = 0.002``."""
    ratio, result = told.change.ratio, told.result
    low, high = (f"{(bound - 1) * 100:+.1f}" for bound in (ratio.low, ratio.high))
    within = f" [{low}, {high}]" if isfinite(ratio.low) else ""
    label = f" ({result.label})" if result.label else ""
    since = f"{ratio.value - 1:+.1%}{within} from {result.started[:16]} on{label}"
    return f"{since}, p = {told.change.p_value:.2g}: {result.archive}"


def _of(number: int, history: History, drawn: tuple[str, Spec] | None) -> Html:
    parts: list[Html] = []
    if drawn is not None:
        figure = tag("figure", tag("div", cls="chart", data_diagram=drawn[0]), tag("figcaption", _CAPTION))
        parts.append(tag("div", figure, cls="diagrams"))
    few = len(history.results) < FEWEST
    if not history.changes:
        parts.append(tag("p", f"Too few to tell: a change needs {FEWEST} runs." if few else "No change."))
    if history.assumed:
        parts.append(tag("p", f"{history.assumed[:1].upper()}{history.assumed[1:]}.", cls="note"))
    for at, told in enumerate(history.changes, 1):
        parts.append(tag("h3", sentence(told)))
        if not told.differs:
            parts.append(tag("p", "Nothing else that is known of the runs changed there."))
            continue
        rows = [[name, old or "nothing", new or "nothing"] for name, (old, new) in told.differs.items()]
        parts.append(table(f"What changed at change {at}", ["setting", "before", "from here on"], rows, numbers=False))
    runs = [
        [one.started[:16].replace("T", " "), one.label, f"{one.rate_tps:,.1f}", one.archive] for one in history.results
    ]
    parts.append(tag("h3", "Runs"))
    parts.append(table("Runs in order of time", ["started (UTC)", "label", "tps", "archive"], runs, numbers=False))
    return section(history.name, *parts, key=f"history-{number + 1}")
