"""What the machine gave to the stages: the counters of its device and CPUs around the cycles, and last sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import nan
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.arrow import grouped, whole
from dsbench.read.groups import durations_ns
from dsbench.read.operations import summed
from dsbench.read.stats.resources import gains

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
