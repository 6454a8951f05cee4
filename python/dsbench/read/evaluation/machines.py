"""What the machines of a run did around its cycles, out of the tables ``machine`` and ``programs``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import LOCAL
from dsbench.read.evaluation.arrow import grouped, whole
from dsbench.read.evaluation.groups import durations_ns
from dsbench.read.stats.machine import CycleUse, MachineUse, Program
from dsbench.read.stats.resources import gains

_USE = tuple(field.name for field in fields(MachineUse))


def uses(machine: pa.Table, programs: pa.Table) -> dict[int, tuple[CycleUse, ...]]:
    """By scale, in the order of cycles and nodes; empty in an archive that knows nothing of it."""
    named: dict[tuple[int, int, str], list[Program]] = defaultdict(list)
    for row in programs.to_pylist():
        program = Program(row["program"], row["pid"], row["part"] == "children", row["cpu_ns"], row["io_bytes"])
        named[row["scale"], row["cycle"], row["node"]].append(program)
    found: dict[int, list[CycleUse]] = defaultdict(list)
    for row in machine.to_pylist():
        key, node = (row["scale"], row["cycle"], row["node"]), row["node"] if row["node"] != LOCAL else ""
        use = MachineUse(**{name: row[name] for name in _USE})
        ordered = sorted(named[key], key=lambda one: (-one.cpu_ns, -(one.io_bytes or 0)))
        found[row["scale"]].append(CycleUse(use, tuple(ordered), row["cycle"], node))
    return {x: tuple(sorted(rows, key=lambda one: (one.cycle, one.node))) for x, rows in sorted(found.items())}


def checkpoints(monitors: pa.Table, groups: pa.Table) -> dict[int, tuple[int, ...]]:
    """Scale to the cycles in which the server began a checkpoint; only scales at which it counted them.

    Counters called ``checkpoints_…`` tell; a server without them, such as InnoDB, which writes all the time, has none.
    """
    chosen = (pc.field("monitor") == "server") & pc.starts_with(pc.field("metric"), "checkpoints_")
    table = monitors.filter(chosen & pc.ends_with(pc.field("unit"), " total"))
    counters, series = grouped(table, ("scale", "cycle", "metric"))
    if not counters:
        return {}
    names, gain, *_ = gains(series, whole(table, "at_ns"), table["value"].to_numpy(), durations_ns(groups, table))
    found: dict[int, set[int]] = {scale: set() for scale, _cycle, _metric in counters}
    for name, gained in zip(names, gain, strict=True):
        scale, cycle, _metric = counters[int(name)]
        if gained > 0:
            found[scale].add(cycle)
    return {x: tuple(sorted(cycles)) for x, cycles in sorted(found.items())}
