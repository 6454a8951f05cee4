"""What is compared with what."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench import bare, load, pgbench, sysbench
from bench.load import Cycle
from bench.place import TCP, UNIX, Place
from bench.sweeps import Client

DSBENCH = "dsbench"

BEGIN_RIDES = "waits seven times, dsbench six times: its BEGIN leaves with the first statement"


@dataclass(frozen=True)
class Goal:
    """What a case should reach against a peer: a rate of at least, a CPU time of at most."""

    rate: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Case:
    """Clients that do the same work; the first is dsbench."""

    title: str
    clients: int
    transport: str
    run: Mapping[str, Client]
    goals: Mapping[str, Goal]
    """By peer."""
    remarks: Mapping[str, str]
    """By peer whose work differs: in what."""
    most_user_us: float | None = None
    """What dsbench's clients may spend outside of the kernel per transaction, at most."""


@dataclass(frozen=True)
class Settings:
    """How long and where."""

    place: Place
    duration: float
    bare_program: Path
    durable: bool

    def dsbench(self, transport: str, workload: str, threads: int, call: str | None, prepare: bool) -> Client:
        """A cycle of dsbench."""
        cycle = Cycle(
            self.place.url(transport), workload, threads, self.duration, self.place.scale, call, prepare
        )
        return lambda: load.measure(cycle)

    def pgbench(self, transport: str, script: str, mode: str, clients: int) -> Client:
        """pgbench with a thread for each CPU, as its manual wants it."""
        threads = os.cpu_count() or 1
        return lambda: pgbench.measure(self.place, transport, script, mode, clients, threads, self.duration)


def selects(at: Settings, counts: tuple[int, ...]) -> Iterator[Case]:
    """The select of one account by its key, prepared, on both transports; unprepared on the socket."""
    for transport in (UNIX, TCP):
        for clients in counts:
            main = clients == 8 and transport == UNIX
            run = {
                DSBENCH: at.dsbench(transport, "select", clients, "statements", True),
                "pgbench": at.pgbench(transport, "select", "prepared", clients),
            }
            if sysbench.available():
                run["sysbench"] = _sysbench(at, transport, clients)
            run["bare loop"] = _bare(at, transport, clients)
            goals = {"pgbench": Goal(1.2, 0.65), "sysbench": Goal(1.3, 0.5), "bare loop": Goal(0.95)} if main else {}
            yield Case("select, prepared", clients, transport, run, goals, {}, 0.8 if main else None)
    for clients in counts:
        run = {
            DSBENCH: at.dsbench(UNIX, "select", clients, "statements", False),
            "pgbench -M simple": at.pgbench(UNIX, "select", "simple", clients),
            "pgbench -M extended": at.pgbench(UNIX, "select", "extended", clients),
        }
        remarks = {"pgbench -M simple": "sends the key inside the text, not as a parameter"}
        yield Case("select, parsed each time", clients, UNIX, run, {}, remarks)


def tpcbs(at: Settings, counts: tuple[int, ...]) -> Iterator[Case]:
    """TPC-B as seven statements and as one call."""
    safe = "fsync on" if at.durable else "fsync OFF"
    for clients in counts:
        goal = clients == 8
        statements, call = at.pgbench(UNIX, "tpcb", "prepared", clients), at.pgbench(UNIX, "call", "prepared", clients)
        run = {DSBENCH: at.dsbench(UNIX, "tpcb", clients, "statements", True), "pgbench": statements}
        goals = {"pgbench": Goal(1.05)} if goal else {}
        title = f"TPC-B, 7 statements, prepared, {safe}"
        yield Case(title, clients, UNIX, run, goals, {"pgbench": BEGIN_RIDES})
        run = {
            DSBENCH: at.dsbench(UNIX, "tpcb", clients, "procedure", True),
            "pgbench, 7 statements": statements,
            "pgbench, same call": call,
        }
        goals = {"pgbench, 7 statements": Goal(1.5)} if goal else {}
        remarks = {"pgbench, 7 statements": "seven round trips against one: other work"}
        yield Case(f"TPC-B, one call, prepared, {safe}", clients, UNIX, run, goals, remarks)
    if at.durable:
        run = {
            DSBENCH: at.dsbench(UNIX, "tpcb", 8, "statements", False),
            "pgbench -M simple": at.pgbench(UNIX, "tpcb", "simple", 8),
        }
        remarks = {"pgbench -M simple": BEGIN_RIDES}
        yield Case(f"TPC-B, 7 statements, parsed each time, {safe}", 8, UNIX, run, {}, remarks)


def _sysbench(at: Settings, transport: str, clients: int) -> Client:
    return lambda: sysbench.measure(at.place, transport, clients, at.duration)


def _bare(at: Settings, transport: str, clients: int) -> Client:
    return lambda: bare.measure(at.bare_program, at.place, transport, clients, at.duration)
