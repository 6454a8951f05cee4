"""One program at a time writes to an archive: whoever does holds a lock on its folder, which goes with the program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dsbench.archive.errors import ArchiveError

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
            problem = f"the run of {path} is still going on: another dsbench writes to this archive"
            raise ArchiveError(problem, "wait until it has ended", usage=True) from None
        except OSError:  # some network file systems have no locks
            pass
        yield
    finally:
        os.close(folder)
