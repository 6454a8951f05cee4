"""sysbench's oltp_point_select beside the workload file that ships, on the same table, on MariaDB and PostgreSQL.

``python -m bench --only 'point select'`` measures it: 8 clients, prepared, by unix socket, nothing flushed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote

from bench import load, mariadb, place, sysbench
from bench.load import Cycle
from bench.place import UNIX
from bench.scripted import CLIENTS, UNSAFE, told
from bench.sweeps import costs, rates, sweep
from dsbench.spec import with_file

NAMES: Final = ("point select, MariaDB", "point select, PostgreSQL")
SCALE: Final = 10
"""Of the file: 100,000 rows."""
_ROWS: Final = 10_000 * SCALE


def section(name: str, sweeps: int, duration: float) -> list[str]:
    """The lines of one of ``NAMES``: rates, and paired ratios of rate and of CPU time per transaction."""
    workload = with_file({"workload": "sysbench-oltp-point-select"})
    driver = "mysql" if name.endswith("MariaDB") else "pgsql"
    if not sysbench.available(driver):
        return [f"{name}: no sysbench with the driver {driver} is installed"]
    with _served(driver, workload) as (url, version, options, env):
        ours = Cycle(
            url, workload["workload"], CLIENTS, duration, SCALE, "statements",
            more={"workload_settings": workload["workload_settings"]},
        )  # fmt: skip
        found = sweep(
            {
                "dsbench": lambda: load.measure(ours),
                "sysbench": lambda: sysbench.of_test("oltp_point_select", options, env, _ROWS, CLIENTS, duration),
            },
            sweeps,
        )
    a, b = found["dsbench"], found["sysbench"]
    return [
        f"{name}, {CLIENTS} clients, {version}: {told(a)} by dsbench",
        f"against sysbench ({told(b)}): rate {rates(a, b)}, CPU time {costs(a, b)}",
    ]


@contextmanager
def _served(
    driver: str, workload: Mapping[str, object]
) -> Iterator[tuple[str, str, Sequence[str], Mapping[str, str]]]:
    """A server with the table: its URL, its version, options and environment of sysbench."""
    if driver == "mysql":
        with mariadb.populated(SCALE, CLIENTS + 20, workload) as maria:
            url = f"mariadb://bench@/?socket={quote(maria.socket, safe='/')}"
            yield url, maria.version, maria.options(UNIX), {}
        return
    with place.populated(SCALE, CLIENTS + 20, UNSAFE, workload) as there:
        env = there.environment(UNIX)
        yield there.url(UNIX), there.version, sysbench.of_postgresql(env), env
