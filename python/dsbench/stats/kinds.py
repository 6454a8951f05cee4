"""Figures by kind of transaction: rates, shares in the mix, service and response times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.histogram import Histogram, deviation_ns, merge, quantiles_ns
from dsbench.stats.tpcc import binomial_interval
from dsbench.stats.values import known

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
"""Of service and response times; 1 is the maximum."""
ALL = "all kinds"
"""Name of the row that adds the kinds up."""


@dataclass(frozen=True)
class KindCounts:
    """What the cycles counted of one kind."""

    committed: int
    rolled_back: int
    """Rolled back on purpose: done work, no failure (docs/decisions/007)."""
    failed: int
    """Failed attempts, those that were tried again included."""
    retries: int
    unknown: int
    service_ns: int
    """Sum of the service times of the done: from the start of the first attempt."""
    response_ns: int
    """Sum of their response times: from the intended start; the same in the closed loop."""
    rows: int = 0
    """Rows that the committed worked on; 0 where the workload counts none."""
    in_flight_max_ns: int = 0
    """Whole time of the longest that was in flight at the end of a cycle, from its intended start."""

    @property
    def done(self) -> int:
        """Transactions that ended as they asked for."""
        return self.committed + self.rolled_back

    def __add__(self, other: KindCounts) -> KindCounts:
        return KindCounts(
            self.committed + other.committed,
            self.rolled_back + other.rolled_back,
            self.failed + other.failed,
            self.retries + other.retries,
            self.unknown + other.unknown,
            self.service_ns + other.service_ns,
            self.response_ns + other.response_ns,
            self.rows + other.rows,
            max(self.in_flight_max_ns, other.in_flight_max_ns),
        )


@dataclass(frozen=True)
class KindResult:
    """One kind of transactions at one scale."""

    kind: str
    committed: int
    rolled_back: int
    failed: int
    retries: int
    unknown: int
    rate_tps: float
    """Done transactions per second of demanded duration."""
    per_minute: float
    """The same per minute."""
    share: float
    """Share (0-1) in all done transactions."""
    share_at_most: float
    """Upper end of the interval of the share that the sample stands for. A deck of cards scatters less than
    the binomial distribution it is taken from."""
    least_share: float | None
    """What the workload's rules ask for at least; ``None`` where they ask for nothing."""
    service_mean_ns: float
    service_ns: Mapping[float, float]
    """Quantile (0-1) to service time: start of the first attempt to end."""
    response_mean_ns: float
    response_ns: Mapping[float, float]
    """Quantile (0-1) to response time: intended start to end."""
    limit_s: float | None
    """What 90% of the response times must not exceed by the workload's rules; ``None`` without such a rule."""
    response_deviation_ns: float = np.nan
    """Standard deviation of the response times."""
    rows: int = 0
    """Rows that the committed worked on; 0 where the workload counts none."""
    rows_per_s: float = 0.0
    """The same per second."""
    longest_ns: float = np.nan
    """The longest response time of those that were done or in flight at the end of a cycle."""

    def told(self, quantiles_ns: Mapping[float, float]) -> list[float]:
        """Those of ``QUANTILES``; nan where too few transactions lie beyond one to know it."""
        done = self.committed + self.rolled_back
        return [quantiles_ns[q] if known(q, done) else np.nan for q in QUANTILES]

    def told_response(self) -> list[float]:
        """The same of the response times; their maximum is the longest, in flight or not."""
        return [*self.told(self.response_ns)[:-1], self.longest_ns]

    @property
    def share_met(self) -> bool | None:
        """Whether the share is large enough; ``None`` where nothing is asked for."""
        return None if self.least_share is None else self.share >= self.least_share

    @property
    def share_missed(self) -> bool:
        """Whether the share is too small, and not by chance."""
        return self.least_share is not None and self.share_at_most < self.least_share

    @property
    def limit_met(self) -> bool | None:
        """Whether 90% of the response times are within the limit; ``None`` without a limit, or with too few times."""
        p90_ns = self.response_ns.get(0.9, np.nan) if known(0.9, self.committed + self.rolled_back) else np.nan
        return None if self.limit_s is None or np.isnan(p90_ns) else p90_ns <= self.limit_s * 1e9


def kind_results(
    counts: Mapping[str, KindCounts],
    service: Mapping[str, Histogram],
    response: Mapping[str, Histogram],
    measured_s: float,
    *,
    least_shares: Mapping[str, float],
    limits_s: Mapping[str, float],
) -> tuple[KindResult, ...]:
    """The kinds in the order of ``counts``, and all of them together where there are several.

    ``measured_s`` is the demanded duration of all cycles. Without ``response`` (the closed loop) the
    response times are the service times: a client starts when it is ready.
    """
    total = sum(one.done for one in counts.values())

    def result(kind: str, count: KindCounts, times: Sequence[Histogram], waits: Sequence[Histogram]) -> KindResult:
        served, answered = merge(times), merge(waits)
        taken = answered if response else served
        longest_ns = max(taken.max_ns, count.in_flight_max_ns)
        return KindResult(
            kind=kind,
            committed=count.committed,
            rolled_back=count.rolled_back,
            failed=count.failed,
            retries=count.retries,
            unknown=count.unknown,
            rate_tps=count.done / measured_s,
            per_minute=count.done / measured_s * 60,
            share=count.done / total if total else np.nan,
            share_at_most=binomial_interval(count.done, total)[1],
            least_share=least_shares.get(kind),
            service_mean_ns=count.service_ns / count.done if count.done else np.nan,
            service_ns=quantiles_ns(served, QUANTILES),
            response_mean_ns=(count.response_ns if response else count.service_ns) / count.done
            if count.done
            else np.nan,
            response_ns=quantiles_ns(taken, QUANTILES),
            limit_s=limits_s.get(kind),
            response_deviation_ns=deviation_ns(taken),
            rows=count.rows,
            rows_per_s=count.rows / measured_s,
            longest_ns=float(longest_ns) if longest_ns else np.nan,
        )

    def of(histograms: Mapping[str, Histogram], kind: str) -> list[Histogram]:
        return [histograms[kind]] if kind in histograms else []

    rows = [result(kind, count, of(service, kind), of(response, kind)) for kind, count in counts.items()]
    if len(rows) > 1:
        everything = sum(list(counts.values())[1:], start=next(iter(counts.values())))
        rows.append(result(ALL, everything, list(service.values()), list(response.values())))
    return tuple(rows)


STATEMENT_QUANTILES: Final = (0.5, 0.99, 1.0)
"""Of the times of a statement; 1 is the maximum."""


@dataclass(frozen=True)
class StatementResult:
    """One statement of a script at one scale, over all cycles."""

    kind: str
    """The script."""
    statement: int
    """Number among the statements of all scripts, from 1."""
    line: int
    """Line in its script, from 1."""
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


@dataclass(frozen=True)
class FoundRows:
    """What a statement of a script found at one scale, over all cycles."""

    kind: str
    """The script."""
    statement: int
    """Number among the statements of all scripts, from 1."""
    line: int
    """Line in its script, from 1."""
    text: str
    executions: int
    """Without an error."""
    rows: int
    """That it read or changed."""
    empty: int
    """Executions without a row."""


def statement_result(
    kind: str, statement: int, line: int, text: str, failed: int, retried: int, sum_ns: int, times: Histogram
) -> StatementResult:
    """The figures out of the sum of the ``times``, which is exact, and their histogram."""
    count = times.count
    mean_ns = sum_ns / count if count else float("nan")
    spread_ns = deviation_ns(times)
    shares = quantiles_ns(times, STATEMENT_QUANTILES)
    return StatementResult(kind, statement, line, text, count, failed, retried, mean_ns, spread_ns, shares)
