"""Who is compared in a cell: dsbench, the peers that do the same work, and others that are shown for comparison."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bench import bare, load, pgbench, sysbench
from bench.cells import Cell
from bench.load import Cycle
from bench.place import Place
from bench.sweeps import Client

DSBENCH = "dsbench"

OTHER_WORK = {
    "bare loop": "sends, receives and reads the clock, and does nothing else",
    "parameters by pgbench": "pgbench -M extended sends the key as a parameter: the server has more to do",
    "7 statements by pgbench": "seven round trips against one",
    f"{DSBENCH}, ": "with another setting of a run",
}
"""By the beginning of their names: those that are shown, but not among the peers, and why."""

REMARKS = {
    "pgbench on TPC-B, 7 statements": "waits seven times, dsbench six times: its BEGIN leaves with the first statement",
    "sysbench on MariaDB's TPC-B, one call": "its procedure gives no balance back: the driver reads one answer",
    **OTHER_WORK,
}
"""Where the work differs."""


def is_peer(name: str) -> bool:
    """Whether it does the same work as dsbench."""
    return name != DSBENCH and not name.startswith(tuple(OTHER_WORK))


@dataclass(frozen=True)
class Settings:
    """How all of them are run."""

    duration: float
    """Seconds."""
    few: bool = False
    """Only dsbench and the peers that were fastest so far."""
    beside: tuple[str, ...] = ()
    """Settings NAME=VALUE of a run: with each dsbench is measured once more."""
    bare_program: Path | None = None


def ours(cell: Cell, url: str, scale: int, settings: Settings) -> dict[str, Client]:
    """dsbench, and once more with each setting that was asked for."""

    def client(more: dict[str, str]) -> Client:
        work = cell.work
        cycle = Cycle(url, work.workload, cell.clients, settings.duration, scale, work.call, work.prepare, 0, more)
        return lambda: load.measure(cycle)

    found = {DSBENCH: client({})}
    for setting in settings.beside:
        name, _, value = setting.partition("=")
        found[f"{DSBENCH}, {setting}"] = client({name: value})
    return found


def on_postgresql(cell: Cell, place: Place, settings: Settings) -> dict[str, Client]:
    """dsbench, pgbench with one thread and with one for each CPU, sysbench, and what is shown beside them."""
    run = ours(cell, place.url(cell.transport), place.scale, settings)
    mode = "prepared" if cell.work.prepare else "simple"
    every = min(os.cpu_count() or 1, cell.clients)
    for threads in [every] if settings.few else dict.fromkeys((1, every)):
        run[f"pgbench -j {threads}"] = _pgbench(place, cell, cell.work.script, mode, threads, settings)
    if sysbench.available():
        run["sysbench"] = _sysbench(place, cell, settings)
    if settings.few:
        return run
    if not cell.work.prepare:
        run["parameters by pgbench"] = _pgbench(place, cell, cell.work.script, "extended", every, settings)
    if cell.work.call == "procedure" and cell.clients == 8:
        run["7 statements by pgbench"] = _pgbench(place, cell, "tpcb", mode, every, settings)
    if settings.bare_program and cell.work.script == "select" and cell.work.prepare:
        program = settings.bare_program
        run["bare loop"] = lambda: bare.measure(program, place, cell.transport, cell.clients, settings.duration)
    return run


def _pgbench(place: Place, cell: Cell, script: str, mode: str, threads: int, settings: Settings) -> Client:
    return lambda: pgbench.measure(place, cell.transport, script, mode, cell.clients, threads, settings.duration)


def _sysbench(place: Place, cell: Cell, settings: Settings) -> Client:
    env = place.environment(cell.transport)
    options = sysbench.of_postgresql(env)
    work = cell.work
    call = "SELECT tpcb_transaction(?::int, ?::int, ?::int, ?::int)" if work.call == "procedure" else ""
    # Its integers are of 64 bits.
    asked = sysbench.Asked(
        options, env, work.workload, call, work.prepare, place.scale, cell.clients, settings.duration
    )
    return lambda: sysbench.measure(asked)
