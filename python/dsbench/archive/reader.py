"""Reads an archive."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from pydantic_core import from_json

from dsbench.archive import folder, packed
from dsbench.archive.errors import LEFT, ArchiveError
from dsbench.archive.parts import MERGED, table_of
from dsbench.archive.record import RunRecord
from dsbench.archive.schemas import READS, TABLES
from dsbench.archive.sound import not_too_many


def there(path: Path) -> None:
    """``ArchiveError`` where ``path`` is neither a folder nor a file, but a device, say, that never ends."""
    try:
        found = path.is_dir() or path.is_file()
    except OSError:  # A name that is longer than names are.
        found = False
    if not found:
        raise ArchiveError(f"no archive at {path}", LEFT, usage=True)


def below(path: Path) -> list[Path]:
    """The archives in a folder, or in the folders in it, in the order of their names; one that is there as a folder
    and as a zip once."""
    if not path.is_dir():
        return []
    found = {run.parent for pattern in ("*/run.json", "*/*/run.json") for run in path.glob(pattern)}
    found |= {one for pattern in ("*.zip", "*/*.zip") for one in path.glob(pattern) if one.with_suffix("") not in found}
    return sorted(found)


@dataclass(frozen=True)
class Archive:
    """Reads an archive, folder or zip alike."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens an archive; ``ArchiveError`` when there is none or its format is newer than this program."""
        archive = cls(path)
        there(path)
        found = archive._described.get("format")
        if found not in READS:
            words = f"{path} has format {found}, this program reads {' and '.join(str(one) for one in READS)}"
            raise ArchiveError(words, "use the dsbench that wrote it", usage=True)
        return archive

    @property
    def name(self) -> str:
        """Name of the archive, without ``.zip``."""
        return self.path.name.removesuffix(".zip")

    @cached_property
    def run(self) -> RunRecord:
        """``run.json``; ``ArchiveError`` where a field is of another type."""
        return RunRecord.of(self._described)

    @cached_property
    def _described(self) -> dict[str, Any]:
        try:
            alone = self.path.suffix == ".json" and self.path.is_file()
            # Other than json, it refuses text that no UTF-8 can say, and nesting without end.
            data = from_json(folder.read(self.path.parent, self.path.name) if alone else self.read("run.json"))
        except (KeyError, FileNotFoundError) as error:
            if found := below(self.path):
                words = f"{self.path} is no archive: it is a folder with {len(found)} of them"
                raise ArchiveError(words, f"name them, such as {found[-1]}", usage=True) from None
            words = f"{self.path} is no dsbench archive: it has no run.json"
            raise ArchiveError(words, LEFT, usage=True) from error
        except (OSError, ValueError) as error:
            words = f"{self.path} is no dsbench archive: run.json cannot be read ({error})"
            raise ArchiveError(words, LEFT, usage=True) from None
        if not isinstance(data, dict):
            raise ArchiveError(f"{self.path} is no dsbench archive: run.json holds no table", LEFT, usage=True)
        return data

    def read(self, name: str) -> bytes:
        """The content of one file; ``KeyError`` or ``OSError`` when it is not there.

        ``ArchiveError`` for a link, for what is no regular file, and for one that is too large.
        """
        return folder.read(self.path, name) if self.path.is_dir() else packed.content(self.path, name)

    def names(self) -> list[str]:
        """Names of its files, relative to the archive."""
        if self.path.is_dir():
            return folder.names(self.path)
        with packed.opened(self.path) as (_, files):
            return sorted(files)

    @property
    def sealed(self) -> bool:
        """Whether all of it is written: a zip, or a folder without parts whose zip has the same ``run.json``.

        A program that was killed or met a full disk while it made the report has left neither.
        """
        if not self.path.is_dir():
            return True
        unmerged = (f"{table}{ending}" for table in (*TABLES, "trace") for ending in ("", MERGED, ".merged"))
        if any((self.path / name).exists() for name in unmerged):
            return False
        try:
            return Archive(self.path.with_name(self.path.name + ".zip")).read("run.json") == self.read("run.json")
        except (KeyError, OSError, ArchiveError):
            return False

    def table(self, name: str) -> pa.Table:
        """All rows of a table; empty, with the right columns, when nothing was written. ``ArchiveError`` for others."""
        names = self.names()
        whole, within = f"{name}.parquet", f"{name}/"
        if any(n.startswith(f"{name}.merged/") for n in names) and f"{name}{MERGED}" in names:
            whole = f"{name}{MERGED}"  # A sealing that ended between its two steps.
        parts = [n for n in names if n == whole or (n.startswith(within) and n.endswith(".parquet"))]
        try:
            packed_or_not = packed.contents(self.path, parts) if self.path.is_file() else map(self.read, parts)
            tables: list[pa.Table] = []
            rows = 0
            for part, content in zip(parts, packed_or_not, strict=True):
                tables.append(table_of(name, content, f"{self.path}: {part}"))
                rows += tables[-1].num_rows
                not_too_many(name, rows, str(self.path))
        except OSError as error:
            raise ArchiveError(f"{self.path} cannot be read: {error}", LEFT) from None
        if tables:
            return pa.concat_tables(tables).unify_dictionaries()
        return TABLES[name].empty_table() if name in TABLES else pa.table({})
