"""Samples all monitors beside a cycle: before its start and its ramp-up, every second of it, after its end; what goes
with the load before it and just before its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from dsbench.measure.monitors.monitor import Around, Dated, Fleeting, Frequent, Lagging, Monitor

T = TypeVar("T")

SECOND_NS: Final = 1_000_000_000
JUST_BEFORE_NS: Final = 50_000_000
"""Where the clock starts later than this after the first sample, one more is taken this long before."""
BEFORE_END_NS: Final = 50_000_000
"""How long before the end of a cycle fleeting monitors are read, and five times as long as they took before its start:
at the end every CPU is busy, and the sampler waits for one between its reads."""
LOOK_NS: Final = 100_000_000
"""Between two looks of frequent monitors."""
MOST_EARLY: Final = 0.1
"""But no more than this share of the cycle."""
HURRIED_S: Final = 1.0
"""How long the end of a cycle that was broken off waits for a sample under way."""
PATIENCE_S: Final = 10.0
"""How long a monitor may take for its first and its last sample before the cycle goes on without it."""
_NEVER_NS: Final = 1 << 62


class Sampler:
    """One background thread that reads ``monitors``. Used for one cycle."""

    def __init__(self, monitors: Sequence[Monitor], clock: Callable[[], int] = time.monotonic_ns) -> None:
        """``clock`` gives ns and is the one by which the cycle's start is given."""
        self._monitors, self._clock = tuple(monitors), clock
        self._frequent = [monitor for monitor in self._monitors if isinstance(monitor, Frequent)]
        self._fleeting = [
            monitor for monitor in monitors if isinstance(monitor, Fleeting) and not isinstance(monitor, Frequent)
        ]
        self._last: list[Monitor] = list(self._fleeting)
        """Read once more just before the end, and not after it."""
        self._lasting = [monitor for monitor in self._monitors if monitor not in self._fleeting]
        self._often = [monitor for monitor in self._lasting if not isinstance(monitor, Around)]
        self._early_ns = BEFORE_END_NS
        self._duration_ns: int | None = None
        self._rows: list[dict[str, Any]] = []
        self._notes: list[str] = []
        self._origin_ns = 0
        self._ramp_up_ns = 0
        self._before = 0  # rows of the samples before the cycle
        self._first, self._going, self._ending = threading.Event(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.cpu_ns = 0
        """CPU time that sampling took, known after ``stop``."""

    @property
    def every_second(self) -> list[Monitor]:
        """Those that are read every second of a cycle."""
        return list(self._often)

    @property
    def notes(self) -> list[str]:
        """What could not be read and why, each once."""
        own = [f"{monitor.name}: {note}" for monitor in self._monitors for note in monitor.notes]
        return list(dict.fromkeys([*own, *self._notes]))

    def start(self, origin_ns: int) -> None:
        """Takes the sample before the cycle, which starts at ``origin_ns``, and begins with those within it."""
        self.first()
        self.go(origin_ns)

    def first(self) -> None:
        """Takes the sample before the cycle. It may take seconds: choose the cycle's start afterwards."""
        # A daemon: a server that has stopped answering must not keep the program from ending.
        self._thread = threading.Thread(target=self._watch, name="dsbench-monitors", daemon=True)
        self._thread.start()
        if not self._first.wait(PATIENCE_S):
            self._notes.append(f"the first sample took longer than {PATIENCE_S:.0f} s")

    def go(self, origin_ns: int, ramp_up_ns: int = 0, duration_ns: int | None = None) -> None:
        """The cycle starts at ``origin_ns``, after load of ``ramp_up_ns``: a sample follows at every second of it.

        Fleeting monitors are read once more just before the end of ``duration_ns``; after it where that is ``None``.
        """
        self._origin_ns, self._ramp_up_ns, self._duration_ns = origin_ns, ramp_up_ns, duration_ns
        for row in self._rows:
            row["at_ns"] -= origin_ns
        self._going.set()

    def give_up(self) -> None:
        """Ends it after a cycle that nobody waits for, without its last sample."""
        self._ending.set()
        self._going.set()
        if self._thread is not None:
            self._thread.join(HURRIED_S)

    def stop(self) -> list[dict[str, Any]]:
        """Takes the sample after the cycle and gives all of them.

        Rows have the columns of the archive's table ``monitors`` without its key: at_ns (from the
        cycle's start), monitor, metric, unit, value. Empty when it was not started.
        """
        if self._thread is None:
            return []
        self._ending.set()
        self._going.set()
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self._notes.append(f"the last sample took longer than {PATIENCE_S:.0f} s and is missing")
        return list(self._rows)

    def _watch(self) -> None:
        began_ns = time.thread_time_ns()
        for fleeting in self._fleeting:
            self._guarded(fleeting, fleeting.begin)
        for frequent in self._frequent:
            self._guarded(frequent, frequent.begin)
        self._take(self._lasting)
        first_ns = self._clock()
        self._take(self._fleeting)
        self._early_ns += 5 * (self._clock() - first_ns)
        self._before = len(self._rows)
        self._first.set()
        self._going.wait()
        wait_s, ramped = self._until(-JUST_BEFORE_NS), self._ramp_up_ns > JUST_BEFORE_NS
        if (wait_s or ramped) and not self._ending.wait(wait_s):
            self._begin_late(ramped=ramped)
        second, early_ns = 1, self._early()
        look_ns = LOOK_NS if self._frequent else _NEVER_NS
        while not self._ending.wait(self._until(min(second * SECOND_NS, early_ns, look_ns))):
            if look_ns < min(second * SECOND_NS, early_ns):
                for frequent in self._frequent:
                    self._guarded(frequent, frequent.look)
                look_ns = max(look_ns, self._clock() - self._origin_ns) + LOOK_NS
                continue
            if early_ns < second * SECOND_NS:
                self._take([*self._last, *self._frequent])
                self._lasting, self._often = ([m for m in some if m not in self._last]
                                              for some in (self._lasting, self._often))  # fmt: skip
                self._last, early_ns = [], _NEVER_NS
                continue
            self._take(self._often)
            # After a sample that took long the next whole second is due, not all that were missed.
            second = max(second + 1, (self._clock() - self._origin_ns) // SECOND_NS + 1)
        self._finish()
        self.cpu_ns = time.thread_time_ns() - began_ns

    def _begin_late(self, *, ramped: bool) -> None:
        """One more sample before the cycle's clock starts: what came since the first one, an idle wait for other nodes
        or a ramp-up, belongs to no cycle."""
        lagging = [monitor for monitor in self._often if isinstance(monitor, Lagging)]
        if ramped:
            self._take([*self._often, *self._fleeting])
            # Under a load their counters come late, here as at the end. Read when all has settled, they would have
            # counted in the cycle what was done before it.
            self._last += lagging
        else:
            self._take([monitor for monitor in self._often if monitor not in lagging])
        self._before = len(self._rows)

    def _early(self) -> int:
        """When fleeting monitors are read, in ns after the start."""
        if self._duration_ns is None or not self._last:
            return _NEVER_NS
        return self._duration_ns - min(self._early_ns, round(MOST_EARLY * self._duration_ns))

    def _until(self, at_ns: int) -> float:
        """Seconds until ``at_ns`` from the cycle's start."""
        return max(0, self._origin_ns + at_ns - self._clock()) / SECOND_NS

    def _finish(self) -> None:
        """The last sample: at once of what is current, and of what lags when it has settled."""
        ended_ns = self._clock()
        lagging = [m for m in self._lasting if isinstance(m, Lagging) and m not in self._last]
        self._take([*(m for m in self._lasting if not isinstance(m, Lagging)), *self._last])
        for monitor in lagging:
            # A sample that misses the end of the load must not be taken for the one after it.
            latest_ns = ended_ns - self._origin_ns - monitor.lag_ns
            later = self._rows[self._before :]
            kept = [row for row in later if row["monitor"] != monitor.name or row["at_ns"] <= latest_ns]
            self._rows[self._before :] = kept
            self._guarded(monitor, monitor.settle)
        self._take(lagging)

    def _take(self, monitors: Sequence[Monitor]) -> None:
        for monitor in monitors:
            at_ns = self._clock()
            values = self._guarded(monitor, monitor.sample) or []
            at_ns = (monitor.read_ns if isinstance(monitor, Dated) else at_ns) - self._origin_ns
            self._rows += [
                {"at_ns": at_ns, "monitor": monitor.name, "metric": metric, "unit": unit, "value": float(value)}
                for metric, unit, value in values
            ]

    def _guarded(self, monitor: Monitor, call: Callable[[], T]) -> T | None:
        try:
            return call()
        except Exception as error:  # whatever a monitor meets, the measurement goes on
            note = f"{monitor.name}: {error}"
            if note not in self._notes:
                self._notes.append(note)
            return None
