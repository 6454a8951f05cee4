"""sysbench: its point select, on dsbench's table, by its PostgreSQL and by its MySQL driver."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence

from bench.pgbench import SCRIPTS
from bench.place import Place
from bench.process import BenchError, Measured, run


def available(driver: str = "pgsql") -> bool:
    """Whether a sysbench is installed that has this driver."""
    return shutil.which("sysbench") is not None and f"{driver} - " in run(["sysbench", "--help"], {}).output


def version() -> str:
    """As it says it."""
    return run(["sysbench", "--version"], {}).output.strip()


def measure(place: Place, transport: str, clients: int, duration: float) -> Measured:
    """Runs the point select on PostgreSQL for ``duration`` seconds; CPU time as for pgbench."""
    env = place.environment(transport)
    options = [
        "--db-driver=pgsql", f"--pgsql-host={env['PGHOST']}", f"--pgsql-port={env['PGPORT']}",
        "--pgsql-user=postgres", "--pgsql-db=postgres", "--pgsql-password=",
    ]  # fmt: skip
    return run_point_select(options, env, place.scale, clients, duration)


def run_point_select(
    options: Sequence[str], env: Mapping[str, str], scale: int, clients: int, duration: float
) -> Measured:
    """Runs it with the options of a driver; see ``measure``."""
    command = [
        "sysbench", str(SCRIPTS / "point_select.lua"), f"--accounts={100_000 * scale}", *options,
        f"--threads={clients}", "--rand-type=uniform",
    ]  # fmt: skip
    start = run([*command, "--events=1", "--time=0", "run"], env)
    load = run([*command, "--events=0", f"--time={duration:.0f}", "run"], env)
    found = re.search(r"^\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec", load.output, re.MULTILINE)
    errors = re.search(r"^\s*ignored errors:\s+([1-9]\d*)", load.output, re.MULTILINE)
    if found is None or errors is not None:
        raise BenchError(f"sysbench said:\n{load.output}")
    return Measured(int(found[1]), float(found[2]), load.user_s - start.user_s, load.system_s - start.system_s)
