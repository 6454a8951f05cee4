"""The wish to stop, of a caller or by a signal: one exception, raised between two looks at the run's progress."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dsbench.measure.loaders import Stopped

_SIGNALS = [s for s in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None)) if s is not None]


class Stop:
    """A request to stop. Any thread may make it; the run checks ten times a second.

    What was finished until then is kept, the database of the run is dropped and its archive is sealed.
    """

    def __init__(self, *, signals: bool = False) -> None:
        """``signals``: Ctrl-C and SIGTERM request it, too, while a run that has this is in the main thread."""
        self.signals = signals
        self.signal: int | None = None
        """Number of the signal that requested it first; ``None`` where none did."""
        self._asked = ""
        self._told = False

    def request(self, why: str = "stopped by its caller") -> None:
        """Asks the run to stop; ``why`` is what its archive says. Later calls change nothing."""
        self._asked = self._asked or why

    @property
    def requested(self) -> bool:
        """Whether the run was asked to stop."""
        return bool(self._asked)

    @property
    def reason(self) -> str:
        """Why it was requested; empty as long as it was not."""
        return self._asked

    def begin(self) -> None:
        """Begins a run: it stops, too, if an earlier one was stopped by this."""
        self._told = False

    def check(self) -> None:
        """Raises ``Stopped`` the first time after the request.

        Saying nothing afterwards lets the end of the run (dropping the database, sealing the archive) take its time.
        """
        if self._asked and not self._told:
            self._told = True
            raise Stopped(self._asked)

    def heard(self, number: int) -> None:
        """Takes a signal as a request."""
        if not self._asked:
            self.signal = number
        self.request(f"stopped by {signal.Signals(number).name}")


@contextmanager
def listening(stop: Stop | None = None) -> Iterator[Stop]:
    """Turns signals into the wish to stop, if ``stop`` wants that; one that is made here does.

    Outside of the main thread signals stay as they are.
    """
    stop = Stop(signals=True) if stop is None else stop
    stop.begin()
    if not stop.signals or threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def heard(number: int, _frame: FrameType | None) -> None:
        stop.heard(number)
        # Whoever asks a second time does not want to wait for the end of a statement.
        signal.signal(number, before[number])

    before = {number: signal.getsignal(number) for number in _SIGNALS}  # All of them, before a signal can ask for one.
    try:
        for number in _SIGNALS:
            signal.signal(number, heard)
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
