"""A private PostgreSQL server: its own cluster, reached by a Unix socket in its folder."""

from __future__ import annotations

from pathlib import Path

from dsbench import spec
from dsbench.servers import sources
from dsbench.servers.errors import Installation
from dsbench.servers.limits import Group, planned
from dsbench.servers.postgresql import binaries, instance, standbys
from dsbench.servers.postgresql.instance import PostgresInstance

_BLOCKS, _BASE = "block_size", "basedir"

__all__ = ["PostgresInstance", "find", "installations", "refuse", "start"]


def start(target: spec.Target, base: Path, connections: int, group: Group | None = None) -> PostgresInstance:
    """Makes a cluster in a new folder of ``base`` and starts its server.

    The setting ``block_size``, in KiB or bytes, chooses programs that were built with it: no server can change its own.
    ``basedir`` names the folder of an unpacked or built PostgreSQL in place of an installed one.
    Raises ``spec.SpecError`` and ``ServerError``; then nothing is left behind.
    """
    settings, replication = standbys.parted(_settings(target))
    if replication is None:
        return PostgresInstance(find(target), base, settings, connections, group)

    def grouped() -> Group | None:
        return planned(group.limits, base) if group is not None else None

    standbys.check_programs(find(target))
    return standbys.ReplicatedPostgres(find(target), base, settings, connections, replication, grouped)


def refuse(target: spec.Target, connections: int) -> None:
    """``spec.SpecError`` or ``ServerError`` where ``target`` cannot be started for so many connections."""
    own, replication = standbys.parted(_settings(target))
    if replication is not None:
        standbys.check_programs(find(target))
    _, settings, _ = instance.parted(own, connections)
    instance.refuse(find(target), settings, None, {"LC_ALL": "C"})


def _settings(target: spec.Target) -> dict[str, str]:
    return {name: value for name, value in target.settings.items() if name.lower() not in (_BLOCKS, _BASE)}


def find(target: spec.Target) -> binaries.PostgresBinaries:
    """The programs that ``target`` asks for. ``spec.SpecError`` or ``ServerError`` where they are not here."""
    said = {name.lower(): value for name, value in target.settings.items()}
    block = sources.checked(said[_BLOCKS], "--set block_size") if _BLOCKS in said else None
    if _BASE not in said:
        return binaries.find(target.version, block)
    if block is not None:
        problem = "the programs in basedir have a fixed block size: block_size has no effect"
        raise spec.SpecError("--set", problem, "omit one of them")
    return binaries.find_in(Path(said[_BASE]), target.version)


def installations() -> list[Installation]:
    """Versions found here, the newest first, or one line that says how to get one."""
    blocks = {b: f", blocks of {b.block} KiB" if b.block else "" for b in binaries.found()}
    found = [Installation("postgresql", f"PostgreSQL {b.version}{words}", b.folder) for b, words in blocks.items()]
    return found or [Installation("postgresql", "", None, binaries.REMEDY)]
