"""What each node of a distributed run did: its rows of the archive as values, by node and scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import LOCAL, RunRecord
from dsbench.read.evaluation.arrow import grouped, texts, whole
from dsbench.read.evaluation.evaluated import NodeShare
from dsbench.read.evaluation.groups import durations_ns
from dsbench.read.evaluation.measured import Measured
from dsbench.read.stats import histogram as hist
from dsbench.read.stats.resources import gains
from dsbench.read.stats.values import Floats

SHARED: Final = "nodes"
"""Name under which the network of all nodes together is counted beside that of the system under test."""

_BUSY: Final = ("cpu_user", "cpu_system", "cpu_steal")
_IDLE: Final = ("cpu_idle", "cpu_iowait")


def divided(monitors: pa.Table, run: RunRecord) -> pa.Table:
    """``monitors`` with the bytes of interfaces that several nodes have in common in even parts for those that took
    part in a cycle: each of them counts all that goes through its machine."""
    networks = {node.name: node.network for node in run.nodes if node.network}
    several = {name for name, of in networks.items() if list(networks.values()).count(of) > 1}
    if not several:
        return monitors
    names, kinds = (np.array(texts(monitors, column)) for column in ("node", "monitor"))
    chosen = np.flatnonzero(np.isin(names, sorted(several)) & (kinds == "network"))
    scale, cycle = (whole(monitors, column)[chosen].tolist() for column in ("scale", "cycle"))
    rows = [(x, at, networks[node], node) for x, at, node in zip(scale, cycle, names[chosen].tolist(), strict=True)]
    sharing: dict[tuple[int, int, str], set[str]] = defaultdict(set)
    for x, at, network, node in rows:
        sharing[x, at, network].add(node)
    values = monitors["value"].to_numpy().copy()
    values[chosen] /= [len(sharing[x, at, network]) for x, at, network, _ in rows]
    return monitors.set_column(monitors.column_names.index("value"), "value", pa.array(values, pa.float64()))


def apart(monitors: pa.Table, run: RunRecord) -> pa.Table:
    """The rows of ``monitors`` that tell what a transaction cost, whoever paid.

    With remote nodes the system under test is the machine of dsbench run. Its own CPU as a client is only that of
    the coordinator and is left out, as are the CPUs of the nodes; the clients' CPU time and network are the nodes'.
    """
    if not run.spec.nodes:
        return monitors
    monitors = divided(monitors, run)
    here, monitor = pc.field("node") == LOCAL, pc.field("monitor")
    of_clients = monitor.isin(["client", "client_tasks"])
    kept = monitors.filter((here & ~of_clients) | (~here & (of_clients | (monitor == "network"))))
    pairs = zip(texts(kept, "node"), texts(kept, "monitor"), strict=True)
    renamed = [SHARED if name == "network" and node != LOCAL else name for node, name in pairs]
    return kept.set_column(kept.column_names.index("monitor"), "monitor", pa.array(renamed, pa.string()))


def shares(
    run: RunRecord, rates: Mapping[str, Mapping[int, Floats]], buckets: pa.Table, monitors: pa.Table,
    taken: pa.Table, load: Mapping[int, Measured], groups: pa.Table,
) -> dict[str, dict[int, NodeShare]]:
    """Node to scale to its share; empty for a local run. ``taken`` is the table ``nodes``."""
    if not run.spec.nodes:
        return {}
    ceilings = {node.name: node.calibration.ceiling_tps for node in run.nodes if node.calibration}
    costs, times = _gains(divided(monitors, run), groups), _quantiles(buckets)
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
    """(scale, node) to the median and the 99 % quantile of its residence times."""
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
    """Share (0-1) of the node's CPUs that was not free for the load; what the host took was not free."""
    busy, idle = (sum(cost.get(("os", metric), 0.0) for metric in metrics) for metrics in (_BUSY, _IDLE))
    total = busy + idle
    return busy / total if total > 0 else np.nan


def _per(gained: float | None, transactions: int) -> float:
    return gained / transactions if gained is not None and transactions > 0 else np.nan
