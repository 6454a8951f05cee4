"""Bytes that went through network interfaces, the loopback apart."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil

from dsbench.measure.monitors.monitor import Value

_INTERFACES = Path("/sys/class/net")


class Network:
    """Counters of the network interfaces of this machine.

    Where there is hardware only hardware counts: a byte that passes a bridge, a tunnel or a virtual
    interface on its way would else be counted twice. Unix sockets pass no interface.
    """

    name = "network"

    def __init__(self) -> None:
        self.notes: list[str] = []
        names = sorted(psutil.net_io_counters(pernic=True))
        others = [name for name in names if not _is_loopback(name)]
        hardware = [name for name in others if (_INTERFACES / name / "device").exists()]
        self.loopback = frozenset(names) - frozenset(others)
        self.counted = frozenset(hardware or others)

    def sample(self) -> list[Value]:
        """Bytes since the start of the machine."""
        counters = psutil.net_io_counters(pernic=True, nowrap=False)
        values: list[Value] = []
        for prefix, names in (("", self.counted), ("loopback_", self.loopback)):
            chosen = [counters[name] for name in names if name in counters]
            values.append((f"{prefix}sent_bytes", "bytes total", sum(c.bytes_sent for c in chosen)))
            values.append((f"{prefix}received_bytes", "bytes total", sum(c.bytes_recv for c in chosen)))
        return values


def identity() -> str:
    """Of the interfaces that a process sees here: those of its machine, or of its container."""
    try:
        return f"{platform.node()} {Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:  # Not Linux.
        return platform.node()


def _is_loopback(name: str) -> bool:
    return name in ("lo", "lo0") or name.startswith("Loopback")
