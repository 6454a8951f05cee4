"""Rate and response times of all series beside each other: of each number of connections, or of each stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import nan
from typing import TYPE_CHECKING, Any, Final

from dsbench.archive.cycles import read_cycles
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.series import label_series, phrases
from dsbench.read.subject import Result, Subject, computed
from dsbench.read.subjects.clients import ClientsResult
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult, show_ends
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.spec.objective import Objective
from dsbench.stats.cycles import CycleFigures
from dsbench.stats.histogram import quantile_interval
from dsbench.stats.most_clients import ClientsTried, MostClients, find_most, judge_clients
from dsbench.stats.values import Interval

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation


def _read_most_clients(evaluation: Evaluation) -> Mapping[int, MostClients]:
    """By scale, where several numbers of clients were run with an objective."""
    spec, tried = evaluation.run.spec, defaultdict[int, list[ClientsTried]](list)
    if not spec.objectives or spec.searches:
        return {}
    cycles = defaultdict[tuple[int, int], list[CycleFigures]](list)
    for one in read_cycles(evaluation.rows.whole.tables, "residence"):
        cycles[one.scale, one.clients].append(one)
    for clients, part in evaluation.by_clients.items():
        for row in part.of(RateResult).scales:
            if row.scale not in part.of(RateResult).void_scales and (of := cycles.get((row.scale, clients))):
                ledger = part.of(ClientsResult).ledger.get(row.scale)
                waited_ns = ledger.half_ns if ledger is not None and ledger.apart else 0.0
                intervals = [_find_interval(part, row.scale, one) for one in spec.objectives]
                tried[row.scale].append(
                    judge_clients(clients, row.rate_median_tps, of, spec.objectives, intervals, waited_ns)
                )
    found = {scale: find_most(some) for scale, some in tried.items()}
    return {scale: one for scale, one in found.items() if one is not None}


def _find_interval(part: Evaluation, scale: int, objective: Objective) -> Interval:
    curve = part.of(LatencyResult).frequency.get(scale)
    if curve is None or objective.of_failures or objective.kind:
        return Interval(nan, nan, nan, 0.95)
    return quantile_interval(curve, round(1 - objective.allowed, 8))


_COLUMNS: Final = (
    Column("connections"), Column("rate, median", "tps", digits=4), Column("NOPM", digits=4),
    Column("p50", "ms", 1e-6), Column("p99", "ms", 1e-6),
    Column("p99 interval", "ms", left=True, spare=True, about="at 95%, over the cycles"),
    Column("mean", "ms", 1e-6), Column("max", "ms", 1e-6), Column("failed attempts"),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    if not evaluation.series or evaluation.of(QueriesResult).queries:
        return
    most = evaluation.of(ConnectionsResult).most_clients
    for scale, found in most.items():
        yield Sentence(f"Scale {scale:,}: {found.words}.", "lead")
    keeps = {(scale, one.clients): one for scale, found in most.items() for one in found.tried}
    more = (Column("keeps the objective", left=True), Column("cycles that keep it", left=True)) if most else ()
    series, parts = label_series(evaluation)
    rows: list[tuple[object, ...]] = []
    for scale in sorted({row.scale for _, part in parts for row in part.of(RateResult).scales}):
        for cells, part in parts:
            judged = keeps.get((scale, part.clients))
            said = (("yes" if judged.keeps else "no", f"{judged.cycles_kept} of {judged.cycles}")
                    if judged else ("", "")) if most else ()  # fmt: skip
            rows += [(scale, *cells, *row, *said) for row in _read_rows(part, scale)]
    columns = (Column("scale"), *series, *_COLUMNS, *more)
    filled = [at for at, column in enumerate(columns) if any(column.show(row[at]) not in ("", "–") for row in rows)]
    yield Table("Rate and latency by connections", [columns[at] for at in filled],
                [[row[at] for at in filled] for row in rows])  # fmt: skip
    shown = phrases(evaluation.series)[evaluation.key]
    yield Sentence(f"Tables and diagrams that tell no series apart show the {shown}.", "note")


def _read_rows(part: Evaluation, scale: int) -> Iterator[tuple[Any, ...]]:
    for row in (row for row in part.of(RateResult).scales if row.scale == scale):
        found, kinds = part.of(KindsResult).nopm.get(scale), part.of(KindsResult).kinds.get(scale, ())
        mean, most = (kinds[-1].response_mean_ns, kinds[-1].longest_ns) if kinds else (None, None)
        curve = part.of(LatencyResult).curve(scale)
        p50, p99 = (curve.told(quantile) if curve else None for quantile in (0.5, 0.99))
        within = show_ends(quantile_interval(curve, 0.99)) if curve else ""
        yield (part.of(RateResult).connections, row.rate_median_tps, found.median if found else None, p50, p99,
               within, mean, most, row.failed)  # fmt: skip


class ConnectionsResult(Result):
    most_clients: computed[Mapping[int, MostClients]] = computed(lambda _: {}, whole=_read_most_clients)
    """By scale: the most clients that keep the objective; empty without several numbers of clients and one."""


SUBJECT: Final = Subject(
    "connections", "Connections", ConnectionsResult, tell=_tell, nothing="The run has one series of cycles.",
)
