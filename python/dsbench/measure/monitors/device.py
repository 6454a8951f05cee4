"""Operations, bytes and times of the block device that holds the data (Linux)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dsbench.measure.monitors.monitor import Value
from dsbench.storage import Device, device_of

_VIRTUAL: Final = ("loop", "ram", "zram", "dm-", "md", "sr", "fd")
"""Beginnings of the names of devices that are none, or that pass their transfers on to others."""

SECTOR_BYTES = 512
"""The kernel's unit in its counters, whatever the sectors of the device are."""


class StorageDevice:
    """Counters of one block device: the partition, volume or disk on which the file system lies."""

    name = "device"

    def __init__(self, device: Device) -> None:
        self.notes: list[str] = []
        self.device = device
        self._file = device.folder / "stat"

    @classmethod
    def holding(cls, directory: Path) -> StorageDevice | None:
        """The device that holds ``directory``; ``None`` where there is none to see: memory, network, container."""
        device = device_of(directory)
        return cls(device) if device is not None and (device.folder / "stat").exists() else None

    def sample(self) -> list[Value]:
        """Finished operations since the start of the machine.

        ``read_time`` and ``write_time`` add up the waits of all operations, ``busy_time`` is the time
        with at least one under way: operations in parallel can make the former the greater.
        """
        # Fields of the kernel's Documentation/block/stat.rst, times in milliseconds.
        count = [int(number) for number in self._file.read_text().split()]
        reads, _, read_sectors, read_ms, writes, _, write_sectors, write_ms, _, busy_ms = count[:10]
        return [
            ("reads", "operations total", reads),
            ("writes", "operations total", writes),
            ("read_bytes", "bytes total", read_sectors * SECTOR_BYTES),
            ("write_bytes", "bytes total", write_sectors * SECTOR_BYTES),
            ("read_time", "s total", read_ms / 1000),
            ("write_time", "s total", write_ms / 1000),
            ("busy_time", "s total", busy_ms / 1000),
        ]


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
