"""What the machines of a run did around its cycles, out of the tables ``machine`` and ``programs``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import LOCAL
from dsbench.format import NONE
from dsbench.read.blocks import Block, Column, Listed, Part, Sentence, Table
from dsbench.read.groups import durations_ns, grouped, whole
from dsbench.read.series import label_series
from dsbench.read.subject import Result, Subject, computed
from dsbench.stats.machine import CycleUse, MachineUse, Program, programs
from dsbench.stats.resources import gains

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

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


_CPUS: Final = ("dsbench", "server", "kernel", "others", "stolen", "idle")
_COLUMNS: Final = (
    Column("scale"), Column("cycle"), Column("node", left=True), Column("CPUs"),
    *(Column(name, form=".2f") for name in _CPUS),
    *(Column(f"waits {name}", form=".0%") for name in ("CPU", "storage", "memory")),
    Column("queued", form=".2f"), Column("device", "MB", 1e-6), Column("own", "MB", 1e-6),
)  # fmt: skip
_NOTE: Final = (
    "CPU time in CPUs: 1 is one CPU all the time. Waits (PSI): share of the time in which at least one thread of "
    "any process waited. Queued: server threads that waited for a CPU, on average. Device: read from and written to "
    "the data disk; own: by dsbench and the server, by the kernel's count, which may exceed the device's by far "
    "(docs/method.md)."
)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """Who used the CPUs and the storage around each cycle, and which other programs did."""
    heads, parts = label_series(evaluation)
    found = [(said, scale, one) for said, part in parts
             for scale, cycles in sorted(part.of(MachineResult).machine.items()) for one in cycles]  # fmt: skip
    if not found:
        return
    yield Sentence(_NOTE, "note")
    yield Table("Machine by cycle", (*heads, *_COLUMNS), [(*said, *_row(scale, one)) for said, scale, one in found])
    if named := [line for _, scale, one in found if (line := _name_programs(scale, one))]:
        yield Part("Other programs", [Listed(named)], folded=True)


def _row(scale: int, one: CycleUse) -> tuple[object, ...]:
    use = one.use
    spent = (use.run_ns, use.server_ns, use.kernel_ns, use.others_ns, use.stolen_ns, use.idle_ns)
    waits = (use.cpu_pressure_ns, use.io_pressure_ns, use.memory_pressure_ns)
    return (
        scale, one.cycle, one.node or NONE, use.cpus, *(use.cpus_of(ns) for ns in spent),
        *(use.pressure(ns) for ns in waits), use.cpus_of(use.queued_ns), use.device_bytes, use.own_bytes,
    )  # fmt: skip


def _name_programs(scale: int, one: CycleUse) -> str:
    where = f", node {one.node}" if one.node else ""
    words = programs([one]).removeprefix(": ")
    return f"scale {scale}, cycle {one.cycle}{where}: {words}" if words else ""


class MachineResult(Result):
    machine: computed[Mapping[int, tuple[CycleUse, ...]]] = computed(
        lambda evaluation: uses(evaluation.rows.of_cycles("machine"), evaluation.rows.of_cycles("programs"))
    )
    """By scale: what each machine did beside the run in each cycle; empty where the archive does not tell."""
    checkpoints: computed[Mapping[int, tuple[int, ...]]] = computed(
        lambda evaluation: checkpoints(evaluation.rows.of_cycles("monitors"), evaluation.rows.groups)
    )
    """Scale to the cycles in which the server began a checkpoint; empty where it counts none."""


SUBJECT: Final = Subject(
    "machine", "Machine", MachineResult, tell=_tell,
    nothing="No cycle has samples of other load on the machine.",
)  # fmt: skip
