"""A private PostgreSQL server: its own cluster, reached by a Unix socket in its folder."""

from __future__ import annotations

from pathlib import Path

from dsbench import spec
from dsbench.servers import sources
from dsbench.servers.errors import Installation
from dsbench.servers.limits import Group
from dsbench.servers.postgresql import binaries
from dsbench.servers.postgresql.instance import Instance

_BLOCKS = "block_size"

__all__ = ["Instance", "find", "installations", "start"]


def start(target: spec.Target, base: Path, connections: int, group: Group | None = None) -> Instance:
    """Makes a cluster in a new folder of ``base`` and starts its server.

    The setting ``block_size``, in KiB or bytes, chooses programs that were built with it: no server can change its own.
    Raises ``spec.SpecError`` and ``ServerError``; then nothing is left behind.
    """
    settings = {name: value for name, value in target.settings.items() if name.lower() != _BLOCKS}
    return Instance(find(target), base, settings, connections, group)


def find(target: spec.Target) -> binaries.Binaries:
    """The programs that ``target`` asks for. ``spec.SpecError`` or ``ServerError`` where they are not here."""
    wanted = next((value for name, value in target.settings.items() if name.lower() == _BLOCKS), None)
    block = None if wanted is None else sources.checked(wanted, "--set block_size")
    return binaries.find(target.version, block)


def installations() -> list[Installation]:
    """Versions found here, the newest first, or one line that says how to get one."""
    blocks = {b: f", blocks of {b.block} KiB" if b.block else "" for b in binaries.found()}
    found = [Installation("postgresql", f"PostgreSQL {b.version}{words}", b.folder) for b, words in blocks.items()]
    return found or [Installation("postgresql", "", None, binaries.REMEDY)]
