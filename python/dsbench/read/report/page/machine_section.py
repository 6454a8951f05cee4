"""The part of the page about what else the machines did."""

from __future__ import annotations

from dsbench.read.evaluation.evaluated import Evaluation
from dsbench.read.evaluation.series import headings
from dsbench.read.report import machine_table
from dsbench.read.report.page.markup import Html, section, table, tag


def section_of_machines(evaluation: Evaluation) -> Html | None:
    """Who used the CPUs and the storage around each cycle; ``None`` where the archive does not tell."""
    names = headings(evaluation.series)
    parts = [(names[key], part) for key, part in evaluation.series.items()] or [("", evaluation)]
    shown: list[object] = []
    for heading, part in parts:
        if found := machine_table.rows(part):
            title = "Machine by cycle" + (f", {heading}" if heading else "")
            shown.append(table(title, list(machine_table.HEADS), [list(row) for row in found]))
            programs = [tag("li", line) for line in machine_table.named(part)]
            shown.append(tag("details", tag("summary", "Other programs"), tag("ul", *programs)) if programs else "")
    if not shown:
        return None
    return section("Machine", tag("p", machine_table.NOTE, cls="note"), *shown, key="machine")
