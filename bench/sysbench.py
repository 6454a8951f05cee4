"""sysbench on dsbench's tables with dsbench's statements, by its PostgreSQL and by its MySQL driver."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from bench.process import BenchError, Measured, run
from dsbench.drivers.peers import script


@dataclass(frozen=True)
class Asked:
    """One measurement."""

    options: Sequence[str]
    """Those of the driver: where the server is."""
    env: Mapping[str, str]
    work: str
    """``select`` or ``tpcb``: see the script."""
    call: str
    """The statement of a call in the place of statements; empty for none."""
    prepare: bool
    scale: int
    clients: int
    duration: float


@cache
def available(driver: str = "pgsql") -> bool:
    """Whether a sysbench is installed that has this driver."""
    return shutil.which("sysbench") is not None and f"{driver} - " in run(["sysbench", "--help"], {}).output


def version() -> str:
    """As it says it."""
    return run(["sysbench", "--version"], {}).output.strip()


def of_postgresql(env: Mapping[str, str]) -> list[str]:
    """How sysbench reaches what libpq's programs reach by ``env``."""
    return [
        "--db-driver=pgsql", f"--pgsql-host={env['PGHOST']}", f"--pgsql-port={env['PGPORT']}",
        "--pgsql-user=postgres", "--pgsql-db=postgres", "--pgsql-password=",
    ]  # fmt: skip


def measure(asked: Asked) -> Measured:
    """Runs it; CPU time as for pgbench. ``BenchError`` where a transaction failed."""
    command = [
        "sysbench", script("sysbench.lua"), f"--scale={asked.scale}", f"--work={asked.work}", *asked.options,
        f"--call={asked.call}", f"--threads={asked.clients}", "--rand-type=uniform", "--db-ps-mode="
        + ("auto" if asked.prepare else "disable"),
    ]  # fmt: skip
    return _measured(command, asked.env, asked.duration)


def of_test(
    name: str, options: Sequence[str], env: Mapping[str, str], rows: int, clients: int, duration: float
) -> Measured:
    """One of sysbench's own tests on the ``rows`` of its table ``sbtest1``, prepared; else as ``measure``."""
    command = ["sysbench", name, *options, "--tables=1", f"--table-size={rows}", f"--threads={clients}",
               "--rand-type=uniform", "--db-ps-mode=auto"]  # fmt: skip
    return _measured(command, env, duration)


def _measured(command: Sequence[str], env: Mapping[str, str], duration: float) -> Measured:
    start = run([*command, "--events=1", "--time=0", "run"], env)
    load = run([*command, "--events=0", f"--time={duration:.0f}", "run"], env)
    found = re.search(r"^\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec", load.output, re.MULTILINE)
    errors = re.search(r"^\s*ignored errors:\s+([1-9]\d*)", load.output, re.MULTILINE)
    if found is None or errors is not None:
        raise BenchError(f"sysbench said:\n{load.output}")
    user_s, system_s = max(load.user_s - start.user_s, 0), max(load.system_s - start.system_s, 0)
    return Measured(int(found[1]), float(found[2]), user_s, system_s)
