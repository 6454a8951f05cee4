"""What each stage reached and took, out of the tables of an archive: see ``analysis.efficiency``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.analysis import histogram as hist
from dsbench.analysis.efficiency import Background, Efficiency, Spent, Times, in_buckets, values
from dsbench.analysis.resources import gains
from dsbench.analysis.values import Floats, Ints
from dsbench.archive.record import StageAsked
from dsbench.evaluation.arrow import grouped, whole
from dsbench.evaluation.evaluated import Series
from dsbench.evaluation.groups import durations_ns
from dsbench.evaluation.measured import Measured
from dsbench.workloads import Entry, Kind

_RATED: Final = ("constant", "poisson")
"""Pacings with a demanded rate."""


@dataclass(frozen=True)
class Tables:
    """Those of one series."""

    cycles: pa.Table
    groups: pa.Table
    buckets: pa.Table
    """With response times of all groups where one has them."""
    monitors: pa.Table
    """Of the system under test."""


@dataclass(frozen=True)
class _Counted:
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


def efficiencies(
    entry: Entry, tables: Tables, load: Mapping[int, Measured], courses: Mapping[int, Mapping[str, Floats]],
    live: Mapping[int, float],
) -> dict[int, Efficiency]:
    """By scale; ``courses`` are those of ``group_courses``, ``live`` the bytes of user data at the end."""
    kinds = {kind.name: kind for kind in entry.kinds}
    names = _in_order(tables.groups)
    counts = _counts(tables.cycles, kinds)
    taken, sizes = _taken(tables), _sizes(tables.monitors)
    found = {}
    for scale, part in load.items():
        here = {name: counts[scale, name] for name in names.get(scale, ()) if (scale, name) in counts}
        if not here:
            continue
        rated = _rates(tables.groups, scale)
        measured = next((name for name in here if name not in rated), next(iter(here)))
        one, spans = here[measured], taken.get(scale, {})
        times = _times(tables.buckets, scale)
        inserting = [group.total for group in here.values() if group.inserts]
        spent = Spent(
            duration_s=part.measured_s,
            operations=one.total,
            inserts=one.inserts,
            inserted=sum(inserting) if inserting else nan,
            **spans,
            **_last(sizes, scale),
            longest_ns=float(times[measured].max_ns) if measured in times else nan,
            rates=_whole(courses[scale][measured], part) if measured in courses.get(scale, {}) else np.empty(0),
            written_bytes=_bytes(tables.cycles, scale, kinds),
            live_bytes=live.get(scale, nan),
        )
        background = tuple(
            Background(name, "rows" if group.rows else "transactions", _target(rated[name], group),
                       group.total / part.measured_s, group.inserts)
            for name, group in here.items() if name != measured and name in rated
        )  # fmt: skip
        found[scale] = Efficiency(
            measured, "rows" if one.rows else "transactions", values(spent), background, times
        )
    return found


def timed(
    stages: Sequence[StageAsked], phases: pa.Table, monitors: pa.Table, live: Mapping[tuple[Series, int], float]
) -> dict[Series, dict[int, Efficiency]]:
    """Stages of statements that are timed: what they went through and took, by scale. ``monitors`` are those of the
    system under test; ``live`` is what ``live_bytes`` gives."""
    found: dict[Series, dict[int, Efficiency]] = {}
    rows = phases.select(["scale", "stage", "cycle", "phase", "duration_ns", "rows"]).to_pylist()
    there: dict[int, float] = {}
    for stage in stages:
        there |= {scale: size for (key, scale), size in live.items() if key.stage == stage.name}
        here = [row for row in rows if row["stage"] == row["phase"] == stage.name]
        if stage.work != "work" or not here:
            continue
        own = pa.Table.from_pylist(here)
        of_stage = monitors.filter((pc.field("stage") == stage.name) & (pc.field("cycle") == 0))
        known = of_stage.filter(pa.array(np.isin(whole(of_stage, "scale"), whole(own, "scale")), pa.bool_()))
        tables = Tables(own, own, pa.table({}), known)
        taken, sizes = _taken(tables), _sizes(known)
        found[Series(stage.name, 0)] = {
            row["scale"]: _of_statements(row, taken, sizes, there.get(row["scale"], nan)) for row in here
        }
    return found


def _of_statements(
    row: Mapping[str, Any], taken: Mapping[int, dict[str, float]], sizes: Mapping[tuple[int, str], float], live: float
) -> Efficiency:
    scale, rows = row["scale"], float(row["rows"] or nan)
    known: dict[str, Any] = {**taken.get(scale, {}), **_last(sizes, scale)}
    spent = Spent(row["duration_ns"] / 1e9, rows, inserts=True, inserted=rows, live_bytes=live, **known)
    return Efficiency("", "rows", values(spent))


def _last(sizes: Mapping[tuple[int, str], float], scale: int) -> dict[str, float]:
    return {f"{name}_bytes": sizes.get((scale, name), nan) for name in ("database", "directory", "resident")}


def group_courses(
    entry: Entry, cycles: pa.Table, seconds: pa.Table, load: Mapping[int, Measured]
) -> dict[int, dict[str, Floats]]:
    """Scale to group to its course, one row per second of all cycles in order: operations and the longest time in ns.

    A second in which nothing ended has 0 and nan. The last second of a cycle may be a part of one.
    """
    kinds = {kind.name: kind for kind in entry.kinds}
    each: dict[tuple[int, str, str], float] = {}
    for row in _summed(cycles, ["scale", "group", "kind"], "rows", "sum", "committed"):
        if _of_rows(kinds, row["kind"]) and row["committed_sum"]:
            each[row["scale"], row["group"], row["kind"]] = row["rows_sum"] / row["committed_sum"]
    found: dict[int, dict[str, Floats]] = defaultdict(dict)
    series, number = grouped(_plain(seconds), ("scale", "group", "kind"))
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


def _whole(course: Floats, part: Measured) -> Floats:
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
    for row in _summed(cycles, ["scale", "stage", "threads", "kind"], "rows"):
        sign = {"inserted": 1, "deleted": -1}.get(kinds[row["kind"]].rows, 0) if row["kind"] in kinds else 0
        gained[row["scale"], Series(row["stage"], row["threads"])] += sign * row["rows_sum"]
    order = _summed(cycles, ["scale", "stage", "threads"], "cycle", "min")
    there: dict[int, float] = defaultdict(float)
    found = {}
    for row in sorted(order, key=lambda row: row["cycle_min"]):
        key = Series(row["stage"], row["threads"])
        there[row["scale"]] += gained[row["scale"], key]
        found[key, row["scale"]] = there[row["scale"]] * each
    return found


def _in_order(groups: pa.Table) -> dict[int, list[str]]:
    """Scale to its groups, in the order of the workload."""
    found: dict[int, dict[str, None]] = defaultdict(dict)
    for row in groups.select(["scale", "group"]).to_pylist():
        found[row["scale"]][row["group"]] = None
    return {scale: list(names) for scale, names in found.items()}


def _rates(groups: pa.Table, scale: int) -> dict[str, tuple[float, float | None]]:
    """Group to the transactions and, where they are told, the rows per second that were demanded of it."""
    rows = groups.filter(pc.field("scale") == scale).to_pylist()
    return {row["group"]: (row["rate_per_s"], row["rows_per_s"])
            for row in rows if row["pacing"] in _RATED and row["rate_per_s"]}  # fmt: skip


def _target(rate: tuple[float, float | None], group: _Counted) -> float:
    """Operations per second that were demanded of a group; rows where those are what it counts."""
    transactions, rows = rate
    if not group.rows:
        return transactions
    return rows or (transactions * group.total / group.transactions if group.transactions else nan)


def _counts(cycles: pa.Table, kinds: Mapping[str, Kind]) -> dict[tuple[int, str], _Counted]:
    """(scale, group) to what it did."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    keys = ["scale", "cycle", "group", "kind"]
    for row in _summed(cycles, keys, "rows", "sum", "committed"):
        found[row["scale"], row["group"]].append(row)
    result = {}
    for key, rows in found.items():
        operations: dict[int, float] = defaultdict(float)
        for row in rows:
            operations[row["cycle"]] += row["rows_sum"] if _of_rows(kinds, row["kind"]) else row["committed_sum"]
        done = [row["kind"] for row in rows if row["committed_sum"]]
        result[key] = _Counted(
            operations,
            sum(row["committed_sum"] for row in rows),
            any(_of_rows(kinds, kind) for kind in done),
            any(kind in kinds and kinds[kind].rows == "inserted" for kind in done),
        )
    return result


def _of_rows(kinds: Mapping[str, Kind], kind: str) -> bool:
    return kind in kinds and bool(kinds[kind].rows)


def _summed(table: pa.Table, keys: Sequence[str], name: str, how: str = "sum", *more: str) -> list[dict[str, Any]]:
    """Rows of ``keys`` with ``name`` and ``more`` aggregated; 0 is the sum where no value is told."""
    plain = _plain(table.select([*keys, name, *more]))
    wanted: list[Any] = [(one, how) for one in (name, *more)]
    rows: list[dict[str, Any]] = plain.group_by(list(keys)).aggregate(wanted).to_pylist()
    return [{key: 0 if value is None and key.endswith("_sum") else value for key, value in row.items()} for row in rows]


def _plain(table: pa.Table) -> pa.Table:
    """With texts in place of dictionaries of them, which not all functions of Arrow take."""
    fields = [pa.field(one.name, pa.string() if pa.types.is_dictionary(one.type) else one.type) for one in table.schema]
    return table.cast(pa.schema(fields))


def _bytes(cycles: pa.Table, scale: int, kinds: Mapping[str, Kind]) -> float:
    """User data in the rows that were inserted at ``scale``; nan where the workload does not tell."""
    total = 0.0
    for row in _summed(cycles.filter(pc.field("scale") == scale), ["kind"], "rows"):
        kind = kinds.get(row["kind"])
        if kind is not None and kind.rows == "inserted":
            total += row["rows_sum"] * kind.row_bytes
    return total or nan


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


def _taken(tables: Tables) -> dict[int, dict[str, float]]:
    """Scale to the fields of ``Spent`` that come from counters; only those that every cycle knows."""
    chosen = pc.field("monitor").isin(["os", "device"])
    table = tables.monitors.filter(chosen & pc.ends_with(pc.field("unit"), " total"))
    series, number = grouped(table, ("scale", "cycle", "monitor", "metric"))
    if not series:
        return {}
    at = whole(table, "at_ns")
    names, gain, span_s, _ = gains(number, at, table["value"].to_numpy(), durations_ns(tables.groups, table))
    gained: dict[tuple[int, str, str], float] = defaultdict(float)
    seen: dict[tuple[int, str, str], int] = defaultdict(int)
    longest: dict[tuple[int, int, str], float] = defaultdict(float)
    for name, more, span in zip(names, gain, span_s, strict=True):
        scale, cycle, monitor, metric = series[int(name)]
        gained[scale, monitor, metric] += float(more)
        seen[scale, monitor, metric] += 1
        longest[scale, cycle, monitor] = max(longest[scale, cycle, monitor], float(span))
    cycles = {row["scale"]: row["cycle_count_distinct"]
              for row in _summed(tables.cycles, ["scale"], "cycle", "count_distinct")}  # fmt: skip
    known = {key: total for key, total in gained.items() if seen[key] == cycles.get(key[0])}
    return {scale: _fields(known, longest, scale) for scale in cycles}


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


def _sizes(monitors: pa.Table) -> dict[tuple[int, str], float]:
    """(scale, ``database``, ``directory`` or ``resident``) to the last size in bytes."""
    rows = monitors.filter(pc.field("monitor") == "sizes").sort_by([("cycle", "ascending"), ("at_ns", "ascending")])
    return {(row["scale"], row["metric"].removesuffix("_size")): row["value"] for row in rows.to_pylist()}


def _times(buckets: pa.Table, scale: int) -> dict[str, Times]:
    """Group to its response times; residence times where no group has a rate."""
    here = buckets.filter(pc.field("scale") == scale)
    response = here.filter(pc.field("measure") == "response")
    chosen = response if response.num_rows else here.filter(pc.field("measure") == "residence")
    chosen = _plain(chosen)
    names, number = grouped(chosen, ("group",))
    low, high, count = (whole(chosen, name) for name in ("low_ns", "high_ns", "count"))
    found = {}
    for at, (name,) in enumerate(names):
        of = number == at
        values = hist.histogram(low[of], high[of], count[of])
        if values.count:
            found[name] = in_buckets(values)
    return found
