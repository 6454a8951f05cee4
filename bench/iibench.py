"""The public client of the Insert Benchmark, iibench.py, and dsbench: CPU time per inserted row and per query.

    IIBENCH='python path/to/iibench.py' python -m bench.iibench

iibench.py is https://github.com/mdcallag/mytools, bench/ibench; it is not a part of dsbench. Its interpreter needs
psycopg2. Both work on one private PostgreSQL over its socket, one after the other, each on tables of its own: 100 rows
in a transaction of l.i0, then queries of ranges beside 100 rows per second that come and go.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import dsbench
from bench.place import SETTINGS, UNIX, Place, place_of
from bench.process import BenchError, Ended, run
from dsbench import servers
from dsbench.spec import Target

VARIABLE = "IIBENCH"
GOAL = 0.1
"""CPU time of dsbench by that of iibench.py, at most."""
ROWS, FEW_ROWS = 300_000, 10_000
SECONDS, FEW_SECONDS = 10, 2
_CELLS = (
    ("row_us", 2), ("row_clients_us", 2), ("rows_per_s", 0),
    ("query_us", 1), ("query_clients_us", 1), ("queries_per_s", 0),
)  # fmt: skip
_LINE = re.compile(r"^[\d.]+\t([\d.]+)\t(?:[\d.]+\t){6}(?:-?\d+\t){3}(\d+)\t(\d+)\t(\d+)\t", re.MULTILINE)
"""Seconds so far, rows inserted, rows deleted, queries."""


@dataclass(frozen=True)
class Cost:
    """CPU time of a client in µs, and its rate in 1/s."""

    row_us: float
    query_us: float
    rows_per_s: float
    queries_per_s: float
    row_clients_us: float = math.nan
    """Of a row, in the threads of the clients alone: the rest of dsbench watches the machine, whatever the rate."""
    query_clients_us: float = math.nan


def available() -> bool:
    """Whether the variable names it."""
    return bool(os.environ.get(VARIABLE))


def theirs(place: Place) -> Cost:
    """What iibench.py takes: of a long run, less that of a short one, which has started and connected as well."""
    load = ["--setup", "--secondary_at_end", "--rows_per_commit=100"]
    few, many = (_iibench(place, [*load, f"--max_rows={rows}"]) for rows in (FEW_ROWS, ROWS))
    queries = [
        "--rows_per_commit=50", "--delete_per_insert", "--inserts_per_second=100", "--query_threads=1",
        "--use_prepared_query", "--max_rows=1000000000",
    ]  # fmt: skip
    short, long = (_iibench(place, [*queries, f"--max_seconds={s}"]) for s in (FEW_SECONDS, SECONDS))
    (first_s, _, asked), (last_s, _, more) = _last(short), _last(long)
    loaded_s, rows, _ = _last(many)
    return Cost(
        (_cpu_s(many) - _cpu_s(few)) / (ROWS - FEW_ROWS) * 1e6, (_cpu_s(long) - _cpu_s(short)) / (more - asked) * 1e6,
        rows / loaded_s, (more - asked) / (last_s - first_s),
    )  # fmt: skip


def ours(url: str) -> Cost:
    """What dsbench takes in the stages l.i0 and qr100, by the counters of its own process."""
    with tempfile.TemporaryDirectory() as folder:
        archive = dsbench.run(
            url, workload="insert", scales=(ROWS // 100_000,), threads=1, duration=float(SECONDS), out=Path(folder),
            workload_settings={"writes": "5000", "rates": "100"},
        )  # fmt: skip
        cpu_s: dict[str, float] = {}
        known = [row for row in archive.table("monitors").to_pylist() if row["monitor"] == "client"]
        for stage in ("l.i0", "qr100"):
            for metric in ("cpu_user", "cpu_system"):
                values = [row["value"] for row in known if (row["stage"], row["metric"]) == (stage, metric)]
                cpu_s[stage] = cpu_s.get(stage, 0.0) + max(values) - min(values)
        done = {(row["stage"], row["group"]): row for row in archive.table("cycles").to_pylist() if row["committed"]}
        efficiency = {key.stage: one[ROWS // 100_000].rate for key, one in archive.evaluate().stages.items()}
    rows, queries = done["l.i0", "insert"]["rows"], done["qr100", "query"]["committed"]
    return Cost(
        cpu_s["l.i0"] / rows * 1e6, cpu_s["qr100"] / queries * 1e6, efficiency["l.i0"], efficiency["qr100"],
        *(sum(row["cpu_ns"] for (of, _), row in done.items() if of == stage) / count / 1e3
          for stage, count in (("l.i0", rows), ("qr100", queries))),
    )  # fmt: skip


def _iibench(place: Place, options: Sequence[str]) -> Ended:
    command = [
        *shlex.split(os.environ[VARIABLE]), "--dbms=postgres", "--db_name=postgres", "--db_user=postgres",
        f"--db_host={place.folder}", "--table_name=pi1", "--num_secondary_indexes=3", "--data_length_min=10",
        "--data_length_max=20", "--data_random_pct=50", "--secs_per_report=1", *options,
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:  # It leaves files where it stands.
        return run(command, {**place.environment(UNIX), "PGOPTIONS": ""}, limit_s=600, folder=folder)


def _cpu_s(ended: Ended) -> float:
    return ended.user_s + ended.system_s


def _last(ended: Ended) -> tuple[float, int, int]:
    """Seconds, rows and queries of its last line."""
    lines = _LINE.findall(ended.output)
    if not lines:
        raise BenchError(f"iibench.py said:\n{ended.output}\n{ended.remarks}")
    seconds, rows, _, queries = lines[-1]
    return float(seconds), int(rows), int(queries)


def section(pairs: int) -> list[str]:
    """Lines of the page, or how to get it."""
    if not available():
        return [f"- iibench.py is left out: name its command in {VARIABLE}, see bench/iibench.py"]
    with servers.start(Target(url="private:postgresql", settings=SETTINGS), 40) as server:
        place = place_of(server, 1)
        found = [(ours(server.url), theirs(place)) for _ in range(pairs)]
    shown = (("row of l.i0", "rows/s"), ("query of qr100", "queries/s"))
    titles = [f"CPU µs per {what} | clients alone | {rate}" for what, rate in shown]
    lines = [f"| client | {' | '.join(titles)} |", "|---|--:|--:|--:|--:|--:|--:|"]
    for name, costs in zip(("dsbench", "iibench.py"), zip(*found, strict=True), strict=True):
        of = {what: statistics.median(getattr(cost, what) for cost in costs) for what in Cost.__dataclass_fields__}
        cells = ["" if math.isnan(of[what]) else f"{of[what]:,.{digits}f}" for what, digits in _CELLS]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    for what, words in (("row_us", "row"), ("query_us", "query")):
        share = statistics.median(getattr(a, what) / getattr(b, what) for a, b in found)
        verdict = "met" if share <= GOAL else "MISSED"
        lines.append(f"- CPU per {words}: {share:.3f} of that of iibench.py; goal ≤ {GOAL:g}: {verdict}")
    return ["", f"{server.version}, one client, medians of {pairs}:", "", *lines, ""]


if __name__ == "__main__":
    try:
        print("\n".join(section(int(sys.argv[1]) if len(sys.argv) > 1 else 3)))
    except BenchError as error:
        sys.exit(f"error: {error}")
