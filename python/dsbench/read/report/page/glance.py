"""The first screen of the page: the result, its curve, what limits it, and how sure it is."""

from __future__ import annotations

from typing import Final

from dsbench.archive import RunRecord
from dsbench.read import glance
from dsbench.read.evaluation import Evaluation
from dsbench.read.report.page.markup import Html, join, tag, terms
from dsbench.read.subjects.rate import peak_lines


def answers(evaluation: Evaluation, run: RunRecord) -> Html:
    """What limits the best rate and how sure it is, in sentences; nothing where nothing was committed."""
    found = glance.best(evaluation)
    if found is None:
        return Html("")
    limit = glance.limit(found, run)
    return terms([
        ("limited by", "" if limit.foreign else limit.words), ("failed", glance.failures(evaluation, found)),
        ("how sure", glance.sureness(found)),
        ("warnings", _doubts(evaluation)), *(("peak", line) for line in peak_lines(evaluation)),
    ])  # fmt: skip


def warning(evaluation: Evaluation, run: RunRecord) -> Html:
    """What stands above the rate where others took a part of the machine; else nothing."""
    found = glance.best(evaluation)
    limit = glance.limit(found, run) if found is not None else None
    return tag("p", limit.words, cls="foreign", role="note") if limit is not None and limit.foreign else Html("")


def _doubts(evaluation: Evaluation) -> Html:
    severe = sum(doubt.severe for doubt in evaluation.doubts)
    count = len(evaluation.doubts)
    if not count:
        return Html("none was found")
    words = f"{count} to read" + (f", {severe} of them void figures" if severe else "")
    return tag("a", words, href="#warnings")


_SWITCHED: Final = frozenset({"rate", "cycle", "connections", "response", "kinds", "relative", "linear", "threads"})
"""Diagrams of which both a linear and a logarithmic axis tell something."""


def figure(name: str, caption: str) -> Html:
    """A diagram with its caption and a link to it; the page draws it."""
    link = tag("a", "#", href=f"#figure-{name}", cls="anchor", aria_label=f"Link to the diagram {name}")
    place = tag("div", cls="chart", data_diagram=name, data_switch=name in _SWITCHED)
    return tag("figure", place, tag("figcaption", join([caption, " ", link])), id=f"figure-{name}")
