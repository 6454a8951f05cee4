"""What a transaction cost, out of the samples of the monitors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import nan
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import LOCAL
from dsbench.read.arrow import grouped, whole
from dsbench.read.groups import durations_ns, ramp_ups_ns
from dsbench.read.measured import Measured
from dsbench.read.stats.fairness import Evenness, evenness, irregularity
from dsbench.read.stats.resources import Counter, costs, gains
from dsbench.read.stats.values import Resource
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

def resources(table: pa.Table, load: Mapping[int, Measured], groups: pa.Table) -> dict[int, tuple[Resource, ...]]:
    """Costs by scale out of the cumulative counters (their unit ends in " total")."""
    table = table.filter(pc.ends_with(table["unit"], " total"))
    keys = ("scale", "cycle", "node", "monitor", "metric", "unit")
    counters, number = grouped(table, keys)
    if not counters:
        return {}
    values = table["value"].to_numpy()
    of_cycles = durations_ns(groups, table), ramp_ups_ns(groups, table)
    gained = gains(number, whole(table, "at_ns"), values, *of_cycles)
    found: dict[int, list[Counter]] = {}
    told: dict[tuple[int, int, str, str, str], set[str]] = defaultdict(set)
    for name, *figures in zip(*gained, strict=True):
        scale, cycle, node, monitor, metric, unit = counters[int(name)]
        found.setdefault(scale, []).append(Counter(monitor, metric, unit, cycle, *(float(one) for one in figures)))
        told[scale, cycle, monitor, metric, unit].add(node)
    for (scale, cycle, monitor, metric, unit), nodes in told.items():
        if nodes != {LOCAL} and not _makers(load[scale], cycle) <= nodes:
            found[scale].append(Counter(monitor, metric, unit, cycle, nan, 0.0))
    committed = {x: dict(zip(part.cycles.tolist(), part.by_cycle.tolist(), strict=True)) for x, part in load.items()}
    return {x: costs(rows, committed[x]) for x, rows in sorted(found.items())}


def _makers(part: Measured, cycle: int) -> set[str]:
    """The nodes that made the load of a cycle: a counter that one of them lacks is no counter of all."""
    return {node for node, there in zip(part.nodes, part.present[part.cycles == cycle][0], strict=True) if there}


def _read_evenness(evaluation: Evaluation) -> dict[int, Evenness]:
    """By scale, where all clients are of one group and there are several."""
    rows = evaluation.rows
    if len(set(rows.of_cycles("groups")["group"].to_pylist())) != 1:
        return {}
    found = {
        x: evenness(part.cycles, part["committed"], part.present, irregularity(evaluation.frequency.get(x)))
        for x, part in rows.load.items()
    }
    return {x: one for x, one in found.items() if one is not None}


SUBJECT: Final = Subject(
    "cost", "Cost of a transaction",
    reads={
        "resources": lambda evaluation: resources(
            evaluation.rows.monitors, evaluation.rows.load, evaluation.rows.groups
        ),
        "evenness": _read_evenness,
    },
)  # fmt: skip
