"""Figures in the words of pgbench, with those of each statement where they were timed: text, and cells for the page."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Final

from dsbench.read.evaluation import Evaluation
from dsbench.read.series import headings
from dsbench.read.stats.kinds import ALL, KindResult
from dsbench.read.stats.statements import QUANTILES, StatementResult

HEADS: Final = ("mean", "stddev", "p50", "p99", "max", "executions", "failures", "retries", "line", "statement")
UNTIMED: Final = "no statement was timed: run scripts with --per-statement"

Cells = tuple[str, ...]


def text(evaluation: Evaluation) -> str:
    """For each series, scale and script what ``pgbench -r`` prints, with quantiles."""
    names = headings(evaluation.series)
    parts = {names[key]: part for key, part in evaluation.series.items()} or {"": evaluation}
    lines = [line for name, part in parts.items() for line in (*([name, ""] if name else []), *_lines(part))]
    timed = any(part.statement_times for part in parts.values())
    return "\n".join([*lines, *([] if timed else [UNTIMED])])


def statement_cells(row: StatementResult) -> Cells:
    """Cells below ``HEADS``; times in ms."""
    times = (row.mean_ns, row.deviation_ns, *(row.times_ns[q] for q in QUANTILES))
    counts = (row.count, row.failed, row.retried)
    return (*(_ms(value) for value in times), *(f"{n:,}" for n in counts), str(row.line), row.text)


def _lines(evaluation: Evaluation) -> Iterator[str]:
    for scale, kinds in sorted(evaluation.kinds.items()):
        yield f"scale {scale}, {evaluation.connections} connections"
        for kind in kinds:
            yield ""
            yield from _of_kind(evaluation, scale, kind, alone=len(kinds) == 1)
        yield ""


def _of_kind(evaluation: Evaluation, scale: int, kind: KindResult, *, alone: bool) -> Iterator[str]:
    done = kind.committed + kind.rolled_back
    yield kind.kind
    on_purpose = f", rolled back on purpose: {kind.rolled_back:,}" if kind.rolled_back else ""
    yield f"  transactions done: {done:,}{on_purpose}"
    share = f" ({kind.failed / (done + kind.failed):.3%} of the attempts)" if done + kind.failed else ""
    yield f"  failed attempts: {kind.failed:,}{share}; retries: {kind.retries:,}"
    of_kinds = evaluation.kind_errors.get(scale, {})
    classes = evaluation.errors.get(scale, {}) if alone or kind.kind == ALL else of_kinds.get(kind.kind, {})
    for name, count in sorted(classes.items()):
        yield f"    {name}: {count:,}"
    yield f"  latency average: {_ms(kind.response_mean_ns)} ms, stddev: {_ms(kind.response_deviation_ns)} ms"
    yield f"  tps: {kind.rate_tps:,.6g}"
    rows = [row for row in evaluation.statement_times.get(scale, ()) if row.kind == kind.kind]
    if rows:
        yield "  statement latencies in milliseconds, failures and retries:"
        yield from _grid([HEADS, *map(statement_cells, rows)])


def _grid(rows: list[Cells]) -> Iterator[str]:
    """Numbers to the right, the statement to the left."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADS) - 1)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=False)]
        yield "    " + "  ".join([*cells, row[-1]])


def _ms(nanos: float) -> str:
    return f"{nanos / 1e6:.3f}" if isfinite(nanos) else "–"
