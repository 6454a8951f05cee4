"""Who is compared in a cell: dsbench, the peers that do the same work, and others that are shown for comparison."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cells import CALL, FIREBIRD, MARIADB, POINT, SCRIPTS, TPCC, Cell
from bench.clients import Client, bare_loop, dsbench, go_tpc, pgbench, sysbench, sysbench_reaches
from bench.places import TPCC as TPCC_SETTINGS
from bench.places import Place
from bench.results import DSBENCH
from dsbench.measure.drivers.peers import script
from dsbench.spec import with_file


def of_cell(
    cell: Cell, place: Place, duration: float, beside: Sequence[str] = (), few: bool = False
) -> dict[str, Client]:
    """All clients of a cell. ``beside``: settings NAME=VALUE, with each of which dsbench is measured once more.
    ``few``: only the peers that were fastest so far."""
    make = _Clients(cell, place, duration)
    if cell.work in SCRIPTS:
        return make.scripts()
    if cell.work == POINT:
        ours = make.ours(**with_file({"workload": POINT.workload}))
        return {DSBENCH: ours} | make.sysbench("oltp_point_select", f"--table-size={10_000 * place.scale}")
    if cell.work == TPCC:
        return make.tpcc()
    run = {DSBENCH: make.ours()}
    run |= {f"{DSBENCH}, {setting}": make.ours(**dict([setting.split("=", 1)])) for setting in beside}
    if cell.server == FIREBIRD:
        name = "firebird-driver" if cell.work == CALL else "a transaction for each by firebird-driver"
        return {**run, name: make.ours(driver="firebird-driver")}
    if cell.server == MARIADB:
        return run | make.sysbench_of_tpcb()
    return run | make.on_postgresql(few)


@dataclass(frozen=True)
class _Clients:
    cell: Cell
    place: Place
    duration: float

    def ours(self, **more: Any) -> Client:
        work = self.cell.work
        spec = {"workload": work.workload, "clients": self.cell.clients, "duration": self.duration}
        spec |= {"call": work.call, "prepare": work.prepare}
        return dsbench(self.place.urls[self.cell.transport], self.place.scale, **{**spec, **more})

    def pgbench(self, threads: int, name: str = "", mode: str = "") -> Client:
        work = self.cell.work
        words = ["-f", script(f"pgbench-{name or work.script}.sql"), "-D", f"scale={self.place.scale}"]
        schema = "public" if work.tables == "pgbench" else "dsbench"
        words = [*(words if schema == "dsbench" else ["-b", work.script]), "-M"]
        words.append(mode or ("prepared" if work.prepare else "simple"))
        return pgbench(self.place.urls[self.cell.transport], words, self.cell.clients, threads, self.duration, schema)

    def sysbench(self, *words: str) -> dict[str, Client]:
        if not sysbench_reaches("mysql" if self.cell.server == MARIADB else "pgsql"):
            return {}
        url, prepare = self.place.urls[self.cell.transport], self.cell.work.prepare
        return {"sysbench": sysbench(url, words, self.cell.clients, self.duration, prepare)}

    def sysbench_of_tpcb(self) -> dict[str, Client]:
        call = "SELECT tpcb_transaction(?::int, ?::int, ?::int, ?::int)"  # Its integers are of 64 bits.
        call = "CALL bench_transaction(?, ?, ?, ?)" if self.cell.server == MARIADB else call
        call = f"--call={call if self.cell.work.call == 'procedure' else ''}"
        return self.sysbench(
            script("sysbench.lua"), f"--scale={self.place.scale}", f"--work={self.cell.work.workload}", call
        )

    def on_postgresql(self, few: bool) -> dict[str, Client]:
        work, clients = self.cell.work, self.cell.clients
        every = min(os.cpu_count() or 1, clients)
        run = {f"pgbench -j {threads}": self.pgbench(threads) for threads in ([every] if few else sorted({1, every}))}
        run |= self.sysbench_of_tpcb()
        if few:
            return run
        if not work.prepare:
            run["parameters by pgbench"] = self.pgbench(every, mode="extended")
        if work.call == "procedure" and clients == 8:
            run["7 statements by pgbench"] = self.pgbench(every, "tpcb")
        if work.script == "select" and work.prepare and shutil.which("cargo"):
            url = self.place.urls[self.cell.transport]
            run["bare loop"] = bare_loop(url, self.place.scale, clients, self.duration)
        return run

    def scripts(self) -> dict[str, Client]:
        """pgbench's scripts in dsbench, and a script beside the workload with the same statements."""
        name = self.cell.work.script
        run = {f"pgbench -j {threads}": self.pgbench(threads) for threads in (1, 2)}
        if self.cell.work.tables == "pgbench":
            return {DSBENCH: self.ours(workload_settings={"builtin": name}, existing=True)} | run
        path = Path(script(f"pgbench-{name}.sql"))
        text = path.read_text().rstrip()
        settings = {"scripts": f"{len(text.encode())} {path.name}\n{text}", "tables": "tpcb"}
        run[f"{DSBENCH}, workload {name}"] = self.ours(workload=name)
        return {DSBENCH: self.ours(workload_settings=settings)} | run

    def tpcc(self) -> dict[str, Client]:
        spec: dict[str, Any] = {"kind": 0, "retry": True, "workload_settings": TPCC_SETTINGS}
        run = {DSBENCH: self.ours(**spec), f"{DSBENCH}, statements": self.ours(**spec, call="statements")}
        if shutil.which("go-tpc"):
            url = self.place.urls[self.cell.transport]
            run["go-tpc"] = go_tpc(url, self.place.scale, self.cell.clients, self.duration)
        return run
