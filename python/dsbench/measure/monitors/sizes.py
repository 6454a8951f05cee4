"""How large the database, its data directory and the server in memory are: read before and after a cycle only, as the
kernel and the server have to look through files and processes for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from dsbench.measure.monitors import proc
from dsbench.measure.monitors.machine import RUN, SERVER, Known, owners
from dsbench.measure.monitors.monitor import Value

_MOST_FILES: Final = 200_000
"""Files of a data directory that are looked at; in one that has more is more than this database."""
_BLOCK: Final = 512
"""Bytes of the unit of ``st_blocks`` (POSIX)."""
_OWN: Final = ("RssAnon",)
_SHARED: Final = ("RssShmem", "RssFile", "HugetlbPages")


class Sizes:
    """Gauges of the whole database: ``database_size``, ``directory_size``, ``resident_size``.

    What cannot be read is left out, with a note: another right, another machine, another system than Linux.
    """

    name = "sizes"
    around = True

    def __init__(self, database: Callable[[], int | None], folders: Sequence[Path], known: Known) -> None:
        """``database`` gives the bytes of the tables with their indexes; ``folders`` are the server's alone, none where
        it has none here; ``known`` tells the server's processes."""
        self.notes: list[str] = []
        self._read: dict[str, Callable[[], int | None]] = {
            "database_size": database,
            "directory_size": lambda: _stored(folders) if folders else None,
            "resident_size": lambda: resident(known),
        }

    def sample(self) -> list[Value]:
        """The sizes now, in bytes."""
        found: list[Value] = []
        for metric, read in self._read.items():
            try:
                size = read()
            except Exception as error:  # one size that cannot be had must not take the others away
                note = f"{metric.replace('_', ' ')}: {error}"
                self.notes += [] if note in self.notes else [note]
                continue
            if size is not None:
                found.append((metric, "bytes", float(size)))
        return found


def _stored(top: Sequence[Path]) -> int | None:
    """Bytes that the files below the folders of ``top`` take on the storage, each file once, those behind links too.

    As ``du`` counts them: sparse files by what is written of them. Of a server that others started, a log or a
    tablespace that lies elsewhere is reached by a link. ``None`` where a folder may not be read, as those of such a
    server.
    """
    total, seen, folders = 0, set[tuple[int, int]](), list(top)
    if not all(os.access(folder, os.R_OK | os.X_OK) for folder in top):
        return None
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                try:
                    stat = entry.stat()
                except FileNotFoundError:  # it has just gone
                    continue
                if (stat.st_dev, stat.st_ino) in seen:
                    continue
                seen.add((stat.st_dev, stat.st_ino))
                total += stat.st_blocks * _BLOCK
                if entry.is_dir():
                    folders.append(Path(entry.path))
        if len(seen) > _MOST_FILES:
            raise OSError(f"{top[0]} holds more than {_MOST_FILES} files")
    return total


def resident(known: Known, root: Path = proc.ROOT) -> int | None:
    """Bytes of memory that the server's processes hold, or dsbench where the database is embedded in it; ``None`` where
    they are not known.

    What each process has for itself is added up; of what they share, such as the server's buffers, the part of the
    process that has touched most of it counts, once.
    """
    owned = owners(proc.processes(root), known)
    pids = [pid for pid, owner in owned.items() if owner == SERVER]
    if not pids and known.server and SERVER not in known.roots.values():
        pids = [pid for pid, owner in owned.items() if owner == RUN]
    told = [found for pid in pids if (found := proc.read(root / str(pid) / "status", proc.memory)) is not None]
    return of_processes(told) if told else None


def of_processes(told: Iterable[Mapping[str, int]]) -> int:
    """The sum of the own memory and the greatest shared memory, of each kind, of processes; bytes."""
    rows = list(told)
    own = sum(row.get(name, 0) for row in rows for name in _OWN)
    return own + sum(max(row.get(name, 0) for row in rows) for name in _SHARED)
