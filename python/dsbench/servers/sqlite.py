"""A private SQLite database: a folder with one file, opened by the load process itself."""

from __future__ import annotations

import atexit
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

from dsbench import spec
from dsbench.servers.errors import ServerError
from dsbench.servers.folder import Folder
from dsbench.servers.installation import Installation, storage_notes

SETTINGS = {
    "journal_mode": ("delete", "truncate", "persist", "memory", "wal", "off"),
    "synchronous": ("off", "normal", "full", "extra"),
    "cache_size": None,
    "mmap_size": None,
    "page_size": None,
    "busy_timeout_ms": None,
    "foreign_keys": ("on", "off"),
    "begin": ("immediate", "deferred"),
}
"""Settings by name and their words; ``None`` is a whole number."""


class Sqlite:
    """A folder that holds the database file ``run.db``."""

    version = "SQLite (part of dsbench)"

    def __init__(self, folder: Folder, settings: dict[str, str]) -> None:
        self._folder = folder
        self.directory = folder.path
        self.notes = storage_notes(folder.path)
        path = quote((folder.path / "run.db").as_posix(), safe="/:")
        self.url = f"sqlite:///{path}" + (f"?{urlencode(settings)}" if settings else "")
        atexit.register(self.stop)

    def log_tail(self, lines: int = 40) -> list[str]:  # noqa: ARG002
        """Nothing: SQLite keeps no log."""
        return []

    def pids(self) -> list[int]:
        """None: SQLite runs in the process that makes the load."""
        return []

    def stop(self) -> None:
        """Removes the folder."""
        self._folder.remove()
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(target: spec.Target, base: Path, connections: int) -> Sqlite:  # noqa: ARG001
    """Makes the folder. The file appears when an engine opens the URL."""
    if target.version is not None:
        raise spec.SpecError("TARGET.version", "SQLite is part of dsbench and comes in one version", "leave it out")
    settings = {name: _checked(name, value) for name, value in target.settings.items()}
    try:
        return Sqlite(Folder.create(base, "sqlite"), settings)
    except OSError as error:
        raise ServerError(f"cannot write to {base}: {error.strerror}", "name another folder: directory = …") from error


def installations() -> list[Installation]:
    """SQLite is always there."""
    return [Installation("sqlite", Sqlite.version, None)]


def _checked(name: str, value: str) -> str:
    if name not in SETTINGS:
        raise spec.SpecError("--set", f"SQLite has no {name!r} here", f"use some of {', '.join(SETTINGS)}")
    words = SETTINGS[name]
    if words is None:
        if not value.removeprefix("-").isdecimal():
            raise spec.SpecError("--set", f"{name} is {value!r}", "give a whole number")
    elif value.lower() not in words:
        raise spec.SpecError("--set", f"{name} is {value!r}", f"use one of {', '.join(words)}")
    return value.lower()
