"""Processor time and memory of the process that makes the load."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

from dsbench.measure.monitors.monitor import Value

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


class Client:
    """Counters of this process: load, monitors and, with an embedded engine, the database."""

    name = "client"

    def __init__(self, beside: Callable[[], Iterable[int]] = tuple) -> None:
        """``beside``: pids of processes that make load in place of this one."""
        self.notes: list[str] = []
        self._process, self._beside = psutil.Process(), beside
        self._spent: dict[int, tuple[float, float]] = {}

    def sample(self) -> list[Value]:
        """CPU seconds of all threads since the process started, and memory in RAM now."""
        if resource is not None:
            usage = resource.getrusage(resource.RUSAGE_SELF)  # microseconds; psutil counts in ticks of 10 ms
            user, system = usage.ru_utime, usage.ru_stime
        else:
            times = self._process.cpu_times()
            user, system = times.user, times.system
        memory = self._process.memory_info().rss
        for pid in self._beside():
            with suppress(psutil.Error):
                other = psutil.Process(pid)
                times, memory = other.cpu_times(), memory + other.memory_info().rss
                self._spent[pid] = (times.user, times.system)
        user += sum(one for one, _ in self._spent.values())
        system += sum(one for _, one in self._spent.values())
        return [
            ("cpu_user", "s total", user),
            ("cpu_system", "s total", system),
            ("resident_memory", "bytes", memory),
        ]
