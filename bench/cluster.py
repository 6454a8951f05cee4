"""``python -m bench.cluster``: what the coordinator costs with more and more nodes, as a table for docs/cluster.md.

The nodes are real ones, each in a network namespace of its own on this machine. Their engine is the mock, at a rate
that leaves the processors to the coordinator: all that is measured is the cluster itself. Needs root.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench.network import Network
from bench.process import BenchError
from dsbench.archive import LOCAL, Archive
from dsbench.measure.nodes.bundle import Invitation, invite

_CYCLES = 4
_ENGINE = "mock:?latency_us=50000"
"""Twenty transactions per second of each node: enough to fill histograms, too few to load a processor."""


@dataclass(frozen=True)
class Cost:
    """What the coordinator of ``nodes`` nodes took."""

    nodes: int
    inside_ms: float
    """CPU time per second of a cycle in ms: beats, progress, monitors of its own machine."""
    between_ms: float
    """CPU time from the end of a cycle to the start of the next in ms: results in, archive written, start arranged."""
    resident_mib: float
    control_bytes: float
    """Sent and received by a node per second of a cycle: nothing else uses its network."""
    lead_ms: float
    """How long before the start it was announced."""
    armed_ms: float
    """What was left of it when the last node was armed, in the worst cycle."""
    skew_ms: float
    """Between the first and the last start of a node, by the clock they share here; the worst cycle."""
    error_ms: float
    """Largest error that a clock estimate claimed."""


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser("python -m bench.cluster", description=__doc__)
    parser.add_argument("--nodes", default="1,8,32", help="numbers of nodes")
    parser.add_argument("--duration", default=5.0, type=float, help="seconds of a cycle")
    asked = parser.parse_args()
    costs = []
    for nodes in (int(part) for part in asked.nodes.split(",")):
        print(f"{nodes} nodes …", file=sys.stderr, flush=True)
        costs.append(measure(nodes, asked.duration))
    print("\n".join(table(costs)))


def measure(nodes: int, duration_s: float) -> Cost:
    """One run with ``nodes`` nodes."""
    with tempfile.TemporaryDirectory(prefix="dsbench-cluster-") as name, Network(nodes) as network:
        folder = Path(name)
        invitation = invite(folder / "cluster", nodes, network.host)
        joined = [_node(invitation, network, number) for number in range(1, nodes + 1)]
        try:
            command = [
                *_program("run", _ENGINE, "--nodes", str(nodes), "--threads", "1", "--scales", "1"),
                *("--cycles", str(_CYCLES), "--duration", str(duration_s)),
            ]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
            if done.returncode != 0:
                raise BenchError(f"{nodes} nodes: {done.stderr}")
        finally:
            for node in joined:
                node.terminate()
            for node in joined:
                node.wait(60)
        (path,) = (p for p in (folder / "archives").iterdir() if p.is_dir())
        return _cost(nodes, Archive.open(path), duration_s)


def _node(invitation: Invitation, network: Network, number: int) -> subprocess.Popen[bytes]:
    bundle = str(invitation.bundles[number - 1])
    command = [*network.within(number), *_program("node", "--join", bundle, "--name", f"n{number}")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dsbench", *arguments]


def _cost(nodes: int, archive: Archive, duration_s: float) -> Cost:
    rows = archive.table("monitors").to_pylist()
    own = [r for r in rows if r["node"] == LOCAL and r["monitor"] == "client"]
    cpu = _by_cycle([r for r in own if r["metric"] in ("cpu_user", "cpu_system")], duration_s)
    inside = float(np.mean([_per_s(points) for points in cpu]))
    ends_s = duration_s + (cpu[0][0][0] - cpu[0][-1][0]) / 1e9  # of a cycle, before and after its samples
    between = [after[0][1] - before[-1][1] - inside * ends_s for before, after in pairwise(cpu)]
    control = [r for r in rows if r["node"] != LOCAL and r["monitor"] == "network"]
    control = [r for r in control if r["metric"] in ("sent_bytes", "received_bytes")]
    traffic = [_per_s(points) for points in _by_cycle(control, duration_s)]
    taken = archive.table("nodes").to_pylist()
    starts = [[r["start_late_ns"] for r in taken if r["cycle"] == cycle] for cycle in range(1, _CYCLES + 1)]
    return Cost(
        nodes,
        inside_ms=inside * 1e3,
        between_ms=float(np.mean(between)) * 1e3,
        resident_mib=max(r["value"] for r in own if r["metric"] == "resident_memory") / 2**20,
        control_bytes=float(np.mean(traffic)) / nodes,
        lead_ms=150 + 11 * nodes,
        armed_ms=min(r["armed_before_ns"] for r in taken) / 1e6,
        skew_ms=max(max(late) - min(late) for late in starts) / 1e6,
        error_ms=max(r["clock_error_ns"] for r in taken) / 1e6,
    )


def _per_s(points: Sequence[tuple[int, float]]) -> float:
    return (points[-1][1] - points[0][1]) / ((points[-1][0] - points[0][0]) / 1e9)


def _by_cycle(rows: Sequence[dict[str, Any]], duration_s: float) -> list[list[tuple[int, float]]]:
    """By cycle: (time, sum of the values of all nodes and metrics) of the first and the last sample within it."""
    cycles = []
    for cycle in range(1, _CYCLES + 1):
        series: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for r in rows:
            if r["cycle"] == cycle and 0 < r["at_ns"] <= (duration_s - 0.5) * 1e9:
                series.setdefault((r["node"], r["metric"]), []).append((r["at_ns"], r["value"]))
        points = [sorted(found) for found in series.values()]
        cycles.append([(points[0][at][0], sum(found[at][1] for found in points)) for at in (0, -1)])
    return cycles


def table(costs: Sequence[Cost]) -> list[str]:
    """The figures and, with more than one number of nodes, the straight line through them up to 1000."""
    heads = [
        "nodes", "CPU in a cycle [ms/s]", "CPU between cycles [ms]", "memory [MiB]", "control per node [B/s]",
        "lead [ms]", "left when armed [ms]", "start skew [ms]", "clock error [ms]",
    ]  # fmt: skip
    body = [[f"{value:.4g}" for value in vars(cost).values()] for cost in costs]
    lines = [_row(heads), "|--:" * len(heads) + "|", *(_row(row) for row in body)]
    if len(costs) > 1:
        lines.append("")
        for name in ("inside_ms", "between_ms", "resident_mib"):
            slope, base = np.polyfit([cost.nodes for cost in costs], [getattr(cost, name) for cost in costs], 1)
            lines.append(f"{name}: {base:.3g} + {slope:.3g} per node, {base + 1000 * slope:,.0f} at 1000")
    return lines


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("error: making networks needs root")
    main()
