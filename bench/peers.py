"""Who is compared in a cell: dsbench, the peers that do the same work, and others that are shown for comparison."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from bench.cells import FIREBIRD, MARIADB, Cell
from bench.clients import Client, bare_loop, dsbench, pgbench, pgbench_script, sysbench, sysbench_reaches
from bench.places import Place
from bench.results import DSBENCH
from dsbench.drivers.peers import script


def of_cell(cell: Cell, place: Place, duration: float, beside: Sequence[str] = (), few: bool = False) -> dict[str, Client]:
    """All clients of a cell. ``beside``: settings NAME=VALUE, with each of which dsbench is measured once more.
    ``few``: only the peers that were fastest so far."""
    work, url, clients = cell.work, place.urls[cell.transport], cell.clients

    def ours(**more: str) -> Client:
        return dsbench(
            url, place.scale, call=work.call, workload=work.workload, threads=clients, duration=duration,
            prepare=work.prepare, **more,
        )  # fmt: skip

    run = {DSBENCH: ours()}
    run |= {f"{DSBENCH}, {setting}": ours(**dict([setting.split("=", 1)])) for setting in beside}
    if cell.server == FIREBIRD:
        return {**run, "firebird-driver": ours(client="firebird-driver")}
    if cell.server == MARIADB:
        return run | _sysbench(cell, place, "mysql", "CALL bench_transaction(?, ?, ?, ?)", duration)
    every = min(os.cpu_count() or 1, clients)

    def theirs(script: str, threads: int, mode: str = "prepared" if work.prepare else "simple") -> Client:
        return pgbench(url, pgbench_script(script, place.scale), clients, threads, duration, mode)

    run |= {f"pgbench -j {threads}": theirs(work.script, threads) for threads in ({every} if few else {1, every})}
    # Its integers are of 64 bits.
    call = "SELECT tpcb_transaction(?::int, ?::int, ?::int, ?::int)"
    run |= _sysbench(cell, place, "pgsql", call, duration)
    if few:
        return run
    if not work.prepare:
        run["parameters by pgbench"] = theirs(work.script, every, "extended")
    if work.call == "procedure" and clients == 8:
        run["7 statements by pgbench"] = theirs("tpcb", every)
    if work.script == "select" and work.prepare and shutil.which("cargo"):
        run["bare loop"] = bare_loop(url, place.scale, clients, duration)
    return run


def _sysbench(cell: Cell, place: Place, driver: str, call: str, duration: float) -> dict[str, Client]:
    if not sysbench_reaches(driver):
        return {}
    words = [script("sysbench.lua"), f"--scale={place.scale}", f"--work={cell.work.workload}"]
    words.append(f"--call={call if cell.work.call == 'procedure' else ''}")
    url = place.urls[cell.transport]
    return {"sysbench": sysbench(url, words, cell.clients, duration, cell.work.prepare)}
