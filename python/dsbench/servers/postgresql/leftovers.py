"""Shared memory that a killed PostgreSQL server cannot give back (Linux).

A postmaster that dies by SIGKILL, or of too little memory, leaves its segments to the next server on the
same data directory. A private server has no next one, so what it held is noted while it lives.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SharedMemory:
    """Segments held by a server: files of POSIX shared memory, and ids of System V segments."""

    server: int
    """Process id of the postmaster, which the kernel notes as creator of its System V segment."""
    files: frozenset[Path]
    segments: frozenset[int]

    @classmethod
    def held(cls, server: int, family: Iterable[int]) -> SharedMemory:
        """What the processes ``family`` of the postmaster ``server`` map now; nothing where the system does not say."""
        maps = ""
        for pid in family:
            with contextlib.suppress(OSError):
                maps += Path(f"/proc/{pid}/maps").read_text()
        files = re.findall(r" (/dev/shm/PostgreSQL\.\d+)$", maps, re.MULTILINE)
        segments = re.findall(r" (\d+) +/SYSV[0-9a-f]{8} ", maps)
        return cls(server, frozenset(Path(f) for f in files), frozenset(int(s) for s in segments))

    def remove(self) -> None:
        """Removes what is still there. The server must have ended."""
        for file in self.files:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        for segment in self.segments & self._made():
            with contextlib.suppress(OSError):
                subprocess.run(["ipcrm", "-m", str(segment)], capture_output=True, check=False)

    def _made(self) -> set[int]:
        """Segments that the server made, by the kernel's word; an id may have been given to somebody else since.

        Children that have not ended yet keep theirs: the kernel frees it with the last of them.
        """
        try:
            rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
        except OSError:
            return set()
        creator, segment = rows[0].index("cpid"), rows[0].index("shmid")
        return {int(row[segment]) for row in rows[1:] if int(row[creator]) == self.server}
