"""Other clients of a database, which make the load of a run in place of dsbench's own: Python's drivers, and programs.

``DRIVERS`` and ``PEERS`` are the one list of them. To add a driver: its class beside those of its product, and its
line here.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from dsbench.drivers import firebird, mysql, postgres, sqlite
from dsbench.drivers.address import Address
from dsbench.drivers.peers import PEERS, Peer
from dsbench.drivers.session import Session, Unproved, proved

__all__ = ["DRIVERS", "OWN", "PEERS", "Driver", "DriverError", "Peer", "Session", "find", "names", "reaching"]

OWN: Final = "own"
"""dsbench's own client."""


class DriverError(Exception):
    """A driver that cannot be had, or that did not connect. Holds no password."""


@dataclass(frozen=True)
class Driver:
    """A driver of Python's DB-API."""

    name: str
    package: str
    """What pip installs; empty for one that comes with Python."""
    module: str
    dialect: str
    """The engine whose databases it reaches."""
    session: Callable[[ModuleType, Address, str], Session]
    """Opens a session: module, address, isolation."""
    prepares: bool = False
    """Whether it can have the server parse a statement once."""
    takes: frozenset[str] | None = None
    """Parameters of a target's URL that it heeds, or that are of no matter to its sessions; ``None``: all."""

    @property
    def missing(self) -> str:
        """Why it cannot be used, with what to do; empty where it can."""
        top = self.module.partition(".")[0]
        if importlib.util.find_spec(top) is not None and importlib.util.find_spec(self.module) is not None:
            return ""
        return f"{self.name} is not installed: pip install 'dsbench-db[drivers]' or pip install '{self.package}'"

    @property
    def version(self) -> str:
        """Name, version and Python."""
        python = f"Python {sys.version.split()[0]}"
        if not self.package:
            library = getattr(importlib.import_module(self.module), "sqlite_version", "")
            return f"{self.name} of {python}, SQLite {library}"
        return f"{self.name} {importlib.metadata.version(self.package.partition('[')[0])}, {python}"

    def ignored(self, url: str) -> list[str]:
        """What ``url`` asks for and the driver would not do."""
        return [] if self.takes is None else sorted(set(Address.of(url).query) - self.takes)

    def opener(self, url: str) -> Callable[[str], Session]:
        """What opens a session with the database of ``url`` at a level of isolation. ``DriverError`` when it cannot."""
        if self.missing:
            raise DriverError(self.missing)
        try:
            module, address = importlib.import_module(self.module), Address.of(url)
        except ImportError as error:
            raise DriverError(f"{self.name}: {error}; pip install '{self.package}'") from None

        def opened(isolation: str) -> Session:
            try:
                return proved(self.session(module, address, isolation), isolation)
            except Unproved as error:
                raise DriverError(f"{self.name}: {error}") from None
            except Exception as error:
                words = address.without_password(f"{type(error).__name__}: {error}")
                raise DriverError(f"{self.name}: {words}") from None

        return opened


_POSTGRES = frozenset({
    "user", "password", "host", "port", "dbname", "options", "sslmode", "sslrootcert", "sslcert", "sslkey",
    "application_name", "connect_timeout", "gssencmode",
})  # fmt: skip
_MYSQL = frozenset({
    "socket", "ssl_mode", "ssl_ca", "ssl_cert", "ssl_key", "storage_engine", "connect_timeout",
    "allow_public_key_retrieval",
})  # fmt: skip
_FIREBIRD = frozenset({
    "page_size", "page_buffers", "sweep_interval", "forced_writes", "connect_timeout", "client_library",
})  # fmt: skip

DRIVERS: Final = {
    driver.name: driver
    for driver in (
        Driver("psycopg", "psycopg[binary]", "psycopg", "postgres", postgres.Psycopg, prepares=True),
        Driver("psycopg2", "psycopg2-binary", "psycopg2", "postgres", postgres.Psycopg2),
        Driver("pg8000", "pg8000", "pg8000.dbapi", "postgres", postgres.Pg8000, takes=_POSTGRES),
        Driver("pymysql", "PyMySQL", "pymysql", "mysql", mysql.PyMySQL, takes=_MYSQL),
        Driver(
            "firebird-driver", "firebird-driver", "firebird.driver", "firebird", firebird.FirebirdDriver, True,
            _FIREBIRD | {"wait"},
        ),
        Driver(
            "firebirdsql", "firebirdsql", "firebirdsql", "firebird", firebird.FirebirdSQL, True,
            _FIREBIRD | {"wire_crypt"},
        ),
        Driver("sqlite3", "", "sqlite3", "sqlite", sqlite.SQLite, True),
    )
}  # fmt: skip
"""By name, as ``--client`` has it."""


def names() -> tuple[str, ...]:
    """Words of ``--client``, that of the default first."""
    return (OWN, *DRIVERS, *PEERS)


def find(name: str) -> Driver | Peer | None:
    """The client called so; ``None`` for dsbench's own. ``ValueError`` for an unknown name."""
    if name not in names():
        raise ValueError(f"no client {name[:40]!r}; use one of {', '.join(names())}")
    return DRIVERS.get(name) or PEERS.get(name)


def reaching(dialect: str) -> list[str]:
    """Clients for databases of ``dialect``."""
    drivers = [one.name for one in DRIVERS.values() if one.dialect == dialect]
    return [OWN, *drivers, *(one.name for one in PEERS.values() if dialect in one.dialects)]
