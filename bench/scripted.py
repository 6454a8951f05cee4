"""Scripts: those of pgbench in dsbench against pgbench itself, and a script against the workload that does the same.

``python -m bench --only scripts`` measures them. Nothing is flushed: what the clients cost decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench import load, pgbench, place
from bench.load import Cycle
from bench.place import UNIX, Place
from bench.sweeps import Client, costs, rates, sweep
from dsbench.drivers import peers

CLIENTS: Final = 8
BUILTIN: Final = ("tpcb-like", "simple-update", "select-only")
OWN: Final = ("tpcb", "select")
"""Workloads whose statements dsbench's scripts for pgbench have."""
UNSAFE: Final = {"fsync": "off", "synchronous_commit": "off"}
NAMES: Final = (*(f"scripts, {name}" for name in BUILTIN), *(f"scripts, workload {name}" for name in OWN))


def section(name: str, sweeps: int, duration: float, scale: int) -> list[str]:
    """The lines of one of ``NAMES``: rates, and paired ratios of rate and of CPU time per transaction."""
    work = name.rpartition(" ")[2]
    with _tables(work, scale) as there:
        clients = _of_builtin(there, work, duration) if work in BUILTIN else _of_workload(there, work, duration)
        found = sweep(clients, sweeps)
    ours, *others = found
    lines = [f"{name}, {CLIENTS} clients, {there.version}: {told(found[ours])} by {ours}"]
    for other in others:
        rate, cost = rates(found[ours], found[other]), costs(found[ours], found[other])
        lines.append(f"against {other} ({told(found[other])}): rate {rate}, CPU time {cost}")
    return lines


def told(found: list[Any]) -> str:
    """The middle rate of one client, and its middle CPU time per transaction."""
    middle = sorted(one.rate_tps for one in found)[len(found) // 2]
    return f"{middle:,.0f} tps, {sorted(one.cpu_us for one in found)[len(found) // 2]:.1f} µs"


@contextmanager
def _tables(work: str, scale: int) -> Iterator[Place]:
    """A server with dsbench's tables, and with pgbench's where its builtin scripts are run."""
    with place.populated(scale if work not in BUILTIN else 1, CLIENTS + 20, UNSAFE) as there:
        if work in BUILTIN:
            pgbench.initialise(there, scale)
        yield Place(there.version, scale, there.folder, there.port)


def _of_builtin(there: Place, name: str, duration: float) -> Mapping[str, Client]:
    more = {"workload_settings": {"builtin": name}, "existing": True}
    return {"dsbench": _ours(there, "scripted", duration, more), **_pgbench(there, ["-b", name], duration, "public")}


def _of_workload(there: Place, workload: str, duration: float) -> Mapping[str, Client]:
    """All of them on dsbench's tables, with the same statements."""
    path = Path(peers.script(f"pgbench-{workload}.sql"))
    text = path.read_text().rstrip()
    settings = {"scripts": f"{len(text.encode())} {path.name}\n{text}", "tables": "tpcb"}
    return {
        "dsbench's script": _ours(there, "scripted", duration, {"workload_settings": settings}),
        "dsbench's workload": _ours(there, workload, duration, {}),
        **_pgbench(there, ["-f", str(path), "-D", f"scale={there.scale}"], duration, "dsbench"),
    }


def _ours(there: Place, workload: str, duration: float, more: Mapping[str, Any]) -> Client:
    cycle = Cycle(there.url(UNIX), workload, CLIENTS, duration, there.scale, "statements", more=more)
    return lambda: load.measure(cycle)


def _pgbench(there: Place, script: list[str], duration: float, schema: str) -> Mapping[str, Client]:
    def client(threads: int) -> Client:
        return lambda: pgbench.of_script(there, script, threads, CLIENTS, duration, schema)

    return {f"pgbench -j {threads}": client(threads) for threads in (1, 2)}
