"""``python -m bench.cluster``: what the coordinator costs with more and more nodes, as a table.

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
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

import dsbench
from bench.clients import BenchError, run
from fixtures.network import Network

CYCLES: Final = 4
ENGINE: Final = "mock:?latency_us=50000"
"""Twenty transactions per second of each node: enough to fill histograms, too few to load a processor."""
HEADS: Final = (
    "nodes",
    # CPU time of the coordinator per second of a cycle: beats, progress, monitors of its own machine.
    "CPU in a cycle [ms/s]",
    # The same from the end of a cycle to the start of the next: results in, archive written, start arranged.
    "CPU between cycles [ms]",
    "memory [MiB]",
    # Sent and received by a node per second of a cycle: nothing else uses its network.
    "control per node [B/s]",
    # How long before the start it is announced; what was left of it when the last node was armed, in the worst cycle.
    "lead [ms]", "left when armed [ms]",
    # Between the first and the last start of a node, by the clock they share here, in the worst cycle.
    "start skew [ms]",
    # The largest error that an estimate of a clock claimed.
    "clock error [ms]",
)  # fmt: skip


def main() -> None:
    """Measures and prints the figures and, with several numbers of nodes, straight lines through them up to 1000."""
    parser = argparse.ArgumentParser("python -m bench.cluster", description=__doc__)
    parser.add_argument("--nodes", default="1,8,32", help="numbers of nodes")
    parser.add_argument("--duration", default=5.0, type=float, help="seconds of a cycle")
    asked = parser.parse_args()
    rows = []
    for nodes in (int(part) for part in asked.nodes.split(",")):
        print(f"{nodes} nodes …", file=sys.stderr, flush=True)
        rows.append(measure(nodes, asked.duration))
    print(f"| {' | '.join(HEADS)} |\n{'|--:' * len(HEADS)}|")
    for row in rows:
        print(f"| {' | '.join(f'{value:.4g}' for value in row)} |")
    for at in (1, 2, 3) if len(rows) > 1 else ():
        slope, base = np.polyfit([row[0] for row in rows], [row[at] for row in rows], 1)
        print(f"\n{HEADS[at]}: {base:.3g} + {slope:.3g} per node, {base + 1000 * slope:,.0f} at 1000", end="")
    print()


def measure(nodes: int, duration_s: float) -> list[float]:
    """One run with ``nodes`` nodes: the figures of ``HEADS``."""
    own = [sys.executable, "-m", "dsbench"]
    with tempfile.TemporaryDirectory(prefix="dsbench-cluster-") as folder, Network(nodes) as network:
        bundles, out = Path(folder, "cluster"), Path(folder, "archives")
        run([*own, "cluster", "invite", "--nodes", f"{nodes}", "--address", network.host, "--out", str(bundles)])
        joined = [
            subprocess.Popen(
                [*network.within(at), *own, "cluster", "node", "--join", str(bundle), "--name", f"n{at}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            for at, bundle in enumerate(sorted(bundles.glob("node-*.bundle")), 1)
        ]  # fmt: skip
        try:
            run([
                *own, "run", ENGINE, "--nodes", f"{nodes}", "--clients", "1", "--scales", "1", "--cycles", f"{CYCLES}",
                "--duration", f"{duration_s}", "--cluster", str(bundles), "--out", str(out),
            ], limit_s=600)  # fmt: skip
        finally:
            for node in joined:
                node.terminate()
            for node in joined:
                node.wait(60)
        (path,) = (path for path in out.iterdir() if path.is_dir())
        archive = dsbench.open(path)
        return _figures(nodes, duration_s, *(archive.table(name).to_pylist() for name in ("monitors", "nodes")))


def _figures(nodes: int, duration_s: float, rows: list[dict[str, Any]], taken: list[dict[str, Any]]) -> list[float]:
    def by_cycle(local: bool, monitor: str, metrics: Sequence[str]) -> list[tuple[float, float, float, float]]:
        """By cycle: time in s and sum of the values, of the first sample within it and of the last."""
        found = []
        for cycle in range(1, CYCLES + 1):
            series: dict[tuple[str, str], list[tuple[int, float]]] = {}
            for row in rows:
                if (row["node"] == "local", row["monitor"], row["cycle"]) == (local, monitor, cycle) and (
                    row["metric"] in metrics and 0 < row["at_ns"] <= (duration_s - 0.5) * 1e9
                ):
                    series.setdefault((row["node"], row["metric"]), []).append((row["at_ns"], row["value"]))
            points = [sorted(each) for each in series.values()]
            first, last = (sum(each[at][1] for each in points) for at in (0, -1))
            found.append((points[0][0][0] / 1e9, first, points[0][-1][0] / 1e9, last))
        return found

    def per_s(cycles: Sequence[tuple[float, float, float, float]]) -> float:
        return float(np.mean([(last - first) / (end - begin) for begin, first, end, last in cycles]))

    cpu = by_cycle(True, "client", ("cpu_user", "cpu_system"))
    inside, ends_s = per_s(cpu), duration_s + cpu[0][0] - cpu[0][2]  # of a cycle, before and after its samples
    between = [after[1] - before[3] - inside * ends_s for before, after in pairwise(cpu)]
    own = ("local", "client", "resident_memory")
    memory = [row["value"] for row in rows if (row["node"], row["monitor"], row["metric"]) == own]
    starts = [[row["start_late_ns"] for row in taken if row["cycle"] == cycle] for cycle in range(1, CYCLES + 1)]
    return [
        nodes, inside * 1e3, float(np.mean(between)) * 1e3, max(memory) / 2**20,
        per_s(by_cycle(False, "network", ("sent_bytes", "received_bytes"))) / nodes, 150 + 11 * nodes,
        min(row["armed_before_ns"] for row in taken) / 1e6, max(max(late) - min(late) for late in starts) / 1e6,
        max(row["clock_error_ns"] for row in taken) / 1e6,
    ]  # fmt: skip


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("error: making networks needs root")
    try:
        main()
    except BenchError as error:
        sys.exit(f"error: {error}")
