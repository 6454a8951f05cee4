"""What a transaction costs client, server and scheduler, with dsbench and with its peers, in turn on one server.

``python -m bench --only costs`` measures it. A peer that is faster has a reason, and here it is looked for first.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bench import bare, place
from bench.cells import CALL, POSTGRESQL, SELECT, TPCB, Cell
from bench.peers import Settings, on_postgresql
from bench.place import TCP, Place
from bench.process import BenchError
from bench.sweeps import Client

CELLS: Final = (
    *(Cell(POSTGRESQL, SELECT, clients) for clients in (1, 2, 8, 64)),
    Cell(POSTGRESQL, SELECT, 8, TCP),
    Cell(POSTGRESQL, TPCB, 8),
    Cell(POSTGRESQL, CALL, 8),
)
NAMES: Final = {f"costs, {cell.work.title}, {cell.clients} clients, {cell.transport}": cell for cell in CELLS}
HEAD: Final = (
    "| client | tps | CPU of the client, µs | CPU of the server, µs | context switches |\n|---|--:|--:|--:|--:|"
)
REAPED_S: Final = 0.3
"""The server's main process takes in the CPU time of its sessions when it has buried them."""


@dataclass(frozen=True)
class Cost:
    """Of one transaction, on average over one measurement; starting and connecting are part of it."""

    rate_tps: float
    client_us: float
    server_us: float
    switches: float


@dataclass(frozen=True)
class _Counts:
    """Running counts of the machine and of the server."""

    server_s: float
    switches: int

    @classmethod
    def now(cls, server: psutil.Process) -> _Counts:
        return cls(_cpu_s(server), psutil.cpu_stats().ctx_switches)


def section(name: str, sweeps: int, duration: float, scale: int) -> list[str]:
    """The lines of one of ``NAMES``: a table, the middle of ``sweeps`` measurements of ``duration`` seconds."""
    cell = NAMES[name]
    program = bare.build() if cell.work == SELECT and bare.possible() else None
    with place.populated(scale, cell.clients + 20, {}) as there:
        server = _main_process(there)
        clients = on_postgresql(cell, there, Settings(duration, few=False, bare_program=program))
        found: dict[str, list[Cost]] = {who: [] for who in clients}
        for number in range(sweeps):
            for who in list(clients) if number % 2 == 0 else list(clients)[::-1]:
                found[who].append(_measure(clients[who], server))
        title = f"### Costs of a transaction: {name.removeprefix('costs, ')}"
        how = f"{there.version}, {sweeps} runs of {duration:g} s in turn; switches are those of the whole machine."
    return [title, "", how, "", HEAD, *_rows(found), ""]


def _rows(found: Mapping[str, Sequence[Cost]]) -> Iterator[str]:
    for who, costs in found.items():
        rate = statistics.median(cost.rate_tps for cost in costs)
        rest = ((cost.client_us, cost.server_us, cost.switches) for cost in costs)
        client, server, switches = (statistics.median(each) for each in zip(*rest, strict=True))
        yield f"| {who} | {rate:,.0f} | {client:.2f} | {server:.2f} | {switches:.2f} |"


def _measure(client: Client, server: psutil.Process) -> Cost:
    before = _Counts.now(server)
    done = client()
    time.sleep(REAPED_S)
    after = _Counts.now(server)
    if not done.transactions:
        raise BenchError("a client made no transaction")
    server_us = (after.server_s - before.server_s) * 1e6 / done.transactions
    return Cost(done.rate_tps, done.cpu_us, server_us, (after.switches - before.switches) / done.transactions)


def _cpu_s(server: psutil.Process) -> float:
    """CPU time of the server's main process, of its children, and of those that ended, in seconds."""
    own = server.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in server.children(recursive=True):
        try:
            spent = child.cpu_times()
        except psutil.Error:
            continue
        total += spent.user + spent.system
    return float(total)


def _main_process(there: Place) -> psutil.Process:
    """Whose number stands in the lock of the server's socket."""
    lock = Path(there.folder) / f".s.PGSQL.{there.port}.lock"
    return psutil.Process(int(lock.read_text().split()[0]))
