"""dsbench as a load generator: one cycle in a process of its own, like every other client here.

``python -m bench.load JSON`` runs the cycle and prints what it cost as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil

from bench.process import BenchError, Measured, run
from dsbench.archive.columns import COUNTERS
from dsbench.measure.loaders import Bench, Target, now_ns
from dsbench.spec import RunSpec
from dsbench.spec import Target as TargetSpec


@dataclass(frozen=True)
class Cycle:
    """One cycle: its settings have the names of the specification."""

    url: str
    workload: str
    threads: int
    duration: float
    scale: int = 1
    call: str | None = None
    prepare: bool = True
    carriers: int = 0
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the specification."""


@dataclass(frozen=True)
class Memory:
    """Resident size of the process in bytes."""

    before: int
    """Before the clients' threads start."""
    connected: int
    """With all clients connected, before the clock starts."""
    after: int
    """At the end of the cycle, with all clients connected."""


def measure(cycle: Cycle) -> Measured:
    """Runs ``cycle`` in a process of its own."""
    return observe(cycle)[0]


def observe(cycle: Cycle) -> tuple[Measured, Memory]:
    """Runs ``cycle`` in a process of its own and looks at its memory, too."""
    command = [sys.executable, "-m", "bench.load", json.dumps(asdict(cycle))]
    # The numerical library would start threads that wait for work by spinning.
    env = {"OPENBLAS_NUM_THREADS": "1"}
    found = json.loads(run(command, env, limit_s=cycle.duration + 120).output)
    return Measured(**found["measured"]), Memory(**found["memory"])


def _run(cycle: Cycle) -> Mapping[str, Any]:
    spec = RunSpec.model_validate(
        {
            "target": TargetSpec(url=cycle.url), "workload": cycle.workload, "threads": cycle.threads,
            "duration": cycle.duration, "prepare": cycle.prepare, "carriers": cycle.carriers,
            "isolation": "read-committed", **cycle.more,
        }
    )  # fmt: skip
    target = Target(cycle.url, existing=spec.existing)
    if target.dialect.name == "mock":
        target.create("bench")
    bench = Bench(
        target, cycle.workload, cycle.scale, cycle.call, spec.workload_settings, cycle.threads, existing=spec.existing
    )
    own = psutil.Process()
    before = own.memory_info().rss
    clients = bench.cycle(spec, seed=now_ns() % 1_000_003, trace=None)
    clients.connect(60 + 0.1 * cycle.threads, _unseen)
    connected = own.memory_info().rss
    began = resource.getrusage(resource.RUSAGE_SELF)
    start = now_ns() + 20_000_000 + cycle.threads * 100_000
    clients.start(start)
    clients.wait(start, 30, _unseen)
    # What adding up the results costs depends on the number of clients alone, as what the peers' start is, which is
    # taken off.
    ended = resource.getrusage(resource.RUSAGE_SELF)
    after = own.memory_info().rss
    result = clients.join()
    if result.failure is not None or result.total("failed"):
        raise BenchError(f"{result.failure or result.errors}")
    committed = result.total("committed")
    each = result.counters[:, :, COUNTERS.index("committed")].sum(axis=1)
    # The whole process until its last client ended, everything that dsbench does beside the clients included. So what
    # ended after the deadline, which has no part in the rate, has one in the cost: so it has with the peers.
    measured = Measured(
        committed + result.total("late_commits"),
        committed / cycle.duration,
        ended.ru_utime - began.ru_utime,
        ended.ru_stime - began.ru_stime,
        result.cpu_ns[0] / 1e9,
        *((float(each.min() / each.mean()), float(each.max() / each.mean())) if committed else (None, None)),
    )
    return {"measured": asdict(measured), "memory": asdict(Memory(before, connected, after))}


def _unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


if __name__ == "__main__":
    print(json.dumps(_run(Cycle(**json.loads(sys.argv[1])))))
