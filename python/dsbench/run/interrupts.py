"""Ctrl-C and SIGTERM become one exception, raised between two looks at the run's progress."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dsbench.generator import Stopped

_SIGNALS = [s for s in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None)) if s is not None]


class Stop:
    """Remembers that the user asked to stop; ``check`` raises ``Stopped`` once, later calls are quiet.

    Being quiet afterwards lets the end of the run (dropping the database, sealing the archive) take its time.
    """

    def __init__(self) -> None:
        self._asked = ""
        self._told = False

    def ask(self, why: str) -> None:
        """The run should end soon."""
        self._asked = self._asked or why

    def check(self) -> None:
        """Raises ``Stopped`` the first time after a wish to stop."""
        if self._asked and not self._told:
            self._told = True
            raise Stopped(self._asked)


@contextmanager
def listening() -> Iterator[Stop]:
    """Turns signals into wishes to stop. Outside of the main thread signals stay as they are."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def heard(number: int, _frame: FrameType | None) -> None:
        stop.ask(f"stopped by {signal.Signals(number).name}")
        # Whoever asks a second time does not want to wait for the end of a statement.
        signal.signal(number, before[number])

    before = {number: signal.signal(number, heard) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
