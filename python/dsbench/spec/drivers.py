"""Clients that make the load of a run in place of dsbench's own: Python's drivers, and other load generators.

``DRIVERS`` and ``PEERS`` are the one list of them. To add a driver: its line here, and its class in
``dsbench.measure.drivers``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.spec.target import Target
from dsbench.spec.words import Unfit

OWN: Final = "own"
"""dsbench's own client."""
VERSION: Final = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}((a|b|rc|\.post|\.dev)\d{1,4})?")
"""Of a package."""
_PREFERRED: Final = ("ssl_mode", "PREFERRED")


@dataclass(frozen=True)
class Driver:
    """A driver of Python's DB-API."""

    name: str
    package: str
    """What pip installs; empty for one that comes with Python."""
    module: str
    dialect: str
    """The engine whose databases it reaches."""
    prepares: bool = False
    """Whether it can have the server parse a statement once."""
    takes: frozenset[str] | None = None
    """Parameters of a target's URL that it heeds, or that are of no matter to its sessions; ``None``: all."""
    least: str = ""
    """Its oldest version that can be used here, where that is known."""
    version: str = ""
    """The one that was asked for by ``NAME@VERSION``, and was installed beside others; empty for that of Python's."""

    def ignored(self, target: Target) -> list[str]:
        """What the URL of ``target`` asks for and the driver would not do."""
        if self.takes is None:
            return []
        several = ["several hosts"] if target.has_several_hosts else []
        return [*several, *sorted(set(target.parameters) - self.takes)]


@dataclass(frozen=True)
class Peer:
    """A program that makes load by itself and tells what it did."""

    name: str
    package: str
    """What apt installs."""
    dialects: Mapping[str, str]
    """Engine to its own name for it."""
    untold: tuple[str, ...]
    """Columns of the tables ``cycles`` and ``seconds`` that it tells nothing of."""
    whole: str
    """How it differs from dsbench's own client, in words."""

    def ignored(self, target: Target) -> list[str]:
        """What the URL of ``target`` asks for and the program would not do."""
        several = ["several hosts"] if target.has_several_hosts else []
        asked = target.parameters.items()
        ignored = (name for name, value in asked if name not in _OF_PEERS and (name, value) != _PREFERRED)
        return [*several, *sorted(ignored)]


_POSTGRES = frozenset({
    "user", "password", "host", "port", "dbname", "options", "sslmode", "sslrootcert", "sslcert", "sslkey",
    "application_name", "connect_timeout", "gssencmode",
})  # fmt: skip
_MYSQL = frozenset({
    "socket", "ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "storage_engine", "connect_timeout",
    "allow_public_key_retrieval",
})  # fmt: skip
_OF_PEERS = _POSTGRES | {"hostaddr", "passfile", "channel_binding", "socket", "storage_engine"}
_FIREBIRD = frozenset({
    "page_size", "page_buffers", "sweep_interval", "forced_writes", "connect_timeout", "client_library",
})  # fmt: skip

DRIVERS: Final = {
    driver.name: driver
    for driver in (
        Driver("psycopg", "psycopg[binary]", "psycopg", "postgres", prepares=True, least="3.1"),
        Driver("psycopg2", "psycopg2-binary", "psycopg2", "postgres"),
        Driver("pg8000", "pg8000", "pg8000.dbapi", "postgres", takes=_POSTGRES, least="1.31"),
        Driver("pymysql", "PyMySQL", "pymysql", "mysql", takes=_MYSQL),
        Driver("firebird-driver", "firebird-driver", "firebird.driver", "firebird", True, _FIREBIRD | {"wait"}, "2"),
        Driver("firebirdsql", "firebirdsql", "firebirdsql", "firebird", True, _FIREBIRD | {"wire_crypt"}),
        Driver("sqlite3", "", "sqlite3", "sqlite", prepares=True),
    )
}
_LEDGER: Final = (
    "ended_ns", "in_flight_ns", "in_flight_max_ns", "connecting_ns", "waiting_ns", "client_ns", "client_p99_ns",
    "busy", "busy_later", "under_way", "oldest_ns",
)  # fmt: skip
"""Where the time of a client went, and when nothing ended: no other program tells it."""
PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer(
            "pgbench", "postgresql", {"postgres": "pgsql"}, ("remote", "failed_ns", *_LEDGER),
            "times in whole microseconds; waits for BEGIN as for other statements",
        ),
        Peer(
            "sysbench", "sysbench", {"postgres": "pgsql", "mysql": "mysql"},
            ("remote", "failed_ns", "retries", *_LEDGER),
            "times in steps of 1.8%; no figures per client",
        ),
    )
}  # fmt: skip
NAMES: Final = (OWN, *DRIVERS, *PEERS)
"""Words of ``--driver``, that of the default first."""


def find_driver(name: str) -> Driver | Peer | None:
    """The client called so, a driver also as ``psycopg@3.1.18``; ``None`` for dsbench's own. ``ValueError`` for an
    unknown name."""
    plain, at, version = name.partition("@")
    if plain not in NAMES:
        raise Unfit(f"no client program {name[:40]!r}", f"use one of {', '.join(NAMES)}")
    if not at:
        return DRIVERS.get(name) or PEERS.get(name)
    if plain not in DRIVERS or not DRIVERS[plain].package:
        versioned = ", ".join(driver.name for driver in DRIVERS.values() if driver.package)
        raise Unfit(f"{plain} has no versions", f"omit it, or use one of {versioned}")
    if not VERSION.fullmatch(version):
        raise Unfit(f"{version[:40]!r} is not a version of {plain}", "write, for example, psycopg@3.1.18")
    driver = DRIVERS[plain]
    if _numbers(version) < _numbers(driver.least):
        raise Unfit(f"{plain} {version} lacks functions that dsbench calls", f"use {driver.least} or later")
    return replace(driver, version=version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def clients_of(dialect: str) -> list[str]:
    """Names of the clients for databases of ``dialect``."""
    drivers = [one.name for one in DRIVERS.values() if one.dialect == dialect]
    return [OWN, *drivers, *(one.name for one in PEERS.values() if dialect in one.dialects)]
