"""Where the comparison takes place: private servers with tables of dsbench, for all clients alike.

The tables lie in memory, and no checkpoint, vacuum or sweep of the server comes between two clients.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import psutil

from bench.cells import TCP, UNIX
from bench.clients import BenchError, libpq, run, unseen
from dsbench import servers
from dsbench.archive.conditions import State
from dsbench.measure.drivers.peers import program
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.spec import Target, with_file

SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "postgresql": {
        "listen_addresses": "127.0.0.1", "shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min",
        "autovacuum": "off",
    },
    "mariadb": {
        "innodb_buffer_pool_size": "1G", "innodb_log_file_size": "1G", "performance_schema": "off",
        "bind_address": "127.0.0.1",
    },
    "firebird": {"forced_writes": "off", "sweep_interval": "0", "page_size": "8192", "page_buffers": "65536"},
}  # fmt: skip
UNFLUSHED: Final = {"fsync": "off", "synchronous_commit": "off"}
TPCC: Final = {"mix": "45,43,4,4,4", "affinity": "off", "foreign_keys": "off"}
"""As go-tpc has it."""

QUIET: Final = """CREATE PROCEDURE dsbench.bench_transaction(p_aid int, p_tid int, p_bid int, p_delta int)
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
_OPENING: Final = {
    "postgresql": ["SELECT pg_reload_conf()"],
    "mariadb": [
        sql.format(f"bench@'{host}'") for host in ("127.0.0.1", "localhost")
        for sql in ("CREATE USER {} IDENTIFIED BY ''", "GRANT ALL ON *.* TO {}")
    ],
}  # fmt: skip
_WHERE: Final = {
    "postgresql": "SELECT current_setting('unix_socket_directories') AS socket, current_setting('port') AS port",
    "mariadb": "SELECT @@socket AS socket, @@port AS port",
}
_URLS: Final = {
    "postgresql": {
        UNIX: "postgresql://postgres@/postgres?host={socket}&port={port}&sslmode=disable",
        TCP: "postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable",
    },
    "mariadb": {UNIX: "mariadb://bench@/?socket={socket}", TCP: "mariadb://bench@127.0.0.1:{port}/?ssl_mode=disabled"},
}


@dataclass(frozen=True)
class Place:
    """A running server."""

    server: servers.Server
    scale: int
    urls: Mapping[str, str]
    """By transport."""

    def cpu_s(self) -> float:
        """CPU time of all processes of the server, and of those that they have buried."""
        spent = 0.0
        for pid in self.server.pids():
            with suppress(psutil.NoSuchProcess):
                spent += sum(psutil.Process(pid).cpu_times()[:4])
        return spent


@contextmanager
def started(product: str, scale: int, connections: int, more: Mapping[str, str]) -> Iterator[Place]:
    """A private server to which clients connect without a password: to log in is no part of what is compared, and
    pgbench would pay for the derivation of a key."""
    spec = Target(url=f"private:{product}", settings={**SETTINGS.get(product, {}), **more})
    with servers.start(spec, connections) as server:
        urls = {TCP: server.url}
        if product in _URLS:
            if product == "postgresql":
                (server.directory / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
            target = TargetDatabase(server.url)
            for statement in _OPENING[product]:
                target.fetch(statement)
            [row] = target.fetch(_WHERE[product])
            target.close()
            socket, port = quote(row["socket"] or "", safe="/"), row["port"]
            urls = {transport: url.format(socket=socket, port=port) for transport, url in _URLS[product].items()}
        yield Place(server, scale, urls)


@contextmanager
def populated(product: str, tables: str, scale: int, connections: int, more: Mapping[str, str]) -> Iterator[Place]:
    """The same with the tables of a workload, or with those of ``pgbench -i``."""
    with started(product, scale, connections, more) as place:
        if tables == "pgbench":
            run([program("pgbench"), "-i", "-q", "-s", f"{scale}"], libpq(place.urls[UNIX], "public"), 900)
        else:
            fill(place.server.url, tables, scale)
        if (product, tables) == ("mariadb", "tpcb"):
            target = TargetDatabase(place.server.url)
            target.fetch(QUIET)
            target.close()
        yield place


def fill(
    url: str, tables: str, scale: int, rows: Callable[[], None] | None = None,
    ready: Callable[[], None] | None = None, own: Mapping[str, str] | None = None,
) -> tuple[int, dict[str, float]]:
    """Makes the tables of a workload anew, fills them by dsbench or by ``rows``, adds keys, cleans and checks.

    Gives the number of rows and the seconds of each phase. ``ready`` is done before the rows, and not timed; ``own``
    are settings of the workload."""
    spec, target = with_file({"workload": tables}), TargetDatabase(url)
    try:
        if target.state()[0] == "marked":
            target.drop()
        target.create("bench")
        settings = own or (TPCC if tables == "tpcc" else spec.get("workload_settings", {}))
        bench = Bench(target, spec["workload"], scale, None, settings)
        took = {"create": bench.phase("create", unseen).duration_ns / 1e9}
        if ready:
            ready()
        began = time.monotonic()
        if rows:
            rows()
        else:
            bench.populate(False, 1 if target.dialect.single_writer else psutil.cpu_count() or 1, unseen)
        took["populate"] = time.monotonic() - began
        took |= {name: bench.phase(name, unseen).duration_ns / 1e9 for name in ("primary_key", "foreign_key", "clean")}
        took |= {one.name: bench.work(one, unseen).duration_ns / 1e9 for one in bench.stages if one.work == "work"}
        broken = [condition for condition in bench.check(None, unseen).conditions if condition.state is State.BROKEN]
    finally:
        target.close()
    if broken:
        raise BenchError(f"the population is not whole: {broken[0].name}: {broken[0].detail}")
    return bench.rows, took
