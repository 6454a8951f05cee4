"""What the groups of clients did, and what the machine gave them: the counters around the cycles, and last sizes.

An operation is a row where a kind of transaction inserts or deletes rows, else a transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import nan
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.dataclass import dataclass
from dsbench.read.groups import Series, durations_ns, grouped, summed, whole
from dsbench.read.subjects.course import counts_rows
from dsbench.stats.resources import gains
from dsbench.workloads import Entry, Kind

_COUNTERS: Final = {
    "reads": ("device", ("reads",)),
    "read_bytes": ("device", ("read_bytes",)),
    "writes": ("device", ("writes",)),
    "write_bytes": ("device", ("write_bytes",)),
    "switches": ("os", ("context_switches",)),
    "cpu_s": ("os", ("cpu_user", "cpu_system")),
    "cpus_s": ("os", ("cpu_user", "cpu_system", "cpu_idle", "cpu_iowait", "cpu_steal")),
}
"""Field of ``Spent`` to its monitor and the counters that add up to it."""
_MAY_LACK: Final = frozenset({"cpu_iowait", "cpu_steal"})
"""Counters that some systems do not have."""
_SPANS: Final = {"device_s": "device", "host_s": "os"}
_RATED: Final = ("constant", "poisson")
"""Pacings with a demanded rate."""


@dataclass(frozen=True)
class GroupCounts:
    """What one group did at one scale."""

    operations: Mapping[int, float]
    """By cycle."""
    transactions: float
    rows: bool
    """Whether the operations are rows."""
    inserts: bool
    deletes: bool

    @property
    def total(self) -> float:
        return sum(self.operations.values())


def count(cycles: pa.Table, kinds: Mapping[str, Kind]) -> dict[tuple[int, str], GroupCounts]:
    """(scale, group) to what it did."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    keys = ["scale", "cycle", "group", "kind"]
    for row in summed(cycles, keys, "rows", "sum", "committed"):
        found[row["scale"], row["group"]].append(row)
    result = {}
    for key, rows in found.items():
        operations: dict[int, float] = defaultdict(float)
        for row in rows:
            operations[row["cycle"]] += row["rows_sum"] if counts_rows(kinds, row["kind"]) else row["committed_sum"]
        # Clients that ended nothing are of what they tried.
        done = [row["kind"] for row in rows if row["committed_sum"]] or [row["kind"] for row in rows]
        result[key] = GroupCounts(
            operations,
            sum(row["committed_sum"] for row in rows),
            any(counts_rows(kinds, kind) for kind in done),
            any(kind in kinds and kinds[kind].rows == "inserted" for kind in done),
            any(kind in kinds and kinds[kind].rows == "deleted" for kind in done),
        )
    return result


def own_times(groups: pa.Table) -> dict[tuple[int, str], dict[int, float]]:
    """(scale, group) to the seconds that it had in each cycle."""
    found: dict[tuple[int, str], dict[int, float]] = defaultdict(dict)
    for row in groups.select(["scale", "group", "cycle", "duration_ns"]).to_pylist():
        found[row["scale"], row["group"]][row["cycle"]] = (row["duration_ns"] or 0) / 1e9
    return found


def in_order(groups: pa.Table) -> dict[int, list[str]]:
    """Scale to its groups, in the order of the workload."""
    found: dict[int, dict[str, None]] = defaultdict(dict)
    for row in groups.select(["scale", "group"]).to_pylist():
        found[row["scale"]][row["group"]] = None
    return {scale: list(names) for scale, names in found.items()}


def demanded(groups: pa.Table, scale: int) -> dict[str, tuple[float, float | None]]:
    """Group to the transactions and, where they are told, the rows per second that were demanded of it."""
    rows = groups.filter(pc.field("scale") == scale).to_pylist()
    return {row["group"]: (row["rate_per_s"], row["rows_per_s"])
            for row in rows if row["pacing"] in _RATED and row["rate_per_s"]}  # fmt: skip


def target(rate: tuple[float, float | None], group: GroupCounts) -> float:
    """Operations per second that were demanded of a group; rows where those are what it counts."""
    transactions, rows = rate
    if not group.rows:
        return transactions
    return rows or (transactions * group.total / group.transactions if group.transactions else nan)


def live_bytes(entry: Entry, cycles: pa.Table) -> dict[tuple[Series, int], float]:
    """Series and scale to the bytes of user data that are there after it: of rows that were inserted and not deleted.

    Empty for a workload that does not tell how many bytes a row has, or that fills tables before its first stage.
    """
    kinds = {kind.name: kind for kind in entry.kinds}
    bytes_of = {kind.row_bytes for kind in entry.kinds if kind.rows == "inserted"}
    if len(bytes_of) != 1 or not all(bytes_of):
        return {}
    (each,) = bytes_of
    gained: dict[tuple[int, Series], float] = defaultdict(float)
    for row in summed(cycles, ["scale", "stage", "clients", "kind"], "rows"):
        sign = {"inserted": 1, "deleted": -1}.get(kinds[row["kind"]].rows, 0) if row["kind"] in kinds else 0
        gained[row["scale"], Series(row["stage"], row["clients"])] += sign * row["rows_sum"]
    order = summed(cycles, ["scale", "stage", "clients"], "cycle", "min")
    there: dict[int, float] = defaultdict(float)
    found = {}
    for row in sorted(order, key=lambda row: row["cycle_min"]):
        key = Series(row["stage"], row["clients"])
        there[row["scale"]] += gained[row["scale"], key]
        found[key, row["scale"]] = there[row["scale"]] * each
    return found


def inserted_bytes(cycles: pa.Table, scale: int, kinds: Mapping[str, Kind]) -> float:
    """User data in the rows that were inserted at ``scale``; nan where the workload does not tell."""
    total = 0.0
    for row in summed(cycles.filter(pc.field("scale") == scale), ["kind"], "rows"):
        kind = kinds.get(row["kind"])
        if kind is not None and kind.rows == "inserted":
            total += row["rows_sum"] * kind.row_bytes
    return total or nan


def taken_from(cycles: pa.Table, groups: pa.Table, monitors: pa.Table) -> dict[int, dict[str, float]]:
    """Scale to the fields of ``Spent`` that come from counters; only those that every cycle knows."""
    chosen = pc.field("monitor").isin(["os", "device"])
    table = monitors.filter(chosen & pc.ends_with(pc.field("unit"), " total"))
    series, number = grouped(table, ("scale", "cycle", "monitor", "metric"))
    if not series:
        return {}
    at = whole(table, "at_ns")
    names, gain, span_s, _ = gains(number, at, table["value"].to_numpy(), durations_ns(groups, table))
    gained: dict[tuple[int, str, str], float] = defaultdict(float)
    seen: dict[tuple[int, str, str], int] = defaultdict(int)
    longest: dict[tuple[int, int, str], float] = defaultdict(float)
    for name, more, span in zip(names, gain, span_s, strict=True):
        scale, cycle, monitor, metric = series[int(name)]
        gained[scale, monitor, metric] += float(more)
        seen[scale, monitor, metric] += 1
        longest[scale, cycle, monitor] = max(longest[scale, cycle, monitor], float(span))
    cycles_of = {row["scale"]: row["cycle_count_distinct"]
                 for row in summed(cycles, ["scale"], "cycle", "count_distinct")}  # fmt: skip
    known = {key: total for key, total in gained.items() if seen[key] == cycles_of.get(key[0])}
    return {scale: _fields(known, longest, scale) for scale in cycles_of}


def _fields(
    known: Mapping[tuple[int, str, str], float], longest: Mapping[tuple[int, int, str], float], scale: int
) -> dict[str, float]:
    found = {}
    for name, (monitor, metrics) in _COUNTERS.items():
        there = [known.get((scale, monitor, metric), 0.0 if metric in _MAY_LACK else nan) for metric in metrics]
        found[name] = sum(there)
    for name, monitor in _SPANS.items():
        found[name] = sum(span for (x, _, of), span in longest.items() if (x, of) == (scale, monitor)) or nan
    return found


def last_sizes(monitors: pa.Table) -> dict[tuple[int, str], float]:
    """(scale, ``database``, ``directory`` or ``resident``) to the last size in bytes."""
    rows = monitors.filter(pc.field("monitor") == "sizes").sort_by([("cycle", "ascending"), ("at_ns", "ascending")])
    return {(row["scale"], row["metric"].removesuffix("_size")): row["value"] for row in rows.to_pylist()}
