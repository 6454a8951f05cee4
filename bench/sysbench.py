"""sysbench with its PostgreSQL driver: its point select, on dsbench's table."""

from __future__ import annotations

import re
import shutil

from bench.pgbench import SCRIPTS
from bench.place import Place
from bench.process import BenchError, Measured, run


def available() -> bool:
    """Whether a sysbench that speaks to PostgreSQL is installed."""
    return shutil.which("sysbench") is not None and "pgsql - " in run(["sysbench", "--help"], {}).output


def version() -> str:
    """As it says it."""
    return run(["sysbench", "--version"], {}).output.strip()


def measure(place: Place, transport: str, clients: int, duration: float) -> Measured:
    """Runs the point select for ``duration`` seconds; CPU time as for pgbench."""
    env = place.environment(transport)
    command = [
        "sysbench", str(SCRIPTS / "point_select.lua"), f"--accounts={100_000 * place.scale}", "--db-driver=pgsql",
        f"--pgsql-host={env['PGHOST']}", f"--pgsql-port={env['PGPORT']}", "--pgsql-user=postgres",
        "--pgsql-db=postgres", "--pgsql-password=", f"--threads={clients}", "--rand-type=uniform",
    ]  # fmt: skip
    start = run([*command, "--events=1", "--time=0", "run"], env)
    load = run([*command, "--events=0", f"--time={duration:.0f}", "run"], env)
    found = re.search(r"^\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec", load.output, re.MULTILINE)
    errors = re.search(r"^\s*ignored errors:\s+([1-9]\d*)", load.output, re.MULTILINE)
    if found is None or errors is not None:
        raise BenchError(f"sysbench said:\n{load.output}")
    return Measured(int(found[1]), float(found[2]), load.user_s - start.user_s, load.system_s - start.system_s)
