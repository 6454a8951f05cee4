"""dsbench's own folder of server programs: unpacked here, they disturb nothing that the system has installed."""

from __future__ import annotations

import os
from pathlib import Path

from dsbench import caches


def folder() -> Path:
    """Where ``dsbench servers install`` unpacks servers; ``DSBENCH_SERVERS`` names another place.

    The superuser's home is closed to the user that a server runs under, hence the system's cache for him.
    """
    named = os.environ.get("DSBENCH_SERVERS")
    if named:
        return Path(named).absolute()
    return caches.folder() / "servers"


def driver(name: str, version: str) -> Path:
    """Where a version of a driver of Python lies: in no environment of the user's."""
    return folder() / "drivers" / f"{name}-{version}"


def holds(path: Path) -> bool:
    """Whether ``path`` lies in that folder."""
    return path.resolve().is_relative_to(folder().resolve())


def unpacked(product: str) -> list[Path]:
    """Folders of the versions of ``product`` that were unpacked, by name."""
    return sorted(path for path in folder().glob(f"{product}-*") if path.is_dir())
