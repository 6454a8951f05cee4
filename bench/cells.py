"""What is measured: the cells of the table, each some work by a number of clients over one transport, and its goals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

UNIX, TCP = "unix socket", "TCP"
POSTGRESQL, UNSAFE, MARIADB, FIREBIRD = "PostgreSQL", "PostgreSQL, fsync off", "MariaDB", "Firebird"
COUNTS = (1, 2, 4, 8, 16, 64, 256, 1000)
STEADY_RUNS, STEADY_SECONDS = 10, 5.0
MANY, MANY_SECONDS = 1000, 4.0
"""So many sessions spend about a second of the machine on their first transactions: runs of no less than so long."""


@dataclass(frozen=True)
class Work:
    """What a transaction is."""

    title: str
    workload: str
    """Of dsbench."""
    script: str = ""
    """What pgbench runs: a script of dsbench's, or a builtin one."""
    prepare: bool = True
    tables: str = "tpcb"
    """The workload whose tables it needs; or ``pgbench``, which makes its own."""
    scale: int = 1_000_000
    """Of the tables, at most."""

    @property
    def call(self) -> str:
        return "procedure" if self.script.endswith("-call") or self.workload == "tpcc" else "statements"


SELECT = Work("select, prepared", "select", "select")
PARSED = Work("select, parsed each time", "select", "select", prepare=False)
TPCB = Work("TPC-B, 7 statements, prepared", "tpcb", "tpcb")
CALL = Work("TPC-B, one call, prepared", "tpcb", "tpcb-call")
SCRIPTS = (
    *(Work(f"scripts, {n}", "scripted", n, tables="pgbench") for n in ("tpcb-like", "simple-update", "select-only")),
    *(Work(f"scripts, workload {n}", "scripted", n) for n in ("tpcb", "select")),
)
POINT = Work("point select", "sysbench-oltp-point-select", tables="sysbench-oltp-point-select", scale=10)
TPCC = Work("TPC-C, New-Orders", "tpcc", prepare=False, tables="tpcc", scale=5)


@dataclass(frozen=True)
class Cell:
    """One measurement of dsbench and its peers in turn."""

    server: str
    work: Work
    clients: int
    transport: str = UNIX
    steady: bool = False
    """The same command many times: how far do its runs differ?"""

    @property
    def name(self) -> str:
        """What ``--only`` looks into."""
        more = ", steadiness" if self.steady else ""
        return f"{self.server}: {self.work.title}, {self.clients} clients, {self.transport}{more}"

    def amounts(self, pairs: int, duration: float, scale: int) -> dict[str, Any]:
        """What it is measured with, where the command line has these."""
        least = MANY_SECONDS if self.clients >= MANY else 0.0
        return {
            "duration": STEADY_SECONDS if self.steady else max(duration, least),
            "sweeps": STEADY_RUNS if self.steady else pairs,
            # The population of Firebird takes its time, and the client's cost does not depend on it.
            "scale": min(scale, self.work.scale, 5 if self.server == FIREBIRD else scale),
        }


@dataclass(frozen=True)
class Goal:
    """What a cell should reach against the best of the peers whose name begins so."""

    peer: str
    rate: float
    """Of theirs, at least."""
    cost: float | None = None
    """CPU time of the client per transaction, of theirs, at most."""


LEAST_OF_BEST = 1.0
"""Goal of every cell: no peer that does the same work is faster."""
MIDDLE = 1.15
"""What the cell in the middle should reach, by the rate of its best peer."""
MOST_USER_US = 0.8
"""What dsbench's clients may spend outside of the kernel per transaction in the first of the cells with goals."""

GOALS: dict[str, tuple[Goal, ...]] = {
    Cell(POSTGRESQL, SELECT, 8).name: (Goal("pgbench", 1.2, 0.65), Goal("sysbench", 1.3, 0.5), Goal("bare loop", 1.1)),
    Cell(POSTGRESQL, TPCB, 8).name: (Goal("pgbench", 1.05),),
    Cell(POSTGRESQL, CALL, 8).name: (Goal("7 statements by pgbench", 1.5),),
    Cell(UNSAFE, TPCB, 8).name: (Goal("pgbench", 1.05),),
    Cell(UNSAFE, CALL, 8).name: (Goal("7 statements by pgbench", 1.5),),
    Cell(MARIADB, SELECT, 8).name: (Goal("sysbench", 1.05),),
    Cell(POSTGRESQL, SELECT, 1000).name: (Goal("pgbench", 1.0),),
    Cell(POSTGRESQL, TPCC, 8, TCP).name: (Goal("go-tpc", 1.2),),
}
"""What single cells should reach beyond that."""


def table(counts: tuple[int, ...] = COUNTS) -> Iterator[Cell]:
    """All cells, in the order in which they are shown."""
    for server in (POSTGRESQL, MARIADB):
        for work in (SELECT, PARSED, TPCB, CALL):
            for transport in (UNIX, TCP):
                yield from (Cell(server, work, clients, transport) for clients in counts)
        yield from (Cell(server, SELECT, clients, transport, True) for clients in (8, 64) for transport in (UNIX, TCP))
        yield Cell(server, TPCB, 8, UNIX, True)
    yield from (Cell(UNSAFE, work, 8) for work in (TPCB, CALL, *SCRIPTS))
    yield from (Cell(FIREBIRD, work, 1, TCP) for work in (SELECT, CALL))
    yield from (Cell(server, POINT, 8) for server in (UNSAFE, MARIADB))
    yield from (Cell(server, TPCC, 8, TCP) for server in (POSTGRESQL, MARIADB))


def costly() -> list[Cell]:
    """Cells of which the page says what a transaction costs client, server and scheduler."""
    few = [Cell(POSTGRESQL, SELECT, clients) for clients in (1, 2, 8, 64)]
    return [*few, Cell(POSTGRESQL, SELECT, 8, TCP), Cell(POSTGRESQL, TPCB, 8), Cell(POSTGRESQL, CALL, 8)]


def quick() -> Iterator[Cell]:
    """Few cells, one for each way to be slow: before and after a change."""
    yield from (Cell(POSTGRESQL, SELECT, clients) for clients in (1, 8, 64))
    yield Cell(POSTGRESQL, SELECT, 8, TCP)
    yield from (Cell(server, work, 8) for server, work in ((POSTGRESQL, TPCB), (POSTGRESQL, CALL), (MARIADB, SELECT)))
    yield from (Cell(MARIADB, work, 8) for work in (PARSED, TPCB))
