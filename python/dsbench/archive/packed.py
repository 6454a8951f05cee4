"""A packed archive, whoever packed it: which files it may hold, and how large they may be when they are unpacked.

``folder`` says how large a file of any archive may be.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dsbench.archive.errors import LEFT, ArchiveError
from dsbench.archive.folder import MOST_FILES, largest

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
            words = f"{path} is no dsbench archive, or a damaged one: {error or type(error).__name__}"
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
            words = f"{path} holds a file called {name[:200]!r}, which would lie elsewhere"
            raise ArchiveError(words, LEFT, usage=True)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ArchiveError(f"{path} holds two files called {twice[0][:200]!r}", LEFT, usage=True)
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
            raise ArchiveError(f"{path}: {name} is packed in a way that no dsbench packs", LEFT, usage=True)
        if one.file_size > room:
            raise _refused(path, f"{name} has {one.file_size} bytes unpacked, more than {room}")
    total, room = sum(one.file_size for one in listed), min(max(4 * _SMALL, _RATIO * packed), _ALL)
    if total > room:
        raise _refused(path, f"its files have {total} bytes unpacked, more than {room}")


def _refused(path: Path, why: str) -> ArchiveError:
    remedy = "if you trust it, unpack it and name its folder"
    return ArchiveError(f"{path} is not unpacked: {why}", remedy, usage=True)
