"""What the groups of clients did: their operations, demanded rates and courses, out of the tables of an archive.

An operation is a row where a kind of transaction inserts or deletes rows, else a transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.arrow import grouped, whole
from dsbench.read.groups import Series
from dsbench.read.measured import Measured
from dsbench.read.stats.values import Floats, Ints
from dsbench.workloads import Entry, Kind

_RATED: Final = ("constant", "poisson")
"""Pacings with a demanded rate."""


@dataclass(frozen=True)
class Counted:
    """What one group did at one scale."""

    operations: Mapping[int, float]
    """By cycle."""
    transactions: float
    rows: bool
    """Whether the operations are rows."""
    inserts: bool

    @property
    def total(self) -> float:
        return sum(self.operations.values())


def count(cycles: pa.Table, kinds: Mapping[str, Kind]) -> dict[tuple[int, str], Counted]:
    """(scale, group) to what it did."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    keys = ["scale", "cycle", "group", "kind"]
    for row in summed(cycles, keys, "rows", "sum", "committed"):
        found[row["scale"], row["group"]].append(row)
    result = {}
    for key, rows in found.items():
        operations: dict[int, float] = defaultdict(float)
        for row in rows:
            operations[row["cycle"]] += row["rows_sum"] if _of_rows(kinds, row["kind"]) else row["committed_sum"]
        # Clients that ended nothing are of what they tried.
        done = [row["kind"] for row in rows if row["committed_sum"]] or [row["kind"] for row in rows]
        result[key] = Counted(
            operations,
            sum(row["committed_sum"] for row in rows),
            any(_of_rows(kinds, kind) for kind in done),
            any(kind in kinds and kinds[kind].rows == "inserted" for kind in done),
        )
    return result


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


def target(rate: tuple[float, float | None], group: Counted) -> float:
    """Operations per second that were demanded of a group; rows where those are what it counts."""
    transactions, rows = rate
    if not group.rows:
        return transactions
    return rows or (transactions * group.total / group.transactions if group.transactions else nan)


def _of_rows(kinds: Mapping[str, Kind], kind: str) -> bool:
    return kind in kinds and bool(kinds[kind].rows)


def group_courses(
    entry: Entry, cycles: pa.Table, seconds: pa.Table, load: Mapping[int, Measured]
) -> dict[int, dict[str, Floats]]:
    """Scale to group to its course, one row per second of all cycles in order: operations and the longest time in ns.

    A second in which nothing ended has 0 and nan. The last second of a cycle may be a part of one.
    """
    kinds = {kind.name: kind for kind in entry.kinds}
    each: dict[tuple[int, str, str], float] = {}
    for row in summed(cycles, ["scale", "group", "kind"], "rows", "sum", "committed"):
        if _of_rows(kinds, row["kind"]) and row["committed_sum"]:
            each[row["scale"], row["group"], row["kind"]] = row["rows_sum"] / row["committed_sum"]
    found: dict[int, dict[str, Floats]] = defaultdict(dict)
    series, number = grouped(plain(seconds), ("scale", "group", "kind"))
    cycle, second, count, most = (whole(seconds, name) for name in ("cycle", "second", "count", "max_ns"))
    for at, (scale, group, kind) in enumerate(series):
        if scale not in load:
            continue
        lengths = _lengths(load[scale])
        course = found[scale].setdefault(group, np.stack([np.zeros(lengths.sum()), np.full(lengths.sum(), nan)], 1))
        of = np.minimum(np.searchsorted(load[scale].cycles, cycle), lengths.size - 1)
        here = (number == at) & (second < lengths[of])
        place = (np.cumsum(lengths) - lengths)[of[here]] + second[here]
        np.add.at(course[:, 0], place, count[here] * each.get((scale, group, kind), 1.0))
        np.fmax.at(course[:, 1], place, np.where(count[here] > 0, most[here].astype(float), nan))
    return dict(found)


def _lengths(part: Measured) -> Ints:
    """Seconds of each cycle, begun ones included."""
    return np.ceil(part.duration_s).astype(np.int64)


def whole_seconds(course: Floats, part: Measured) -> Floats:
    """Operations of those seconds that are whole ones."""
    lengths = _lengths(part)
    begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
    within = np.arange(course.shape[0]) - begins
    return np.asarray(course[within < np.repeat(np.floor(part.duration_s), lengths), 0])


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
    for row in summed(cycles, ["scale", "stage", "threads", "kind"], "rows"):
        sign = {"inserted": 1, "deleted": -1}.get(kinds[row["kind"]].rows, 0) if row["kind"] in kinds else 0
        gained[row["scale"], Series(row["stage"], row["threads"])] += sign * row["rows_sum"]
    order = summed(cycles, ["scale", "stage", "threads"], "cycle", "min")
    there: dict[int, float] = defaultdict(float)
    found = {}
    for row in sorted(order, key=lambda row: row["cycle_min"]):
        key = Series(row["stage"], row["threads"])
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


def summed(table: pa.Table, keys: Sequence[str], name: str, how: str = "sum", *more: str) -> list[dict[str, Any]]:
    """Rows of ``keys`` with ``name`` and ``more`` aggregated; 0 is the sum where no value is told."""
    texts = plain(table.select([*keys, name, *more]))
    wanted: list[Any] = [(one, how) for one in (name, *more)]
    rows: list[dict[str, Any]] = texts.group_by(list(keys)).aggregate(wanted).to_pylist()
    return [{key: 0 if value is None and key.endswith("_sum") else value for key, value in row.items()} for row in rows]


def plain(table: pa.Table) -> pa.Table:
    """With texts in place of dictionaries of them, which not all functions of Arrow take."""
    fields = [pa.field(one.name, pa.string() if pa.types.is_dictionary(one.type) else one.type) for one in table.schema]
    return table.cast(pa.schema(fields))
