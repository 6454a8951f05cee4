"""A private MariaDB server: its own data folder, reached by a Unix socket in it."""

from __future__ import annotations

from pathlib import Path

from dsbench import spec
from dsbench.servers.errors import Installation
from dsbench.servers.limits import Group, planned
from dsbench.servers.mysql import binaries, galera, instance, replicas
from dsbench.servers.mysql.instance import MySQLInstance
from dsbench.servers.replication import SYNC
from dsbench.servers.settings import wrong


def start(target: spec.Target, base: Path, connections: int, group: Group | None = None) -> MySQLInstance:
    """Makes a data folder in a new folder of ``base`` and starts its server.

    The setting ``storage_engine`` names that of the tables: with ``RocksDB`` MyRocks is loaded.
    ``basedir`` names the folder of an unpacked MariaDB in place of an installed one. With ``replicas`` others follow
    it; with ``galera`` it is one of several nodes. Raises ``spec.SpecError`` and ``ServerError``; then nothing is left
    behind.
    """
    own, nodes, replication = _parted(target)

    def grouped() -> Group | None:
        return planned(group.limits, base) if group is not None else None

    if nodes:
        return galera.GaleraCluster(own, base, connections, nodes, grouped)
    if replication is not None:
        return replicas.ReplicatedMariaDB(own, base, connections, replication, grouped)
    return MySQLInstance(binaries.MARIADB, own, base, connections, group)


def _parted(target: spec.Target) -> tuple[spec.Target, int, replicas.Replication | None]:
    """The target of each server, the number of nodes of Galera, and the replication."""
    settings, nodes = galera.parted(target.settings)
    if nodes and (others := {replicas.REPLICAS, SYNC} & {name.lower() for name in settings}):
        raise wrong(f"{', '.join(others)} and {galera.GALERA} exclude each other", "omit one of them")
    settings, replication = replicas.parted(settings)
    return target.model_copy(update={"settings": settings}), nodes, replication


def find(target: spec.Target) -> binaries.MySQLBinaries:
    """The programs that ``target`` asks for. ``spec.SpecError`` or ``ServerError`` where they are not here."""
    return instance.find(binaries.MARIADB, _parted(target)[0])


def refuse(target: spec.Target, connections: int) -> None:
    """``spec.SpecError`` or ``ServerError`` where ``target`` cannot be started for so many connections."""
    own, nodes, replication = _parted(target)
    if nodes:
        galera.check_programs(find(target))
    if replication is not None:
        replicas.check_programs(find(target))
    instance.refuse(binaries.MARIADB, own, connections)


def installations() -> list[Installation]:
    """Versions found here, the newest first, or one line that says how to get one."""
    return binaries.installations(binaries.MARIADB)
