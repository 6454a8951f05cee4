"""Rows of an archive by statement, where statements were timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.arrow import whole
from dsbench.read.stats import histogram as hist
from dsbench.read.stats.statements import StatementResult, statement_result
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    pass

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


SUBJECT: Final = Subject(
    "statements", "Statements",
    reads={
        "statement_times": lambda evaluation: statements_of(
            evaluation.rows.of_cycles("statements"), evaluation.rows.of_cycles("statement_buckets")
        )
    },
)  # fmt: skip
