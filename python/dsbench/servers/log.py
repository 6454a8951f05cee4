"""What a server writes to its log while it is ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

_LONGEST = 256 * 1024


class Log:
    """The files that a server may log to: what came since the start, of which ``own`` picks the server's lines.
    Debian's Firebird 3 writes to one place for all servers of the machine, whatever its folder is."""

    def __init__(self, *files: Path, own: Callable[[list[str]], list[str]] = list) -> None:
        self._own = own
        self._starts = {file: _size(file) for file in files}

    def tail(self, lines: int) -> list[str]:
        """The last lines that were written since the start."""
        found: list[str] = []
        for file, start in self._starts.items():
            with contextlib.suppress(OSError), file.open(errors="replace") as log:
                log.seek(max(start, _size(file) - _LONGEST))
                found += self._own([line.rstrip() for line in log if line.strip()])
        return found[-lines:]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
