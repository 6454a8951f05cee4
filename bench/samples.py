"""``python -m bench.samples``: what sampling the sessions costs, in pairs of runs with it and without it in turn.

Both runs of a pair have one database on one private server, and cycles of the same length. The cost is the geometric
mean of the pairs' ratios of rates, with its 95 % interval (Student's t of their logarithms).
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from scipy import stats

import dsbench
from dsbench import servers
from dsbench.spec import RunSpec
from dsbench.spec import Target as TargetSpec

GOALS = {"select": 0.01, "tpcb": 0.005}
CLIENTS = 8
LOOKS = RunSpec().samples


@dataclass(frozen=True)
class Cost:
    """The share of the rate that sampling takes, and its bounds."""

    share: float
    low: float
    high: float


def main() -> None:
    """Measures each product and workload, and prints a line for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.samples", description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10, help="pairs of runs, three at least [10]")
    parser.add_argument("--duration", type=float, default=3.0, help="seconds of a cycle [3]")
    parser.add_argument("--only", default="", help="what has this text in its name, such as postgresql select")
    asked = parser.parse_args()
    if asked.pairs < 3:
        parser.error("--pairs: three at least, as an interval is told")
    missed = False
    print(f"{CLIENTS} clients, {asked.pairs} pairs of cycles of {asked.duration:g} s, {LOOKS} looks a second")
    for product in ("postgresql", "mariadb"):
        for workload, goal in GOALS.items():
            if asked.only in f"{product} {workload}":
                cost = measure(product, workload, asked.pairs, asked.duration)
                words = "met" if cost.high <= goal else "missed" if cost.low > goal else "not told apart"
                missed |= words == "missed"
                print(f"{product:10} {workload:6} {cost.share:6.2%} of the rate ({cost.low:.2%} to {cost.high:.2%});"
                      f" goal {goal:.1%}: {words}; load {os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
    sys.exit(missed)


def _rate(url: str, workload: str, duration: float, samples: float, out: Path, reuse: bool) -> float:
    archive = dsbench.run(
        url, workload=workload, scales=(10,), cycles=1, duration=duration, threads=CLIENTS, keep=True, reuse=reuse,
        samples=samples, placement="free", out=out,
    )  # fmt: skip
    return float(archive.table("cycles")["committed"].to_numpy().sum()) / duration


def measure(product: str, workload: str, pairs: int, duration: float) -> Cost:
    """The cost there; negative where the runs with sampling were faster."""
    target = TargetSpec(url=f"private:{product}")
    with tempfile.TemporaryDirectory() as folder, servers.start(target, CLIENTS) as server:
        rate = partial(_rate, server.url, workload, duration, out=Path(folder))
        rate(LOOKS, reuse=False)
        logs = []
        for pair in range(pairs):
            first, second = (LOOKS, 0) if pair % 2 else (0, LOOKS)
            found = {samples: rate(samples, reuse=True) for samples in (first, second)}
            logs.append(math.log(found[LOOKS] / found[0]))
    mean = statistics.mean(logs)
    reach = stats.t.ppf(0.975, pairs - 1) * statistics.stdev(logs) / math.sqrt(pairs)
    low, high = 1 - math.exp(mean + reach), 1 - math.exp(mean - reach)
    return Cost(1 - math.exp(mean), low, high)


if __name__ == "__main__":
    main()
