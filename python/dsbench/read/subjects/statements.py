"""Rows of an archive by statement, where statements were timed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.groups import whole
from dsbench.read.series import label_series
from dsbench.read.subject import Result, Subject, computed
from dsbench.read.subjects.errors import count_classes
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats import histogram as hist
from dsbench.stats.kinds import STATEMENT_QUANTILES, FoundRows, KindResult, StatementResult, statement_result

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation


def statements_of(statements: pa.Table, buckets: pa.Table) -> dict[int, tuple[StatementResult, ...]]:
    """By scale, the statements in the order of their scripts, out of the tables ``statements`` and
    ``statement_buckets``; empty where none were timed."""
    keys = ["scale", "statement", "kind", "line", "text"]
    sums = statements.group_by(keys).aggregate(
        [("failed", "sum"), ("retried", "sum"), ("sum_ns", "sum"), ("max_ns", "max")]
    )
    rows = sums.to_pylist() if statements.num_rows else []
    found: dict[int, list[StatementResult]] = {}
    for row in sorted(rows, key=lambda one: (one["scale"], one["statement"])):
        scale, number = row["scale"], row["statement"]
        here = buckets.filter((pc.field("scale") == scale) & (pc.field("statement") == number))
        low, high, count = (whole(here, name) for name in ("low_ns", "high_ns", "count"))
        times = hist.histogram(low, high, count, max_ns=row["max_ns_max"])
        named = row["kind"], number, row["line"], row["text"]
        totals = row["failed_sum"], row["retried_sum"], row["sum_ns_sum"]
        found.setdefault(scale, []).append(statement_result(*named, *totals, times))
    return {scale: tuple(results) for scale, results in found.items()}


def found_rows(table: pa.Table) -> dict[int, tuple[FoundRows, ...]]:
    """By scale, what statements found, out of the table ``statement_rows``; empty where none is counted."""
    keys = ["scale", "statement", "kind", "line", "text"]
    sums = table.group_by(keys).aggregate([("executions", "sum"), ("rows", "sum"), ("empty", "sum")])
    found: dict[int, list[FoundRows]] = {}
    for row in sorted(sums.to_pylist(), key=lambda one: (one["scale"], one["statement"])):
        counts = row["executions_sum"], row["rows_sum"], row["empty_sum"]
        named = row["kind"], row["statement"], row["line"], row["text"]
        found.setdefault(row["scale"], []).append(FoundRows(*named, *counts))
    return {scale: tuple(rows) for scale, rows in found.items()}


_SCRIPTS: Final = (
    *(Column(name) for name in ("connections", "done", "rolled back on purpose", "failed attempts")),
    Column("failed", form=".3%", about="share of the attempts"), Column("retries"),
    *(Column(name, "ms", 1e-6, form=".3f") for name in ("latency average", "latency stddev")), Column("tps", digits=6),
)  # fmt: skip
_STATEMENTS: Final = (
    *(Column(name, "ms", 1e-6, form=".3f") for name in ("mean", "stddev", "p50", "p99", "max")),
    *(Column(name) for name in ("executions", "failures", "retries", "line")), Column("statement", left=True),
)  # fmt: skip
_FOUND: Final = (
    Column("executions"), Column("rows per execution", form=".4g"), Column("without a row", form=".1%"),
    Column("line"), Column("statement", left=True),
)  # fmt: skip
_UNTIMED: Final = "No statement was timed: run scripts with --per-statement."


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """What ``pgbench -r`` prints of each script, with quantiles."""
    series, parts = label_series(evaluation)
    keys = (*series, Column("scale"), Column("kind", left=True))
    scripts = [(*cells, scale, row.kind, part.of(RateResult).connections, *_count(row))
               for cells, part in parts for scale, rows in sorted(part.of(KindsResult).kinds.items())
                   for row in rows]  # fmt: skip
    if not scripts:
        return
    yield Table("Transactions, as pgbench reports them", (*keys, *_SCRIPTS), scripts)
    yield from count_classes(evaluation)
    timed = [(*cells, scale, row.kind, *_times(row)) for cells, part in parts
             for scale, rows in sorted(part.of(StatementsResult).statement_times.items()) for row in rows]  # fmt: skip
    if timed:
        yield Table("Statements", (*keys, *_STATEMENTS), timed)
    found = [(*cells, scale, row.kind, row.executions, row.rows / row.executions, row.empty / row.executions, row.line,
              row.text)
             for cells, part in parts
             for scale, rows in sorted(part.of(StatementsResult).statement_rows.items()) for row in rows]  # fmt: skip
    if found:
        yield Table("Rows found", (*keys, *_FOUND), found)
    if not timed:
        yield Sentence(_UNTIMED)


def _count(row: KindResult) -> tuple[object, ...]:
    done = row.committed + row.rolled_back
    share = row.failed / (done + row.failed) if done + row.failed else None
    return (
        done, row.rolled_back, row.failed, share, row.retries, row.response_mean_ns, row.response_deviation_ns,
        row.rate_tps,
    )  # fmt: skip


def _times(row: StatementResult) -> tuple[object, ...]:
    times = (row.mean_ns, row.deviation_ns, *(float(row.times_ns[q]) for q in STATEMENT_QUANTILES))
    return (*times, row.count, row.failed, row.retried, row.line, row.text)


class StatementsResult(Result):
    statement_times: computed[Mapping[int, tuple[StatementResult, ...]]] = computed(
        lambda evaluation: statements_of(
            evaluation.rows.of_cycles("statements"), evaluation.rows.of_cycles("statement_buckets")
        )
    )
    """Scale to the statements of scripts in their order; empty where they were not timed."""
    statement_rows: computed[Mapping[int, tuple[FoundRows, ...]]] = computed(
        lambda evaluation: found_rows(evaluation.rows.of_cycles("statement_rows"))
    )
    """Scale to what the statements of scripts found that read or change rows, each alone in its command."""


def _tell_on_page(evaluation: Evaluation) -> Iterator[Block]:
    """Where no statement was timed, kinds and errors say the same of the transactions."""
    if any(part.of(StatementsResult).statement_times for _, part in label_series(evaluation)[1]):
        yield from _tell(evaluation)


SUBJECT: Final = Subject(
    "statements", "Statements", StatementsResult, tell=_tell, on_page=_tell_on_page, nothing=_UNTIMED,
)  # fmt: skip
