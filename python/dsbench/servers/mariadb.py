"""A private MariaDB server: its own data folder, reached by a Unix socket in it."""

from __future__ import annotations

from pathlib import Path

from dsbench import spec
from dsbench.servers.errors import Installation
from dsbench.servers.limits import Group
from dsbench.servers.mysql import binaries, instance
from dsbench.servers.mysql.instance import MySQLInstance


def start(target: spec.Target, base: Path, connections: int, group: Group | None = None) -> MySQLInstance:
    """Makes a data folder in a new folder of ``base`` and starts its server.

    The setting ``storage_engine`` names that of the tables: with ``RocksDB`` MyRocks is loaded.
    ``basedir`` names the folder of an unpacked MariaDB in place of an installed one. Raises
    ``spec.SpecError`` and ``ServerError``; then nothing is left behind.
    """
    return MySQLInstance(binaries.MARIADB, target, base, connections, group)


def find(target: spec.Target) -> binaries.MySQLBinaries:
    """The programs that ``target`` asks for. ``spec.SpecError`` or ``ServerError`` where they are not here."""
    return instance.find(binaries.MARIADB, target)


def refuse(target: spec.Target, connections: int) -> None:
    """``spec.SpecError`` or ``ServerError`` where ``target`` cannot be started for so many connections."""
    instance.refuse(binaries.MARIADB, target, connections)


def installations() -> list[Installation]:
    """Versions found here, the newest first, or one line that says how to get one."""
    return binaries.installations(binaries.MARIADB)
