"""What else each machine did in each cycle: as a table of text, and its cells for the page."""

from __future__ import annotations

from math import isnan, nan

from dsbench.read.evaluation.evaluated import Evaluation
from dsbench.read.evaluation.series import headings
from dsbench.read.stats.machine import CycleUse, programs

HEADS = (
    "scale", "cycle", "node", "CPUs", "dsbench", "server", "kernel", "others", "stolen", "idle", "waits CPU", "storage",
    "memory", "queued", "device MB", "own MB",
)  # fmt: skip
NOTE = (
    "CPU time in CPUs: 1 is one CPU all the time. Waits (PSI): share of the time in which some thread, of whomever, "
    "waited for it. Queued: server threads that waited for a CPU, on average. Device: read and written where the data "
    "lies; own: by dsbench and the server, as the kernel counts it, which may be far more (docs/method.md)."
)
UNKNOWN = "the archive does not tell what else the machine did: it is older, or was not made on Linux"


def rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The cells of one series, one row per scale, cycle and machine."""
    return [_row(scale, one) for scale, found in sorted(evaluation.machine.items()) for one in found]


def named(evaluation: Evaluation) -> list[str]:
    """A line for each cycle and machine in which other programs can be named."""
    lines = []
    for scale, found in sorted(evaluation.machine.items()):
        for one in found:
            where = f", node {one.node}" if one.node else ""
            if words := programs([one]).removeprefix(": "):
                lines.append(f"scale {scale}, cycle {one.cycle}{where}: {words}")
    return lines


def text(evaluation: Evaluation) -> str:
    """The table, by series, with the programs that used the machine beside the run."""
    names = headings(evaluation.series)
    parts = [(names[key], part) for key, part in evaluation.series.items()] or [("", evaluation)]
    lines = []
    for heading, part in parts:
        body = rows(part)
        if not body:
            continue
        shown = (HEADS, *body)
        widths = [max(len(row[at]) for row in shown) for at in range(len(HEADS))]
        lines += [heading] if heading else []
        lines += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in shown]
        lines += ["", *named(part), ""]
    return "\n".join([*lines, NOTE]) if lines else UNKNOWN


def _row(scale: int, one: CycleUse) -> tuple[str, ...]:
    use = one.use
    spent = (use.run_ns, use.server_ns, use.kernel_ns, use.others_ns, use.stolen_ns, use.idle_ns)
    waits = (use.cpu_pressure_ns, use.io_pressure_ns, use.memory_pressure_ns)
    return (
        str(scale), str(one.cycle), one.node or "–", str(use.cpus), *(_number(use.cpus_of(ns)) for ns in spent),
        *(_percent(use.pressure(ns)) for ns in waits), _number(use.cpus_of(use.queued_ns)), _mb(use.device_bytes),
        _mb(use.own_bytes),
    )  # fmt: skip


def _number(value: float) -> str:
    return "–" if isnan(value) else f"{value:.2f}"


def _percent(share: float) -> str:
    return "–" if isnan(share) else f"{share:.0%}"


def _mb(count: int | None) -> str:
    return _number(nan if count is None else count / 1e6)
