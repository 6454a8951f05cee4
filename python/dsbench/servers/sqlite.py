"""A private SQLite database: a folder with one file, opened by the load process itself."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from dsbench import spec
from dsbench.servers.errors import Installation
from dsbench.servers.limits import Group
from dsbench.servers.server import Server
from dsbench.servers.settings import wrong
from dsbench.spec.target import parameters_joined

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


class Sqlite(Server):
    """A folder that holds the database file ``run.db``, which appears when an engine opens the URL."""

    version = "SQLite (part of dsbench)"

    def __init__(self, base: Path, settings: dict[str, str]) -> None:
        self._settings = settings
        super().__init__(base, "sqlite")

    def _furnish(self, root: Path) -> Path:
        return root

    def _start(self) -> None:
        path = quote((self.directory / "run.db").as_posix(), safe="/:")
        self.url = f"sqlite:///{path}{parameters_joined(self._settings)}"


def start(
    target: spec.Target, base: Path, connections: int, group: Group | None = None  # noqa: ARG001
) -> Sqlite:
    """Makes the folder in ``base``. Raises ``spec.SpecError`` and ``ServerError``."""
    return Sqlite(base, refuse(target, connections))


def find(target: spec.Target) -> None:
    """It is always here, in one version; ``spec.SpecError`` where ``target`` asks for another."""
    if target.version is not None:
        raise spec.SpecError("TARGET.version", "SQLite is part of dsbench and comes in one version", "omit it")


def refuse(target: spec.Target, connections: int) -> dict[str, str]:  # noqa: ARG001
    """The settings of ``target``, checked. Raises ``spec.SpecError``."""
    find(target)
    return {name: _checked(name, value) for name, value in target.settings.items()}


def installations() -> list[Installation]:
    """SQLite is always there."""
    return [Installation("sqlite", Sqlite.version, None)]


def _checked(name: str, value: str) -> str:
    if name not in SETTINGS:
        raise wrong(f"dsbench has no setting {name!r} for SQLite", f"use some of {', '.join(SETTINGS)}")
    words = SETTINGS[name]
    if words is None:
        if not value.removeprefix("-").isdecimal():
            raise wrong(f"{name} is {value!r}", "give a whole number")
    elif value.lower() not in words:
        raise wrong(f"{name} is {value!r}", f"use one of {', '.join(words)}")
    return value.lower()
