"""Where dsbench keeps, between runs, what it can always get or make again."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path


def folder() -> Path:
    """dsbench's folder of the user's caches; the system's for the superuser, whose home is closed to others."""
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/cache/dsbench")
    try:
        base = Path(named) if named else Path.home() / ("AppData/Local" if sys.platform == "win32" else ".cache")
    except RuntimeError:  # A user without a name and a home, as in a container of any user's.
        base = Path(tempfile.gettempdir())
    return base / "dsbench"


def keep(path: Path, content: bytes) -> None:
    """Writes ``path`` whole or not at all; without complaint where that cannot be done."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            unfinished = Path(file.name)
            try:
                file.write(content)
                file.close()
                unfinished.replace(path)
            finally:
                unfinished.unlink(missing_ok=True)


def servers() -> Path:
    """Where ``dsbench servers install`` unpacks servers, which then disturb nothing that the system has installed;
    ``DSBENCH_SERVERS`` names another place.

    The superuser's home is closed to the user that a server runs under, hence the system's cache for him.
    """
    named = os.environ.get("DSBENCH_SERVERS")
    if named:
        return Path(named).absolute()
    return folder() / "servers"


def driver(name: str, version: str) -> Path:
    """Where a version of a driver of Python lies: in no environment of the user's."""
    return servers() / "drivers" / f"{name}-{version}"


def holds(path: Path) -> bool:
    """Whether ``path`` lies in the folder of ``servers``."""
    return path.resolve().is_relative_to(servers().resolve())


def unpacked(product: str) -> list[Path]:
    """Folders of the versions of ``product`` that were unpacked, by name."""
    return sorted(path for path in servers().glob(f"{product}-*") if path.is_dir())
