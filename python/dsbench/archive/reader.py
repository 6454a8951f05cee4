"""Reads an archive."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
from pydantic_core import from_json

from dsbench.archive import folder
from dsbench.archive.errors import LEFT, ArchiveError
from dsbench.archive.folder import MOST_FILES, largest
from dsbench.archive.parts import MERGED, not_too_many, table_of
from dsbench.archive.record import RunRecord
from dsbench.archive.schemas import FORMAT, TABLES
from dsbench.dataclass import dataclass


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
    price: str = ""
    """What the machine costs, where the run was not told it."""

    @classmethod
    def open(cls, path: Path, price: str = "") -> Self:
        """Opens an archive; ``ArchiveError`` when there is none or it is of another format."""
        archive = cls(path, price)
        there(path)
        found = archive._described.get("format")
        if type(found) is not int or found != FORMAT:
            newer = type(found) is int and found > FORMAT
            words = f"{path} has format {str(found)[:20]}, and this dsbench reads format {FORMAT}"
            remedy = "use the dsbench that wrote it, or a later one" if newer else "use another copy of the archive"
            raise ArchiveError(words, remedy, usage=True)
        return archive

    @property
    def name(self) -> str:
        """Name of the archive, without ``.zip``; in a commons, where all are called alike, that of its entry."""
        path = self.path.absolute()
        return (path.parent if path.name == "archive.zip" else path).name.removesuffix(".zip")

    @cached_property
    def run(self) -> RunRecord:
        """``run.json``; ``ArchiveError`` where a field is of another type."""
        run = RunRecord.of(self._described)
        if not self.price or run.spec.price:
            return run
        return run.model_copy(update={"spec": run.spec.model_copy(update={"price": self.price})})

    @cached_property
    def _described(self) -> dict[str, Any]:
        try:
            alone = self.path.suffix == ".json" and self.path.is_file()
            # Other than json, it refuses text that no UTF-8 can say, and nesting without end.
            data = from_json(folder.read(self.path.parent, self.path.name) if alone else self.read("run.json"))
        except (KeyError, FileNotFoundError) as error:
            if found := below(self.path):
                words = f"{self.path} is not an archive, but a folder with {len(found)} of them"
                raise ArchiveError(words, f"specify them, such as {found[-1]}", usage=True) from None
            words = f"{self.path} is not a dsbench archive: it has no run.json"
            raise ArchiveError(words, LEFT, usage=True) from error
        except (OSError, ValueError) as error:
            words = f"{self.path} is not a dsbench archive: run.json cannot be read ({error})"
            raise ArchiveError(words, LEFT, usage=True) from None
        if not isinstance(data, dict):
            raise ArchiveError(f"{self.path} is not a dsbench archive: run.json contains no table", LEFT, usage=True)
        return data

    def read(self, name: str) -> bytes:
        """The content of one file; ``KeyError`` or ``OSError`` when it is not there.

        ``ArchiveError`` for a link, for what is not a regular file, and for one that is too large.
        """
        return folder.read(self.path, name) if self.path.is_dir() else content(self.path, name)

    def names(self) -> list[str]:
        """Names of its files, relative to the archive."""
        return folder.names(self.path) if self.path.is_dir() else list(self._packed)

    @cached_property
    def _packed(self) -> tuple[str, ...]:
        """Names of the files in a zip, which does not grow."""
        with opened(self.path) as (_, files):
            return tuple(sorted(files))

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
            packed_or_not = contents(self.path, parts) if self.path.is_file() else map(self.read, parts)
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


_LISTING: Final = 32 * 2**20
"""Bytes of their listing."""
_ALL: Final = 4 * 2**30
"""Bytes of all files, unpacked."""
_RATIO: Final = 200
"""Bytes unpacked for each packed one: tables are compressed already, texts shrink to a tenth."""
_SMALL: Final = 16 * 2**20
"""Bytes for which no ratio is asked."""
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, KeyError, NotImplementedError, RuntimeError, ValueError,
    OverflowError,
)  # fmt: skip
"""What reading a damaged zip raises; an encrypted one raises ``RuntimeError``."""


class _File(io.BufferedReader):
    """The zip: its listing is read in one piece, whose size the zip itself names."""

    listing = True

    def read(self, size: int | None = -1, /) -> bytes:
        if self.listing and size is not None and size > _LISTING:
            raise _refused(Path(self.name), f"its listing has {size} bytes, more than {_LISTING}")
        return super().read(size)


@contextmanager
def opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, Mapping[str, zipfile.ZipInfo]]]:
    """The zip at ``path`` and its files by their names within the archive, which is one folder or none.

    Raises ``ArchiveError`` for one that is damaged, has names that lead elsewhere, or would unpack to too much, and
    ``OSError``.
    """
    with _File(io.FileIO(path)) as file:
        try:
            with zipfile.ZipFile(file) as pack:
                file.listing = False
                yield pack, _files(path, pack)
        except _DAMAGE as error:
            words = f"{path} is not a dsbench archive, or is damaged: {error or type(error).__name__}"
            raise ArchiveError(words, LEFT, usage=True) from None


def content(path: Path, name: str) -> bytes:
    """The file ``name`` of the zip at ``path``. ``KeyError`` when there is none, and the errors of ``opened``."""
    for found in contents(path, [name]):
        return found
    raise KeyError(name)


def contents(path: Path, names: Iterable[str]) -> Iterator[bytes]:
    """The files ``names`` of the zip at ``path`` that are there; the errors of ``opened``."""
    with opened(path) as (pack, files):
        for name in names:
            if (found := files.get(name)) is not None:
                yield pack.read(found)


def _files(path: Path, pack: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    listed = [one for one in pack.infolist() if not one.is_dir()]
    if len(listed) > MOST_FILES:
        raise _refused(path, f"it holds {len(listed)} files, more than {MOST_FILES}")
    names = [one.filename for one in listed]
    for name in names:
        if not _stays_within(name):
            words = f"{path} contains a file {name[:200]!r}, which would be outside of it"
            raise ArchiveError(words, LEFT, usage=True)
    if linked := [one.filename for one in listed if stat.S_IFMT(one.external_attr >> 16) not in (0, stat.S_IFREG)]:
        raise ArchiveError(f"{path}: {linked[0][:200]!r} is a link or a special file", LEFT, usage=True)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ArchiveError(f"{path} contains two files called {twice[0][:200]!r}", LEFT, usage=True)
    _spare(path, listed)
    root = next((name.removesuffix("run.json") for name in names if name.split("/")[-1] == "run.json"), "")
    return {one.filename.removeprefix(root): one for one in listed}


def _stays_within(name: str) -> bool:
    """Whether a file of that name lies below the folder into which the zip is unpacked, on any system."""
    parts = name.split("/")
    return name.isprintable() and not any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts)


def _spare(path: Path, listed: list[zipfile.ZipInfo]) -> None:
    """Refuses what would take much more room than it says: a zip of a kilobyte can hold a file of a megabyte."""
    packed = path.stat().st_size
    for one in listed:
        name = repr(one.filename[:200])
        room = min(max(_SMALL, _RATIO * min(one.compress_size, packed)), largest(one.filename))
        if one.compress_type not in _METHODS:
            raise ArchiveError(f"{path}: {name} is packed in a format that dsbench does not use", LEFT, usage=True)
        if one.file_size > room:
            raise _refused(path, f"{name} has {one.file_size} bytes unpacked, more than {room}")
    total, room = sum(one.file_size for one in listed), min(max(4 * _SMALL, _RATIO * packed), _ALL)
    if total > room:
        raise _refused(path, f"its files have {total} bytes unpacked, more than {room}")


def _refused(path: Path, why: str) -> ArchiveError:
    remedy = "if you trust it, unpack it and specify its folder"
    return ArchiveError(f"{path} is not unpacked: {why}", remedy, usage=True)
