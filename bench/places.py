"""Where the comparison takes place: private servers with dsbench's tables, for all clients alike.

The tables lie in memory, and no checkpoint, vacuum or sweep of the server comes between two clients.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import psutil

from bench.clients import BenchError, unseen
from dsbench import servers
from dsbench.generator import Bench, Target
from dsbench.spec import Target as TargetSpec

UNIX, TCP = "unix socket", "TCP"
POSTGRESQL: Final = {
    "listen_addresses": "127.0.0.1", "shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min",
    "autovacuum": "off",
}  # fmt: skip
MARIADB: Final = {
    "innodb_buffer_pool_size": "1G", "innodb_log_file_size": "1G", "performance_schema": "off",
    "bind_address": "127.0.0.1",
}  # fmt: skip
FIREBIRD: Final = {"forced_writes": "off", "sweep_interval": "0", "page_size": "8192", "page_buffers": "65536"}
SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "postgresql": POSTGRESQL, "mariadb": MARIADB, "firebird": FIREBIRD
}  # fmt: skip
UNSAFE: Final = {"fsync": "off", "synchronous_commit": "off"}
TPCB: Final[Mapping[str, Any]] = {"workload": "tpcb", "workload_settings": {}}

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


@dataclass(frozen=True)
class Place:
    """A running server."""

    server: servers.Server
    scale: int
    urls: Mapping[str, str]
    """By transport."""

    @property
    def version(self) -> str:
        return self.server.version

    def cpu_s(self) -> float:
        """CPU time of all processes of the server, and of those that they have buried."""
        spent = 0.0
        for pid in self.server.pids():
            with suppress(psutil.NoSuchProcess):
                spent += sum(psutil.Process(pid).cpu_times()[:4])
        return spent


@contextmanager
def started(product: str, connections: int, more: Mapping[str, str] | None = None, scale: int = 0) -> Iterator[Place]:
    """A private server to which all clients of this machine connect without a password."""
    spec = TargetSpec(url=f"private:{product}", settings={**SETTINGS.get(product, {}), **(more or {})})
    with servers.start(spec, connections) as server:
        yield Place(server, scale, _opened(product, server))


def _opened(product: str, server: servers.Server) -> dict[str, str]:
    """Logging in is no part of what is compared: pgbench would pay for the derivation of a key."""
    if product not in ("postgresql", "mariadb"):
        return {TCP: server.url}
    if product == "postgresql":
        (server.directory / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
        opening, names = ["SELECT pg_reload_conf()"], ("unix_socket_directories", "port")
        asking = f"SELECT current_setting('{names[0]}') AS socket, current_setting('{names[1]}') AS port"
    else:
        hosts = ("127.0.0.1", "localhost")
        opening = [f"CREATE USER bench@'{host}' IDENTIFIED BY ''" for host in hosts]
        opening += [f"GRANT ALL ON *.* TO bench@'{host}'" for host in hosts]
        asking = "SELECT @@socket AS socket, @@port AS port"
    target = Target(server.url)
    for statement in opening:
        target.fetch(statement)
    [row] = target.fetch(asking)
    target.close()
    socket, port = quote(row["socket"] or "", safe="/"), row["port"]
    if product == "mariadb":
        return {UNIX: f"mariadb://bench@/?socket={socket}", TCP: f"mariadb://bench@127.0.0.1:{port}/?ssl_mode=disabled"}
    return {
        UNIX: f"postgresql://postgres@/postgres?host={socket}&port={port}&sslmode=disable",
        TCP: f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable",
    }


@contextmanager
def populated(
    product: str, scale: int, connections: int, more: Mapping[str, str] | None = None, workload: Mapping[str, Any] = TPCB
) -> Iterator[Place]:
    """The same with the tables of ``workload``."""
    with started(product, connections, more, scale) as place:
        fill(place.server.url, workload, scale)
        if product == "mariadb" and workload is TPCB:
            target = Target(place.server.url)
            target.fetch(QUIET)
            target.close()
        yield place


def fill(
    url: str, workload: Mapping[str, Any], scale: int, rows: Callable[[], None] | None = None,
    ready: Callable[[], None] = lambda: None,
) -> tuple[int, dict[str, float]]:  # fmt: skip
    """Makes the tables anew, fills them by dsbench or by ``rows``, adds keys, cleans and checks: number of rows, seconds
    of each phase. ``ready`` is done before, and not timed."""
    target = Target(url)
    try:
        if target.state()[0] == "marked":
            target.drop()
        target.create("bench")
        bench = Bench(target, workload["workload"], scale, None, workload["workload_settings"])
        took = {"create": bench.phase("create", unseen).duration_ns / 1e9}
        ready()
        began = time.monotonic()
        if rows is None:
            bench.populate(False, 1 if target.dialect.single_writer else psutil.cpu_count() or 1, unseen)
        else:
            rows()
        took["populate"] = time.monotonic() - began
        took |= {name: bench.phase(name, unseen).duration_ns / 1e9 for name in ("primary_key", "foreign_key", "clean")}
        broken = [condition for condition in bench.check(None, unseen).conditions if not condition.holds]
    finally:
        target.close()
    if broken:
        raise BenchError(f"the population is not whole: {broken[0].name}: {broken[0].detail}")
    return bench.rows, took
