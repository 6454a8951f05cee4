"""An archive as a folder: which of its files dsbench wrote, how large one may be, how they are read and removed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dsbench.archive.errors import LEFT, ArchiveError
from dsbench.archive.schemas import TABLES

MOST_FILES: Final = 100_000
"""In an archive: one that is sealed has some dozens, one with a trace in parts one for each cycle."""
_LARGEST: Final = 2**30
"""Bytes of a file of Parquet."""
_SMALLER: Final = {"run.json": 16 * 2**20, "results.csv": 8 * 2**20}
"""Bytes of what is read of each archive: the ``run.json`` of a thousand nodes has one or two million."""
_TEXT: Final = 64 * 2**20
"""Bytes of any other file."""
_TABLES: Final = "|".join((*TABLES, "trace"))
_OWN: Final = re.compile(
    r"(run\.json|report\.html|server\.log|trace\.bin|results\.(txt|csv|log)"
    r"|results-[^/]+\.(csv|pdf|png|svg|vl\.json|gp|gp\.pdf|dat)"
    rf"|({_TABLES})(\.merged)?(\.parquet|/[^/]+\.parquet))(\.part)?"
)
"""Names of the files that a run, its report and ``plot`` write."""
_TABLE_FOLDER: Final = re.compile(rf"({_TABLES})(\.merged)?")
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def largest(name: str) -> int:
    """Bytes that the file ``name`` of an archive may have."""
    if name.endswith(".parquet"):
        return 8 * _LARGEST if re.match(r"(.*/)?trace(\.|/)", name) else _LARGEST
    return _SMALLER.get(name.rpartition("/")[2], _TEXT)


def is_own(name: str) -> bool:
    """Whether dsbench writes a file of that name, relative to the archive."""
    return _OWN.fullmatch(name) is not None


def read(folder: Path, name: str) -> bytes:
    """The file ``name`` of the archive in ``folder``.

    ``OSError`` where it is not there; ``ArchiveError`` for what is not a regular file, for a link, which may lead
    elsewhere, and for a file that is too large.
    """
    path = folder / name
    if path.parent != folder and path.parent.is_symlink():
        raise _refused(path.parent, "is a link, and archives are read without files outside them")
    if path.is_symlink():
        raise _refused(path, "is a link, and archives are read without files outside them")
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(21, "Is a directory", str(path))
        if not stat.S_ISREG(found.st_mode):
            raise _refused(path, "is not a regular file")
        most = largest(name)
        content = file.read(found.st_size + 1) if found.st_size <= most else b""
        if max(found.st_size, len(content)) > most:
            raise _refused(path, f"has {max(found.st_size, len(content))} bytes, more than {most}")
        return content


def names(folder: Path) -> list[str]:
    """Of the regular files right in ``folder`` and in the folders of its tables; links are left out."""
    found = []
    for name in _files(folder):
        found.append(name)
        if len(found) > MOST_FILES:
            raise _refused(folder, f"holds more than {MOST_FILES} files")
    return sorted(found)


def _files(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                yield entry.name
            elif entry.is_dir(follow_symlinks=False) and _TABLE_FOLDER.fullmatch(entry.name):
                with os.scandir(entry.path) as parts:
                    yield from (f"{entry.name}/{part.name}" for part in parts if part.is_file(follow_symlinks=False))


def remove(folder: Path) -> list[str]:
    """Removes the archive in ``folder``; gives the names of what stays, as dsbench did not write it."""
    for name in names(folder):
        if is_own(name):
            (folder / name).unlink()
    for entry in folder.iterdir():
        if _TABLE_FOLDER.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
            with suppress(OSError):  # It is not empty.
                entry.rmdir()
    if left := sorted(path.name for path in folder.iterdir()):
        return left
    folder.rmdir()
    return []


def without_zips(paths: Sequence[Path]) -> list[Path]:
    """``paths`` without the zip of a folder that is among them: both are one archive."""
    return [path for path in paths if path.suffix != ".zip" or path.with_suffix("") not in paths]


def _refused(path: Path, why: str) -> ArchiveError:
    return ArchiveError(f"{path} {why}", LEFT, usage=True)


try:
    import fcntl
except ImportError:  # Windows has no flock: there only the process that run.json names tells.
    fcntl = None  # type: ignore[assignment]


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Holds the archive at ``path`` for this program; ``ArchiveError`` when another one writes to it.

    The lock is on the folder itself: no file is made that could be left or packed. It is seen across containers that
    share the folder. Where there is no folder, or a file system without locks, nothing is held.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY) if fcntl is not None else None
    except OSError:
        folder = None
    if folder is None:
        yield
        return
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = f"the run of {path} is still in progress: another dsbench writes to this archive"
            raise ArchiveError(problem, "wait until it has ended", usage=True) from None
        except OSError:  # some network file systems have no locks
            pass
        yield
    finally:
        os.close(folder)
