"""What a transaction cost, out of the samples of the monitors."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.analysis.resources import Counter, costs, gains
from dsbench.analysis.values import Resource
from dsbench.evaluation.arrow import grouped, whole
from dsbench.evaluation.groups import durations_ns
from dsbench.evaluation.measured import Measured


def resources(table: pa.Table, load: Mapping[int, Measured], groups: pa.Table) -> dict[int, tuple[Resource, ...]]:
    """Costs by scale out of the cumulative counters (their unit ends in " total")."""
    table = table.filter(pc.ends_with(table["unit"], " total"))
    keys = ("scale", "cycle", "node", "monitor", "metric", "unit")
    counters, number = grouped(table, keys)
    if not counters:
        return {}
    values = table["value"].to_numpy()
    gained = gains(number, whole(table, "at_ns"), values, durations_ns(groups, table))
    found: dict[int, list[Counter]] = {}
    for name, *figures in zip(*gained, strict=True):
        scale, cycle, _, monitor, metric, unit = counters[int(name)]
        found.setdefault(scale, []).append(Counter(monitor, metric, unit, cycle, *(float(one) for one in figures)))
    committed = {x: dict(zip(part.cycles.tolist(), part.by_cycle.tolist(), strict=True)) for x, part in load.items()}
    return {x: costs(rows, committed[x]) for x, rows in sorted(found.items())}
