"""Processor time and memory of the process that makes the load."""

from __future__ import annotations

import psutil

from dsbench.monitors.monitor import Value

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


class Client:
    """Counters of this process: load, monitors and, with an embedded engine, the database."""

    name = "client"

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._process = psutil.Process()

    def sample(self) -> list[Value]:
        """CPU seconds of all threads since the process started, and memory in RAM now."""
        if resource is not None:
            usage = resource.getrusage(resource.RUSAGE_SELF)  # microseconds; psutil counts in ticks of 10 ms
            user, system = usage.ru_utime, usage.ru_stime
        else:
            times = self._process.cpu_times()
            user, system = times.user, times.system
        return [
            ("cpu_user", "s total", user),
            ("cpu_system", "s total", system),
            ("resident_memory", "bytes", self._process.memory_info().rss),
        ]
