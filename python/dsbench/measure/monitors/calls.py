"""System calls of the whole machine (Linux), as a counter of the kernel's: nothing is traced, nothing is slowed down.

It needs tracefs (mounted at /sys/kernel/tracing) and the right to count a tracepoint on all CPUs: root or CAP_PERFMON,
or kernel.perf_event_paranoid at -1 or below.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from pathlib import Path
from typing import Final

from dsbench.measure.monitors.monitor import Value

TRACEFS: Final = Path("/sys/kernel/tracing")
_NUMBER: Final = {"x86_64": 298, "aarch64": 241}
"""Of the system call perf_event_open, by machine."""
_ONLINE: Final = Path("/sys/devices/system/cpu/online")
_TRACEPOINT: Final = 2
_ATTR_SIZE: Final = 64
"""PERF_ATTR_SIZE_VER0: type and size of 4 bytes each, config of 8, and zeros."""


class SystemCalls:
    """Counts every entry into the kernel by a system call, on all CPUs, whoever makes it."""

    name = "calls"

    def __init__(self, counters: list[int]) -> None:
        self.notes: list[str] = []
        self._counters = counters

    @classmethod
    def allowed(cls, root: Path = TRACEFS) -> SystemCalls | None:
        """``None`` where the kernel does not let this process count them."""
        counters: list[int] = []
        try:
            event = int((root / "events/raw_syscalls/sys_enter/id").read_text())
            # All of the machine: this process may be held on some of them (taskset), where a server need not be.
            for cpu in numbered(_ONLINE.read_text()):
                counters.append(_opened(event, cpu))
        except (OSError, ValueError):
            for counter in counters:
                os.close(counter)
            return None
        return cls(counters) if counters else None

    def sample(self) -> list[Value]:
        """Those since the monitor was made."""
        total = sum(struct.unpack("Q", os.read(counter, 8))[0] for counter in self._counters)
        return [("system_calls", "count total", float(total))]

    def __del__(self) -> None:
        for counter in self._counters:
            os.close(counter)


def numbered(cpus: str) -> list[int]:
    """The numbers of a list as the kernel writes it: ``0-2,5``. Raises ``ValueError``."""
    parts = (part.split("-") for part in cpus.strip().split(","))
    return [number for part in parts for number in range(int(part[0]), int(part[-1]) + 1)]


def _opened(event: int, cpu: int) -> int:
    """The descriptor of a counter of ``event`` on ``cpu``, for all processes; ``OSError`` where it is not allowed."""
    number = _NUMBER.get(platform.machine())
    if number is None:
        raise OSError(f"no number of perf_event_open is known for {platform.machine()}")
    attributes = struct.pack("IIQ", _TRACEPOINT, _ATTR_SIZE, event).ljust(_ATTR_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = int(libc.syscall(number, ctypes.c_char_p(attributes), -1, cpu, -1, ctypes.c_ulong(8)))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    return descriptor
