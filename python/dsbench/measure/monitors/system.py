"""What the machine counts: processor time and memory, network, disks, system calls; and what the load takes of it."""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from dsbench.devices import Device, devices_of
from dsbench.measure.monitors import proc
from dsbench.measure.monitors.monitor import Value


class OperatingSystem:
    """Counters of the operating system, summed over all CPUs, whoever caused them."""

    name = "os"

    def __init__(self) -> None:
        self.notes: list[str] = []

    def sample(self) -> list[Value]:
        """CPU seconds by state, context switches, memory and swap in use."""
        cpu, memory = psutil.cpu_times(), psutil.virtual_memory()
        spent = {
            "cpu_user": cpu.user + getattr(cpu, "nice", 0.0),
            # Interrupts serve the disk and the network: they are the system's work for the load.
            "cpu_system": cpu.system + getattr(cpu, "irq", 0.0) + getattr(cpu, "softirq", 0.0),
            "cpu_idle": cpu.idle,
        }
        for state in ("iowait", "steal"):
            if hasattr(cpu, state):
                spent[f"cpu_{state}"] = getattr(cpu, state)
        gauges = {"memory_used": memory.used, "swap_used": psutil.swap_memory().used}
        if hasattr(memory, "cached"):
            gauges["memory_cached"] = memory.cached
        return [
            *((metric, "s total", seconds) for metric, seconds in spent.items()),
            ("context_switches", "count total", psutil.cpu_stats().ctx_switches),
            *((metric, "bytes", size) for metric, size in gauges.items()),
        ]


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


_VIRTUAL: Final = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
"""Beginnings of the names of devices that are none, or that pass their transfers on to others."""

SECTOR_BYTES = 512
"""The kernel's unit in its counters, whatever the sectors of the device are."""


class StorageDevice:
    """Counters of the block devices of the data: the partitions, volumes or disks on which the file systems lie.

    Those of several, as where the log has a disk of its own, are added up.
    """

    name = "device"

    def __init__(self, *devices: Device) -> None:
        self.notes: list[str] = []
        self._files = [device.folder / "stat" for device in devices]
        # The kernel counts no flushes for partitions; those of one disk count once.
        self._flushes = [device.folder / "stat" for device in dict.fromkeys(device.disk for device in devices)]

    @classmethod
    def holding(cls, *folders: Path) -> StorageDevice | None:
        """The devices that hold ``folders``; ``None`` where there is none to see: memory, network, container."""
        devices = [device for device in devices_of(folders) if (device.folder / "stat").exists()]
        return cls(*devices) if devices else None

    def sample(self) -> list[Value]:
        """Finished operations since the start of the machine.

        ``read_time`` and ``write_time`` add up the waits of all operations, ``busy_time`` is the time
        with at least one under way, of each device: operations in parallel can make the former the greater.
        """
        # Fields of the kernel's Documentation/block/stat.rst, times in milliseconds.
        reads, _, read_sectors, read_ms, writes, _, write_sectors, write_ms, _, busy_ms = _added(self._files)[:10]
        flushes = _added(self._flushes)[15:17]
        of_flushes: list[Value] = []
        if len(flushes) == 2:  # Linux 5.5 and later.
            of_flushes = [("flushes", "operations total", flushes[0]), ("flush_time", "s total", flushes[1] / 1000)]
        return [
            *of_flushes,
            ("reads", "operations total", reads),
            ("writes", "operations total", writes),
            ("read_bytes", "bytes total", read_sectors * SECTOR_BYTES),
            ("write_bytes", "bytes total", write_sectors * SECTOR_BYTES),
            ("read_time", "s total", read_ms / 1000),
            ("write_time", "s total", write_ms / 1000),
            ("busy_time", "s total", busy_ms / 1000),
        ]


def _added(files: list[Path]) -> list[int]:
    """The numbers of ``files``, each added to those in its place in the others."""
    return [sum(column) for column in zip(*(map(int, file.read_text().split()) for file in files), strict=False)]


class Pressure:
    """How long threads waited for CPUs, storage and memory (PSI); the kernel brings it up to date every two seconds."""

    name = "pressure"

    def __init__(self, root: Path = proc.ROOT) -> None:
        self.notes: list[str] = []
        self._root = root

    def sample(self) -> list[Value]:
        """Seconds since the machine started in which at least one thread waited; nothing where the kernel does not
        tell."""
        told = ((what, proc.read(self._root / "pressure" / what, proc.pressure)) for what in proc.RESOURCES)
        return [(what, "s total", one.total_us / 1e6) for what, one in told if one is not None]


class RoundTrip:
    """How long a message of TCP takes to the server and back, by the kernel's own clock of the load's sockets."""

    name = "round_trip"
    around = True
    """Before the load, when only the logins have passed: later it would have the waits for busy CPUs in it."""

    def __init__(self, port: int = 0) -> None:
        """``port`` of the server; 0 for sockets to any."""
        self.notes: list[str] = []
        self._port = port

    def sample(self) -> list[Value]:
        """The median of the shortest round trips of the sockets, which are open before the load only; nothing where
        the server is reached without a network."""
        found = sorted(time for number in proc.pids(Path("/proc/self/fd")) if (time := self._read(number)) is not None)
        return [("shortest", "s", found[len(found) // 2])] if found else []

    def _read(self, descriptor: int) -> float | None:
        try:
            if not str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith("socket:"):
                return None
            with socket.socket(fileno=os.dup(descriptor)) as copy:
                if copy.family not in (socket.AF_INET, socket.AF_INET6) or copy.type != socket.SOCK_STREAM:
                    return None
                host, port = copy.getpeername()[:2]
                info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
        except OSError:
            return None
        if len(info) < _INFO_BYTES or self._port not in (0, port):
            return None
        seconds = int(struct.unpack_from("I", info, _SHORTEST_AT)[0]) / 1e6
        # On a loopback the kernel hands messages over within the calls of both sides, which count as their CPU time.
        near = host.startswith(("127.", "::1", "::ffff:127."))
        return None if near and seconds < _LOOPBACK_S else seconds


_SHORTEST_AT: Final = 148
"""Where tcpi_min_rtt lies in the kernel's struct tcp_info, in µs."""
_INFO_BYTES: Final = _SHORTEST_AT + 4
_LOOPBACK_S: Final = 0.0005


class Disks:
    """Transfers of every disk of the machine, wherever the data lie."""

    name = "disks"

    def __init__(self, root: Path = Path("/")) -> None:
        self.notes: list[str] = []
        self._file, self._blocks = root / "proc/diskstats", root / "sys/block"

    def sample(self) -> list[Value]:
        """Finished reads and writes of each since the start of the machine; nothing where the system does not tell."""
        try:
            lines = [line.split() for line in self._file.read_text().splitlines()]
            whole = {path.name for path in self._blocks.iterdir() if not path.name.startswith(_VIRTUAL)}
        except OSError:
            return []
        # Name, reads and writes: fields 3, 4 and 8 of the kernel's Documentation/admin-guide/iostats.rst.
        counts = [(line[2], int(line[3]) + int(line[7])) for line in lines if len(line) > 7 and line[2] in whole]
        return [(f"transfers of {name}", "operations total", count) for name, count in counts if count]


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
