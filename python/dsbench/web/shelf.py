"""The archives of a folder, with the tags and notes that the browser gives them."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dsbench.archive import ArchiveError, claimed
from dsbench.archive.parts import replace
from dsbench.evaluation.naming import server
from dsbench.library import Archive
from dsbench.web.state import FOLDER

_NOTES: Final = "notes.json"
_LONGEST: Final = 10_000


@dataclass(frozen=True)
class Book:
    """What a table of archives tells of one."""

    name: str
    label: str = ""
    server: str = ""
    workload: str = ""
    host: str = ""
    started: str = ""
    status: str = ""
    best_tps: float = math.nan
    """The highest median rate of a scale; nan where there is none."""
    problem: str = ""
    """Why it cannot be read."""


@dataclass(frozen=True)
class Note:
    """What a user wrote to an archive."""

    tags: tuple[str, ...] = ()
    text: str = ""


class Shelf:
    """Archives by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[int, Book]] = {}

    def names(self) -> list[str]:
        """Of all archives right in the folder, the latest first: names begin with the time."""
        try:
            entries = [path for path in self.folder.iterdir() if path.name != FOLDER]
        except OSError:
            return []
        folders = {path.name for path in entries if (path / "run.json").is_file()}
        zips = {path.name.removesuffix(".zip") for path in entries if path.suffix == ".zip" and path.is_file()}
        return sorted(folders | zips, reverse=True)

    def path(self, name: str) -> Path:
        """The folder or the zip of an archive; ``ArchiveError`` for all that is none of ``names``."""
        if name not in self.names():
            remedy = "choose one of the page Archives"
            raise ArchiveError(f"no archive {name[:80]!r} in {self.folder}", remedy, usage=True)
        folder = self.folder / name
        return folder if (folder / "run.json").is_file() else self.folder / f"{name}.zip"

    def books(self) -> list[Book]:
        """All of them."""
        return [self.book(name) for name in self.names()]

    def book(self, name: str) -> Book:
        """One, read again only when it has changed."""
        path = self.path(name)
        changed = (path / "run.json" if path.is_dir() else path).stat().st_mtime_ns
        known = self._known.get(name)
        if known is None or known[0] != changed:
            known = self._known[name] = (changed, _read(name, path))
        return known[1]

    def notes(self) -> dict[str, Note]:
        """By name of the archive."""
        try:
            values: dict[str, Any] = json.loads((self.folder / _NOTES).read_text("utf-8"))
            return {name: Note(tuple(map(str, one["tags"])), str(one["text"])) for name, one in values.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def write_note(self, name: str, tags: str, text: str) -> None:
        """Keeps ``tags``, which commas separate, and a note. ``ArchiveError`` where it cannot be written."""
        self.path(name)
        parted = dict.fromkeys(tag.strip()[:60] for tag in tags.split(",") if tag.strip())
        notes = {**self.notes(), name: Note(tuple(parted)[:20], text[:_LONGEST])}
        self._store(notes)

    def _store(self, notes: Mapping[str, Note]) -> None:
        written = {key: {"tags": one.tags, "text": one.text} for key, one in notes.items() if one.tags or one.text}
        replace(self.folder / _NOTES, (json.dumps(written, indent=1, ensure_ascii=False) + "\n").encode())

    def remove(self, name: str) -> None:
        """Deletes an archive for ever, folder and zip.

        ``ArchiveError`` where it lies elsewhere or is in use, and for what no run of dsbench wrote.
        """
        path = self.path(name)
        both = [self.folder / name, self.folder / f"{name}.zip"]
        if any(one.is_symlink() for one in both):
            raise ArchiveError(f"{path} is a link to elsewhere", "delete the link by hand")
        with claimed(both[0]):
            for one in both:
                if one.exists():
                    _ours(one)
            try:
                if both[0].is_dir():
                    shutil.rmtree(both[0])
                both[1].unlink(missing_ok=True)
            except OSError as error:
                raise ArchiveError(f"cannot delete {path}: {error.strerror}", "delete it by hand") from None
        if name in (notes := self.notes()):
            self._store({key: one for key, one in notes.items() if key != name})


def _ours(path: Path) -> None:
    try:
        _ = Archive.open(path).run
    except ArchiveError as error:
        raise ArchiveError(f"not deleted: {error}", "look at it, and delete it by hand") from None


def _read(name: str, path: Path) -> Book:
    try:
        archive = Archive.open(path)
        run = archive.run
        workload = run.entry.label
    except (ArchiveError, OSError, LookupError, ValueError) as error:
        return Book(name, problem=str(error))
    return Book(name, run.spec.label, server(run), workload, run.host, run.started[:19].replace("T", " "), run.status,
                _best(archive))  # fmt: skip


def _best(archive: Archive) -> float:
    try:
        rows = list(csv.DictReader(archive.read("results.csv").decode().splitlines()))
        return max((float(row["rate_median_tps"]) for row in rows if row["rate_median_tps"]), default=math.nan)
    except (KeyError, OSError, ValueError, ArchiveError):
        return math.nan
