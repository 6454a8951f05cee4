"""Figures of the statements of a transaction, where they were timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dsbench.read.stats.histogram import Histogram, deviation_ns, quantiles_ns

QUANTILES: Final = (0.5, 0.99, 1.0)
"""Of the times of a statement; 1 is the maximum."""


@dataclass(frozen=True)
class StatementResult:
    """One statement of a script at one scale, over all cycles."""

    kind: str
    """The script."""
    statement: int
    """Number among the statements of all scripts, from 1."""
    line: int
    """Where it stands in its script, from 1."""
    text: str
    count: int
    """Executions without an error, in attempts that failed later, too."""
    failed: int
    """Errors that ended their transaction."""
    retried: int
    """Errors after which the transaction was tried again."""
    mean_ns: float
    """Of the executions without an error; nan where there is none, as all that follows."""
    deviation_ns: float
    """Their standard deviation."""
    times_ns: Mapping[float, float]
    """Quantile (0-1) to time."""


def statement_result(
    kind: str, statement: int, line: int, text: str, failed: int, retried: int, sum_ns: int, times: Histogram
) -> StatementResult:
    """The figures out of the sum of the ``times``, which is exact, and their histogram."""
    count = times.count
    mean_ns = sum_ns / count if count else float("nan")
    spread_ns = deviation_ns(times)
    shares = quantiles_ns(times, QUANTILES)
    return StatementResult(kind, statement, line, text, count, failed, retried, mean_ns, spread_ns, shares)
