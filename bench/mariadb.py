"""The same comparison on MariaDB: dsbench and sysbench's point select, on dsbench's table, over the unix socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import load, sysbench
from bench.cases import DSBENCH, Case, Goal
from bench.load import Cycle
from bench.place import UNIX, populate
from bench.sweeps import Client
from dsbench import servers
from dsbench.generator import Target
from dsbench.spec import Target as TargetSpec

SETTINGS = {"innodb_buffer_pool_size": "1G", "innodb_log_file_size": "1G", "performance_schema": "off"}
"""All in memory, and nothing of the server's own work comes between two clients that are compared."""


@dataclass(frozen=True)
class MariaDb:
    """A running server, populated at one scale."""

    version: str
    url: str
    scale: int
    socket: str

    def cases(self, counts: tuple[int, ...], duration: float) -> Iterator[Case]:
        """The select of one account by its key, prepared, by each number of clients."""
        for clients in counts:
            run: dict[str, Client] = {DSBENCH: self._dsbench(clients, duration)}
            if sysbench.available("mysql"):
                run["sysbench"] = self._sysbench(clients, duration)
            goals = {"sysbench": Goal(1.05)} if clients == 8 else {}
            yield Case("select, prepared, MariaDB", clients, UNIX, run, goals, {})

    def _dsbench(self, clients: int, duration: float) -> Client:
        cycle = Cycle(self.url, "select", clients, duration, self.scale, "statements")
        return lambda: load.measure(cycle)

    def _sysbench(self, clients: int, duration: float) -> Client:
        options = ["--db-driver=mysql", f"--mysql-socket={self.socket}", "--mysql-user=root", "--mysql-db=dsbench"]
        return lambda: sysbench.run_point_select(options, {}, self.scale, clients, duration)


@contextmanager
def populated(scale: int, connections: int) -> Iterator[MariaDb]:
    """Starts a server, populates it by dsbench, and stops it in the end."""
    with servers.start(TargetSpec(url="private:mariadb", settings=SETTINGS), connections) as server:
        target = Target(server.url)
        target.create("bench")
        populate(target, scale)
        [row] = target.fetch("SELECT @@socket AS socket")
        target.close()
        yield MariaDb(server.version, server.url, scale, row["socket"] or "")
