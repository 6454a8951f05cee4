"""An entry of a commons: an archive without what shows where it was made, and its figures in a small JSON.

A folder with entries::

    entries/20261123-postgresql-tpcb-07068b4690/entry.json     who, what, on what, which figures
    entries/20261123-postgresql-tpcb-07068b4690/archive.zip    run.json, the tables, results.csv

``archive.zip`` is an archive as any other. All of ``entry.json`` but ``about`` follows from it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dsbench.archive import RunRecord
from dsbench.commons.about import EntryError, PublishedError, PublisherNotes, first_of
from dsbench.dataclass import dataclass
from dsbench.read.naming import server
from dsbench.read.verdict import Soundness

FORMAT: Final = 1
FILES: Final = frozenset({"entry.json", "archive.zip"})
_LARGEST: Final = 2**20
"""Bytes of an ``entry.json``."""
LARGEST_ARCHIVE: Final = 2**26
"""Bytes of an ``archive.zip``, which holds no trace."""


class CommonsEntry(BaseModel):
    """The content of ``entry.json``."""

    model_config = ConfigDict(extra="forbid")

    format: int = FORMAT
    id: str = Field(pattern="^[0-9]{8}-[a-z0-9-]{1,60}-[0-9a-f]{10}$")
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Of archive.zip."""
    about: PublisherNotes = PublisherNotes()
    hidden: tuple[str, ...] = ()
    measured: str
    dsbench: str
    sentence: str
    system: dict[str, Any]
    conditions: dict[str, Any]
    claimed: dict[str, Any]
    """Conditions that no table of the archive shows."""
    figures: dict[str, Any]
    verdict: dict[str, Any]
    """That of the run's own report."""
    warnings: tuple[str, ...] = ()

    @property
    def void(self) -> str:
        """Why its figures cannot be used at all, in words; empty where they can."""
        why = "; ".join(self.verdict.get("why", ()))
        return f"its figures are void: {why}" if self.verdict.get("soundness") == Soundness.VOID else ""

    @property
    def disturbed(self) -> str:
        """What used its machine beside it, for which its figures have no place among others."""
        return "; ".join(self.verdict.get("why", ())) if self.verdict.get("soundness") == Soundness.DISTURBED else ""

    def rendered(self) -> str:
        return json.dumps(self.model_dump(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@dataclass(frozen=True)
class Package:
    """What will be published."""

    entry: CommonsEntry
    archive: bytes
    hidden: Mapping[str, Mapping[str, str]]
    """Kind to what is hidden and what stands in its place."""


def read_entry(folder: Path) -> CommonsEntry:
    """The entry in ``folder``; ``EntryError`` says what is wrong with its ``entry.json``."""
    path, name = folder / "entry.json", repr(folder.name)
    if folder.is_symlink() or not folder.is_dir():
        raise EntryError(f"entries/{name} is a {'link' if folder.is_symlink() else 'file'}, and an entry is a folder")
    try:
        if path.is_symlink() or path.stat().st_size > _LARGEST:
            raise EntryError(f"entries/{name}: its entry.json is a link, or larger than 1 MiB")
        entry = CommonsEntry.model_validate_json(path.read_bytes())
    except OSError as error:
        raise EntryError(f"entries/{name} has no entry.json: {error.strerror}") from None
    except ValidationError as error:
        raise EntryError(f"entries/{name}: entry.json: {first_of(error)}") from None
    if entry.format != FORMAT:
        raise EntryError(f"entries/{name} has format {entry.format}, this program reads {FORMAT}")
    if entry.id != folder.name:
        raise EntryError(f"entries/{name} is the entry {entry.id}")
    return entry


def list_entries(folder: Path) -> list[Path]:
    """What lies among the entries of a commons, in the order of their names, but for what begins with a dot."""
    within = folder / "entries"
    if within.is_symlink():
        raise EntryError(f"{within} is a link", "make it a folder", usage=True)
    if not within.is_dir():
        words = f"{folder} is not a commons: it has no folder entries"
        raise EntryError(words, f"create one: dsbench commons init {folder}", usage=True)
    return sorted(path for path in within.iterdir() if not path.name.startswith("."))


def write(package: Package, folder: Path) -> Path:
    """Writes the entry into the commons at ``folder``, whole or not at all; gives its folder. ``PublishedError`` where
    the run is there, ``EntryError`` where half of it is."""
    within = folder / "entries" / package.entry.id
    part = within.with_name(f".{within.name}.part")
    try:
        if within.parent.is_symlink():
            raise EntryError(f"{within.parent} is a link", "make it a folder", usage=True)
        if os.path.lexists(within):
            raise _there(within, package)
        if part.exists():
            shutil.rmtree(part)
        part.mkdir(parents=True)
        (part / "archive.zip").write_bytes(package.archive)
        (part / "entry.json").write_text(package.entry.rendered(), "utf-8")
        part.rename(within)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        words = f"--to: cannot write to {folder}: {error.strerror or error}"
        raise EntryError(words, "specify a writable folder", usage=True) from None
    return within


def _there(within: Path, package: Package) -> EntryError:
    """Why the entry cannot be written: it is there, or half of it."""
    try:
        read_entry(within)
        if (within / "archive.zip").read_bytes() == package.archive:
            words = f"{within} already exists: this run is published"
            return PublishedError(words, "nothing was written", usage=True)
        why = "its archive.zip is different"
    except EntryError as error:
        why = str(error)
    except OSError as error:
        why = f"it has no archive.zip: {error.strerror}"
    return EntryError(f"{within} is an incomplete entry: {why}", "remove that folder, and publish again", usage=True)


def name_of(run: RunRecord) -> str:
    """Day, product and workload: the first part of an entry's name."""
    return f"{_day(run)}-{_product(run)}-{_slug(run.spec.workload)}"


def _day(run: RunRecord) -> str:
    try:
        return datetime.fromisoformat(run.started).strftime("%Y%m%d")
    except ValueError:
        return "19700101"


def _product(run: RunRecord) -> str:
    said = server(run).lower()
    known = ("mariadb", "mysql", "postgresql", "firebird", "sqlite")
    return next((word for word in known if word in said), _slug(run.engine))


def _slug(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:24] or "x"
