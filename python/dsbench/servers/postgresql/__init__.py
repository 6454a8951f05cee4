"""A private PostgreSQL server: its own cluster, reached by a Unix socket in its folder."""

from __future__ import annotations

from pathlib import Path

from dsbench import spec
from dsbench.servers.installation import Installation
from dsbench.servers.limits import Group
from dsbench.servers.postgresql import binaries
from dsbench.servers.postgresql.instance import Instance

__all__ = ["Instance", "installations", "start"]


def start(target: spec.Target, base: Path, connections: int, group: Group | None = None) -> Instance:
    """Makes a cluster in a new folder of ``base`` and starts its server.

    Raises ``spec.SpecError`` and ``ServerError``; then nothing is left behind.
    """
    return Instance(binaries.find(target.version), base, target.settings, connections, group)


def installations() -> list[Installation]:
    """Versions found here, the newest first, or one line that says how to get one."""
    found = [Installation("postgresql", f"PostgreSQL {b.version}", b.folder) for b in binaries.found()]
    return found or [Installation("postgresql", "", None, binaries.REMEDY)]
