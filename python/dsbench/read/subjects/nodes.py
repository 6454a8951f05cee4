"""What each node of a distributed run did: its rows of the archive as values, by node and scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import LOCAL, RunRecord
from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Listed, Sentence, Table
from dsbench.read.groups import durations_ns, grouped, whole
from dsbench.read.measured import Measured
from dsbench.read.rows import divide_networks
from dsbench.read.subject import Result, Subject, computed
from dsbench.stats import equations as eq
from dsbench.stats import histogram as hist
from dsbench.stats.resources import gains
from dsbench.stats.values import Floats

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_BUSY: Final = ("cpu_user", "cpu_system", "cpu_steal")
_IDLE: Final = ("cpu_idle", "cpu_iowait")


@dataclass(frozen=True)
class NodeShare:
    """What one remote node did at one scale, over the cycles in which it took part wholly."""

    rate_median_tps: float
    """Of T_in (eq. 6); nan as all figures when it took part in no cycle."""
    rate_min_tps: float
    rate_max_tps: float
    p50_ns: float
    p99_ns: float
    """Of its residence times."""
    cpu_busy: float
    """Share (0-1) of its CPUs that was in use, by whomever."""
    sent_bytes: float
    received_bytes: float
    """Through its network interfaces, per transaction that it committed."""
    ceiling_tps: float
    """Its rate against an engine that answers at once, as calibrated before the run."""
    start_late_ns: float
    """Its latest first start of a transaction after the agreed start of a cycle, by its own clock; nan in the
    open loop, where the first transaction is due later."""
    clock_error_ns: int
    """By how much its clock may have been off at a start: half of the shortest round trip and the drift."""
    cycles: int
    """In which it took part wholly."""
    absent: tuple[str, ...]
    """The other cycles, in words, with the reason."""


def shares(
    run: RunRecord, rates: Mapping[str, Mapping[int, Floats]], buckets: pa.Table, monitors: pa.Table,
    taken: pa.Table, load: Mapping[int, Measured], groups: pa.Table,
) -> dict[str, dict[int, NodeShare]]:
    """Node to scale to its share; empty for a local run. ``taken`` is the table ``nodes``."""
    if not run.spec.nodes:
        return {}
    ceilings = {node.name: node.calibration.ceiling_tps for node in run.nodes if node.calibration}
    costs, times = _gains(divide_networks(monitors, run), groups), _quantiles(buckets)
    courses: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in taken.to_pylist():
        courses[row["node"], row["scale"]].append(row)
    result: dict[str, dict[int, NodeShare]] = {}
    for (node, scale), rows in sorted(courses.items()):
        found = rates.get(node, {}).get(scale, np.empty(0))
        counted = found[np.isfinite(found)]
        cost = costs.get((scale, node), {})
        transactions = _committed(load.get(scale), node)
        whole_rows = [row for row in rows if row["state"] == "complete"]
        late = [float(row["start_late_ns"]) for row in whole_rows if row["start_late_ns"] is not None]
        result.setdefault(node, {})[scale] = NodeShare(
            rate_median_tps=float(np.median(counted)) if counted.size else np.nan,
            rate_min_tps=float(counted.min()) if counted.size else np.nan,
            rate_max_tps=float(counted.max()) if counted.size else np.nan,
            p50_ns=times.get((scale, node), (np.nan, np.nan))[0],
            p99_ns=times.get((scale, node), (np.nan, np.nan))[1],
            cpu_busy=_busy(cost),
            sent_bytes=_per(cost.get(("network", "sent_bytes")), transactions),
            received_bytes=_per(cost.get(("network", "received_bytes")), transactions),
            ceiling_tps=ceilings.get(node, np.nan),
            start_late_ns=max(late, default=np.nan),
            clock_error_ns=max((row["clock_error_ns"] + abs(row["clock_drift_ns"]) for row in whole_rows), default=0),
            cycles=len(whole_rows),
            absent=tuple(f"cycle {row['cycle']}: {row['why']}" for row in rows if row["state"] != "complete"),
        )
    return result


def _committed(load: Measured | None, node: str) -> int:
    """Transactions that ``node`` committed in the cycles in which it took part."""
    if load is None or node not in load.nodes:
        return 0
    return int(load["committed"][:, load.nodes.index(node)].sum())


def _gains(monitors: pa.Table, groups: pa.Table) -> dict[tuple[int, str], dict[tuple[str, str], float]]:
    """(scale, node) to (monitor, metric) to what its counter gained over the cycles."""
    table = monitors.filter(pc.ends_with(pc.field("unit"), " total") & (pc.field("node") != LOCAL))
    counters, series = grouped(table, ("scale", "cycle", "node", "monitor", "metric"))
    result: dict[tuple[int, str], dict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))
    if counters:
        values = table["value"].to_numpy()
        names, gain, *_ = gains(series, whole(table, "at_ns"), values, durations_ns(groups, table))
        for name, gained in zip(names, gain, strict=True):
            scale, _cycle, node, monitor, metric = counters[int(name)]
            result[scale, node][monitor, metric] += float(gained)
    return result


def _quantiles(buckets: pa.Table) -> dict[tuple[int, str], tuple[float, float]]:
    """(scale, node) to the median and the 99% quantile of its residence times."""
    chosen = buckets.filter(pc.field("measure") == "residence")
    groups, series = grouped(chosen, ("scale", "node"))
    low, high, count = (whole(chosen, name) for name in ("low_ns", "high_ns", "count"))
    result = {}
    for number, (scale, node) in enumerate(groups):
        here = series == number
        values = hist.histogram(low[here], high[here], count[here])
        if values.count:
            found = hist.quantiles_ns(values, (0.5, 0.99))
            result[scale, node] = (found[0.5], found[0.99])
    return result


def _busy(cost: Mapping[tuple[str, str], float]) -> float:
    """Share (0-1) of the node's CPUs that was not free for the load; what the hypervisor took was not free."""
    busy, idle = (sum(cost.get(("os", metric), 0.0) for metric in metrics) for metrics in (_BUSY, _IDLE))
    total = busy + idle
    return busy / total if total > 0 else np.nan


def _per(gained: float | None, transactions: int) -> float:
    return gained / transactions if gained is not None and transactions > 0 else np.nan


def _read_rates(evaluation: Evaluation) -> dict[str, dict[int, Floats]]:
    """T_in (eq. 6) by node and scale; nan for a cycle in which the node is missing."""
    result: dict[str, dict[int, Floats]] = {}
    for x, part in evaluation.rows.load.items():
        rates = np.where(part.present, eq.node_rate_tps(part["committed"], part.duration_s), np.nan)
        for column, node in enumerate(part.nodes):
            result.setdefault(node, {})[x] = rates[:, column]
    return dict(sorted(result.items()))


def _read_shares(evaluation: Evaluation) -> dict[str, dict[int, NodeShare]]:
    rows = evaluation.rows
    return shares(
        rows.run, evaluation.of(NodesResult).node_rates, rows.buckets, rows.of_cycles("monitors"),
            rows.of_cycles("nodes"), rows.load,
        rows.groups,
    )  # fmt: skip


_COLUMNS: Final = (
    Column("scale"), Column("node", left=True), Column("rate", "tps"), Column("minimum", "tps"),
    Column("maximum", "tps"), Column("share", form=".0%"), Column("p50", "ms", 1e-6), Column("p99", "ms", 1e-6),
    Column("CPU", form=".0%"), Column("ceiling", "tps", about="against an engine that answers at once"),
    Column("sent", "B/tx"), Column("received", "B/tx"),
    Column("late", "ms", 1e-6, about="latest first start after the common start of a cycle"),
    Column("clock ±", "ms", 1e-6, about="maximum error of its clock at a start"),
    Column("cycles", left=True),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """Who made the load, and how well together."""
    if not evaluation.of(NodesResult).nodes:
        return
    machines = [(node.name, node.cpus or "", node.core.get("CPU") or "", node.system or "")
                for node in evaluation.run.nodes]  # fmt: skip
    heads = (Column("node", left=True), Column("CPUs"), Column("processor", left=True), Column("system", left=True))
    yield Table("Machines that generated the load", heads, machines)
    yield Table("Nodes by scale", _COLUMNS, list(_rows(evaluation)))
    shares = [share for by_scale in evaluation.of(NodesResult).nodes.values() for share in by_scale.values()]
    late = max((share.start_late_ns for share in shares if not np.isnan(share.start_late_ns)), default=np.nan)
    began = "" if np.isnan(late) else f"Their first transactions began {late / 1e6:.2g} ms after it at most. "
    error = max(share.clock_error_ns for share in shares) / 1e6
    yield Sentence(f"Each cycle had one common start. {began}Their clocks were known to within {error:.2g} ms.", "note")
    absent = [
        f"node {node} at scale {scale}, {words}"
        for node, by_scale in evaluation.of(NodesResult).nodes.items() for scale, share in by_scale.items()
            for words in share.absent
    ]  # fmt: skip
    if absent:
        yield Listed(absent)


def _rows(evaluation: Evaluation) -> Iterator[tuple[object, ...]]:
    for scale in sorted({scale for by_scale in evaluation.of(NodesResult).nodes.values() for scale in by_scale}):
        here = {node: by_scale[scale]
            for node, by_scale in evaluation.of(NodesResult).nodes.items() if scale in by_scale}
        total = sum(share.rate_median_tps for share in here.values() if not np.isnan(share.rate_median_tps))
        for node, share in here.items():
            part = share.rate_median_tps / total if total else np.nan
            yield (
                scale, node, share.rate_median_tps, share.rate_min_tps, share.rate_max_tps, part, share.p50_ns,
                share.p99_ns, share.cpu_busy, share.ceiling_tps, share.sent_bytes, share.received_bytes,
                share.start_late_ns, share.clock_error_ns, f"{share.cycles} of {share.cycles + len(share.absent)}",
            )  # fmt: skip


class NodesResult(Result):
    node_rates = computed(_read_rates)
    """Node to scale to T_in (eq. 6); one entry, the local node, for a local run."""
    nodes = computed(_read_shares)
    """Remote node to scale to its share; empty for a local run."""


SUBJECT: Final = Subject(
    "nodes", "Nodes", NodesResult, tell=_tell,
    nothing="The machine of dsbench run generated the load: there were no nodes.",
)  # fmt: skip
