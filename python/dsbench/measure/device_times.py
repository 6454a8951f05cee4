"""How long the device of the data takes for each request, by the kernel's tracepoints and perf (``--perf storage``)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from math import floor, log2
from pathlib import Path
from typing import Final

from dsbench.devices import Device
from dsbench.measure.perf import PerfMonitor, Scene, read_lines

_MOST: Final = "256M"
"""What perf writes at most: it ends there, and the cycle goes on."""
PARTS: Final = 16
"""Buckets of an octave: a time is known to 4%."""
_EVENT: Final = re.compile(
    r"^\s*(\d+)\.(\d{9}):\s+block:block_rq_(issue|complete): (\d+,\d+) (\w+) .*?\(.*?\) (\d+) \+ \d+\b"
)
"""Seconds and ns, event, device, what is done (include/trace/events/block.h), first sector."""
_OPERATIONS: Final = {"R": "read", "W": "write", "F": "flush"}


def find_disks(devices: Iterable[Device]) -> dict[str, str]:
    """Number ``8,0`` to name of the disks that hold the data: those below logical volumes, and no partitions."""
    found: dict[str, str] = {}
    for device in devices:
        below = device.disk.below()
        if below:
            found |= find_disks(below)
            continue
        with suppress(OSError):
            found[(device.disk.folder / "dev").read_text().strip().replace(":", ",")] = device.disk.name
    return found


def record(scene: Scene) -> list[list[str]]:
    """Each request of the disks as it goes to the device and as it is back; ``OSError`` where there is no disk."""
    disks = find_disks(scene.devices)
    if not disks:
        raise OSError("the block device of the data is not visible from here")
    numbers = (number.split(",") for number in disks)
    chosen = " || ".join(f"dev == {(int(major) << 20) + int(minor)}" for major, minor in numbers)
    events = [word for event in ("issue", "complete") for word in ("-e", f"block:block_rq_{event}", "--filter", chosen)]
    return [["perf", "record", "-q", "-a", "--max-size", _MOST, *events, "-o", str(scene.folder / "requests")]]


def read(watch: PerfMonitor, folder: Path) -> list[Mapping[str, object]]:
    """Buckets of the times by disk and operation."""
    file = folder / "requests"
    if not file.exists():
        return []
    found: Counter[tuple[str, str, int]] = Counter()
    lines = read_lines(["perf", "script", "--ns", "-i", str(file), "-F", "time,event,trace"])
    for disk, operation, time_ns in match_events(lines):
        found[disk, operation, bucket_of(time_ns)] += 1
    names = find_disks(watch.devices)
    rows = list[Mapping[str, object]]()
    for (disk, operation, number), count in sorted(found.items()):
        low, high = bounds_of(number)
        rows.append({"device": names.get(disk, disk), "operation": operation, "low_ns": low, "high_ns": high,
                     "count": count})  # fmt: skip
    return rows


def match_events(lines: Iterable[str]) -> Iterator[tuple[str, str, int]]:
    """Device, operation and time of each request that was seen to begin and to end."""
    begun: dict[tuple[str, str], tuple[str, int]] = {}
    for line in lines:
        match = _EVENT.match(line)
        if match is None or (operation := operation_of(match[5])) is None:
            continue
        at_ns, device = int(match[1]) * 1_000_000_000 + int(match[2]), match[4]
        # A flush has no place; the kernel has one of a device under way.
        key = device, "flush" if operation == "flush" else match[6]
        if match[3] == "issue":
            begun[key] = operation, at_ns
        elif (one := begun.pop(key, None)) is not None and one[0] == operation:
            yield device, operation, at_ns - one[1]


def operation_of(letters: str) -> str | None:
    """``read``, ``write``, ``forced write`` (past the device's cache) or ``flush``; ``None`` for others."""
    # A flush that goes before an operation has an F of its own in front of it.
    of = letters[1:] if len(letters) > 1 and letters[0] == "F" and letters[1] in "RWFD" else letters
    name = _OPERATIONS.get(of[:1])
    return "forced write" if name == "write" and "F" in of[1:] else name


def bucket_of(time_ns: int) -> int:
    """Number of the bucket of a time."""
    return floor(PARTS * log2(max(time_ns, 1)))


def bounds_of(number: int) -> tuple[int, int]:
    """Least and greatest time of a bucket, both inclusive."""
    low = _first_of(number)
    return low, max(low, _first_of(number + 1) - 1)


def _first_of(number: int) -> int:
    """The least whole number whose bucket is ``number`` or a later one."""
    found = max(1, round(2 ** (number / PARTS)))
    while bucket_of(found) < number:
        found += 1
    while found > 1 and bucket_of(found - 1) >= number:
        found -= 1
    return found
