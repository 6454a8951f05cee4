"""A second copy of the log of a PostgreSQL server: what every commit waits for before it is told to its client."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from dsbench.servers.errors import ServerError
from dsbench.servers.process import Log, Process

PROGRAM = "pg_receivewal"
"""Writes the second copy, and is the name under which the server knows it."""
SLOT = "dsbench"
_PATIENCE_S = 60.0
_TIDY_S = 1.0
_SEGMENT = re.compile(r"[0-9A-F]{24}")


class SecondLog:
    """The program that writes the copy, and the thread that removes from it what the server itself needs no more."""

    def __init__(self, start: Callable[[Path], Process], copy: Path, log: Path, out: Path) -> None:
        """Has ``start`` start the program, which says what it has to say in the file ``out``; returns once the copy in
        the folder ``copy`` has begun. ``log`` is the folder of the first one. Raises ``ServerError``."""
        self._copy, self._log, self._said = copy, log, Log(out)
        self._over = threading.Event()
        self._process = start(out)
        self._tidying = threading.Thread(target=self._tidy, name="dsbench-second-log", daemon=True)
        try:
            self._wait()
        except BaseException:
            self._process.stop(_PATIENCE_S)
            raise
        self._tidying.start()

    def _wait(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not list(self._copy.glob("*.partial")):
            if not self._process.alive or time.monotonic() > deadline:
                raise ServerError(f"the second log did not start: {self._last()}", "omit second_log")
            time.sleep(0.02)

    def _last(self) -> str:
        return " ".join(self._said.tail(3)) or f"{PROGRAM} gave no message"

    def _tidy(self) -> None:
        """A server reuses the files of its log after a checkpoint; the copy would grow for ever."""
        while not self._over.wait(_TIDY_S):
            with contextlib.suppress(OSError):
                needed = [file.name for file in self._log.iterdir() if _SEGMENT.fullmatch(file.name)]
                for file in self._copy.iterdir():
                    if needed and _SEGMENT.fullmatch(file.name) and file.name < min(needed):
                        file.unlink()

    def pids(self) -> list[int]:
        """Its processes that run now."""
        return [process.pid for process in self._process.family()]

    def ended(self) -> ServerError | None:
        """Why it has ended; ``None`` while it runs. No transaction commits then."""
        if self._process.alive:
            return None
        return ServerError(f"the second log ended: {self._last()}", "free up space at its folder, or omit second_log")

    def stop(self) -> None:
        """Ends it; the server should have ended before, which sends it all that it wrote."""
        self._over.set()
        self._process.stop(_PATIENCE_S)
        if self._tidying.is_alive():
            self._tidying.join()


ENDING = signal.SIGINT
"""What the program is ended by."""
