"""The same comparison on MariaDB: dsbench and sysbench on dsbench's tables in a private server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from bench import sysbench
from bench.cells import Cell
from bench.peers import Settings, ours
from bench.place import TPCB, UNIX, populate
from bench.sweeps import Client
from dsbench import servers
from dsbench.measure.loaders import Target
from dsbench.spec import Target as TargetSpec

SETTINGS = {
    "innodb_buffer_pool_size": "1G",
    "innodb_log_file_size": "1G",
    "performance_schema": "off",
    "bind_address": "127.0.0.1",
}
"""All in memory, and nothing of the server's own work comes between two clients that are compared."""

QUIET = """CREATE PROCEDURE dsbench.bench_transaction(p_aid int, p_tid int, p_bid int, p_delta int)
MODIFIES SQL DATA
BEGIN
    DECLARE balance bigint;
    START TRANSACTION;
    UPDATE account SET abalance = abalance + p_delta WHERE aid = p_aid;
    SELECT abalance INTO balance FROM account WHERE aid = p_aid;
    UPDATE teller SET tbalance = tbalance + p_delta WHERE tid = p_tid;
    UPDATE branch SET bbalance = bbalance + p_delta WHERE bid = p_bid;
    INSERT INTO history (tid, bid, aid, delta, mtime, filler)
        VALUES (p_tid, p_bid, p_aid, p_delta, CURRENT_TIMESTAMP(6), 'Qm7rT2xWv9LkZp4JhN8sYc3BdF6g');
    COMMIT;
END"""
"""dsbench's transaction without its result: sysbench's driver reads no more than one answer of a call."""


@dataclass(frozen=True)
class MariaDb:
    """A running server, populated at one scale."""

    version: str
    scale: int
    socket: str
    port: int

    def clients(self, cell: Cell, settings: Settings) -> dict[str, Client]:
        """dsbench, and sysbench where it is installed with this driver."""
        at = f"/?socket={quote(self.socket, safe='/')}"
        url = f"mariadb://bench@{at}" if cell.transport == UNIX else f"mariadb://bench@127.0.0.1:{self.port}/"
        run = ours(cell, url if cell.transport == UNIX else f"{url}?ssl_mode=disabled", self.scale, settings)
        if sysbench.available("mysql"):
            run["sysbench"] = self._sysbench(cell, settings)
        return run

    def options(self, transport: str) -> list[str]:
        """How sysbench reaches it."""
        options = ["--db-driver=mysql", "--mysql-user=bench", "--mysql-password=", "--mysql-db=dsbench"]
        if transport == UNIX:
            return [*options, f"--mysql-socket={self.socket}"]
        return [*options, "--mysql-host=127.0.0.1", f"--mysql-port={self.port}"]

    def _sysbench(self, cell: Cell, settings: Settings) -> Client:
        options, work = self.options(cell.transport), cell.work
        call = "CALL bench_transaction(?, ?, ?, ?)" if work.call == "procedure" else ""
        asked = sysbench.Asked(
            options, {}, work.workload, call, work.prepare, self.scale, cell.clients, settings.duration
        )
        return lambda: sysbench.measure(asked)


@contextmanager
def populated(scale: int, connections: int, workload: Mapping[str, Any] = TPCB) -> Iterator[MariaDb]:
    """Starts a server, populates it by dsbench, and stops it in the end."""
    with servers.start(TargetSpec(url="private:mariadb", settings=SETTINGS), connections) as server:
        target = Target(server.url)
        target.create("bench")
        populate(target, scale, workload)
        target.fetch(QUIET)
        for host in ("127.0.0.1", "localhost"):  # No password: logging in is no part of what is compared.
            target.fetch(f"CREATE USER bench@'{host}' IDENTIFIED BY ''")
            target.fetch(f"GRANT ALL ON *.* TO bench@'{host}'")
        [row] = target.fetch("SELECT @@socket AS socket, @@port AS port")
        target.close()
        yield MariaDb(server.version, scale, row["socket"] or "", int(row["port"] or 0))
