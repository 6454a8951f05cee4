"""What the clients of ``dsbench.spec.drivers`` are here: whether they are installed, their versions, their sessions."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Final

from dsbench import caches
from dsbench.measure.drivers import firebird, mysql, peers, postgres, sqlite
from dsbench.measure.drivers.session import Session, Unproved, proved
from dsbench.spec.drivers import Driver, Peer
from dsbench.spec.target import Target

__all__ = ["SESSIONS", "DriverError", "missing", "session_opener", "version"]

SESSIONS: Final[Mapping[str, Callable[[ModuleType, Target, str], Session]]] = {
    "psycopg": postgres.Psycopg, "psycopg2": postgres.Psycopg2, "pg8000": postgres.Pg8000, "pymysql": mysql.PyMySQL,
    "firebird-driver": firebird.FirebirdDriver, "firebirdsql": firebird.FirebirdSQL, "sqlite3": sqlite.SQLite,
}  # fmt: skip
"""What opens a session of a driver, by its name: module, target, isolation."""


class DriverError(Exception):
    """A driver that cannot be had, or that did not connect. Holds no password."""


def missing(client: Driver | Peer) -> str:
    """Why ``client`` cannot be used, with what to do; empty where it can."""
    if isinstance(client, Peer):
        return "" if peers.program(client.name) else f"{client.name} is not installed: apt install {client.package}"
    if client.version:
        if caches.driver(client.name, client.version).is_dir():
            return ""
        install = f"dsbench servers install {client.name} --version {client.version}"
        return f"{client.name} {client.version} is not installed: {install}"
    top = client.module.partition(".")[0]
    if importlib.util.find_spec(top) is not None and importlib.util.find_spec(client.module) is not None:
        return ""
    return f"{client.name} is not installed: pip install 'dsbench-db[drivers]' or pip install '{client.package}'"


def version(client: Driver | Peer) -> str:
    """Name and version of ``client``, and of the Python that a driver is called from."""
    if isinstance(client, Peer):
        return peers.version(client.name)
    python = f"Python {sys.version.split()[0]}"
    if not client.package:
        library = getattr(importlib.import_module(client.module), "sqlite_version", "")
        return f"{client.name} of {python}, SQLite {library}"
    package, places = client.package.partition("[")[0], sys.path
    if client.version:
        places = [str(caches.driver(client.name, client.version))]
    found = next(iter(importlib.metadata.distributions(name=package, path=places)), None)
    return f"{client.name} {found.version if found else client.version}, {python}"


def session_opener(driver: Driver, target: Target) -> Callable[[str], Session]:
    """What opens a session with ``target`` at a level of isolation. ``DriverError`` when it cannot."""
    if words := missing(driver):
        raise DriverError(words)
    if driver.version:  # This process has no other driver, and takes all that belongs to it from there.
        sys.path.insert(0, str(caches.driver(driver.name, driver.version)))
    try:
        module = importlib.import_module(driver.module)
    except ImportError as error:
        raise DriverError(f"{driver.name}: {error}; pip install '{driver.package}'") from None

    def opened(isolation: str) -> Session:
        try:
            return proved(SESSIONS[driver.name](module, target, isolation), isolation)
        except Unproved as error:
            raise DriverError(f"{driver.name}: {error}") from None
        except Exception as error:
            words = target.without_password(f"{type(error).__name__}: {error}")
            raise DriverError(f"{driver.name}: {words}") from None

    return opened
