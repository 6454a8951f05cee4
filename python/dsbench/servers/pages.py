"""What the page cache holds of a server's files, and letting it go."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
from collections.abc import Iterable, Iterator
from math import nan
from pathlib import Path
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.servers.limits import forget_pages

_LITTLE: Final = 0.01


@dataclass(frozen=True)
class LetGo:
    """Bytes that the page cache had of some files, and has after they were to leave it; nan where no system call
    tells."""

    held: float
    left: float

    @property
    def stays(self) -> bool:
        """Whether more than a hundredth stayed."""
        return self.left > _LITTLE * self.held


def let_go(folders: Iterable[Path]) -> LetGo:
    """Has the files below ``folders`` leave the page cache, those of nobody else: only whoever uses them is slowed."""
    places = list(folders)
    held = sum(map(count_cached, places))
    for place in places:
        forget_pages(place)
    return LetGo(held, sum(map(count_cached, places)))


def count_cached(folder: Path) -> float:
    """Bytes of the files below ``folder`` that are in the page cache; nan where this system does not tell."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mincore"):
        return nan
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    return float(sum(_cached_pages(libc, file) * mmap.PAGESIZE for file in _open_files(folder)))


def _open_files(folder: Path) -> Iterator[int]:
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                file = os.open(Path(place, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    yield file
                finally:
                    os.close(file)


def _cached_pages(libc: ctypes.CDLL, file: int) -> int:
    """Pages of an open file that are in memory; none of what is no file, or empty."""
    size = os.fstat(file).st_size
    if not size:
        return 0
    start = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        return 0
    try:
        pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
        if libc.mincore(start, size, pages):
            return 0
        return sum(count for byte, count in _histogram(pages.raw) if byte & 1)
    finally:
        libc.munmap(start, size)


def _histogram(raw: bytes) -> Iterator[tuple[int, int]]:
    return ((byte, raw.count(byte)) for byte in set(raw))
