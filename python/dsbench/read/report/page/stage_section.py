"""The part of the page about what each stage reached and took of the machine."""

from __future__ import annotations

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.report import stage_table
from dsbench.read.report.page.markup import Html, section, table, tag, terms
from dsbench.read.stats.efficiency import COLUMNS


def section_of_stages(evaluation: Evaluation, run: RunRecord) -> Html | None:
    """The columns, the work in the background and the response times; ``None`` where no cycle was finished."""
    rows = stage_table.rows(evaluation, run)
    if not rows:
        return None
    failing = [at for at, row in enumerate(rows) if stage_table.FAILED in row[0]]
    shown = [table("Efficiency by stage", stage_table.heads(evaluation), rows, marked=failing)]
    if beside := stage_table.background_rows(evaluation):
        missed = [at for at, row in enumerate(beside) if row[-1] == stage_table.MISSED]
        shown.append(table("Work in the background", stage_table.background_heads(evaluation), beside, marked=missed))
    title = "Response times by stage: how many up to"
    shown.append(table(title, stage_table.times_heads(evaluation), stage_table.times_rows(evaluation)))
    told = terms((f"{one.name} [{one.unit}]" if one.unit else one.name, one.sentence) for one in COLUMNS)
    words = [stage_table.NOTE, *([stage_table.RULE] if failing else []), stage_table.EXACT]
    meaning = tag("details", tag("summary", "What the columns mean"), told)
    return section("Stages", *(tag("p", one, cls="note") for one in words), *shown, meaning, key="stages")
