"""Where the comparison takes place: a private PostgreSQL with dsbench's tables, for all clients alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from dsbench import servers
from dsbench.measure.loaders import Bench, Target
from dsbench.spec import Target as TargetSpec

UNIX, TCP = "unix socket", "TCP"

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "autovacuum": "off",
}
"""No checkpoint and no vacuum comes between two clients that are compared."""


TPCB: Final[Mapping[str, Any]] = {"workload": "tpcb", "workload_settings": {}}
"""Of a specification, what says the tables."""


@dataclass(frozen=True)
class Place:
    """A running server, populated at one scale."""

    version: str
    scale: int
    folder: str
    """Of the unix socket."""
    port: int

    def url(self, transport: str) -> str:
        """What dsbench connects to."""
        if transport == UNIX:
            return f"postgresql://postgres@/postgres?host={quote(self.folder, safe='/')}&port={self.port}"
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable"

    def environment(self, transport: str) -> dict[str, str]:
        """What libpq's programs connect to, and dsbench's schema for them."""
        return {
            "PGHOST": self.folder if transport == UNIX else "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": "postgres",
            "PGDATABASE": "postgres",
            "PGSSLMODE": "disable",
            "PGOPTIONS": "-c search_path=dsbench",
        }


@contextmanager
def populated(
    scale: int, connections: int, more: Mapping[str, str], workload: Mapping[str, Any] = TPCB
) -> Iterator[Place]:
    """Starts a server with ``SETTINGS`` and ``more``, populates it by dsbench, and stops it in the end."""
    spec = TargetSpec(url="private:postgresql", settings={**SETTINGS, **more})
    with servers.start(spec, connections) as server:
        there = place_of(server, scale)
        target = Target(server.url)
        target.create("bench")
        populate(target, scale, workload)
        target.close()
        yield there


def place_of(server: servers.Server, scale: int) -> Place:
    """Opens a private PostgreSQL to all clients, without a password, which would cost pgbench a key derivation."""
    (server.directory / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
    target = Target(server.url)
    target.fetch("SELECT pg_reload_conf()")
    folder, port = _shown(target, "unix_socket_directories"), int(_shown(target, "port"))
    target.close()
    return Place(server.version, scale, folder, port)


def populate(target: Target, scale: int, workload: Mapping[str, Any] = TPCB) -> dict[str, float]:
    """Fills the tables of ``workload``, adds all keys and cleans; gives the seconds of each phase."""
    bench = Bench(target, workload["workload"], scale, None, workload["workload_settings"])
    phases = {"create": bench.phase("create", _unseen), "populate": bench.populate(False, 2, _unseen)}
    phases |= {name: bench.phase(name, _unseen) for name in ("primary_key", "foreign_key", "clean")}
    return {name: phase.duration_ns / 1e9 for name, phase in phases.items()}


def _unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


def _shown(target: Target, setting: str) -> str:
    [row] = target.fetch(f"SHOW {setting}")
    return row[setting] or ""
