"""Limits of memory, processor time and disk that control groups set below what the machine has (Linux)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_NO_LIMIT = 1 << 60
"""Version 1 says "no limit" by a number near 2^63."""


def memory(pid: int | None = None) -> int:
    """Bytes of RAM that the process ``pid`` (this one when ``None``) can use; 0 where the system does not tell."""
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    limit = memory_limit(pid)
    return min(ram, limit) if limit else ram


def memory_limit(pid: int | None) -> int | None:
    """Bytes that the control groups of a process allow it; ``None`` without a limit."""
    files = [folder / "memory.max" for folder in _folders(pid, "")]
    files += [folder / "memory.limit_in_bytes" for folder in _folders(pid, "memory")]
    limits = [int(word) for file in files if (word := text(file)).isdecimal()]
    return min((n for n in limits if n < _NO_LIMIT), default=None)


def cpu_limit(pid: int | None) -> float | None:
    """Processors' worth of time that the control groups of a process allow it; ``None`` without a limit."""
    pairs = [text(folder / "cpu.max").split() for folder in _folders(pid, "")]
    for folder in _folders(pid, "cpu"):
        pairs.append([text(folder / "cpu.cfs_quota_us"), text(folder / "cpu.cfs_period_us")])
    shares = [int(p[0]) / int(p[1]) for p in pairs if len(p) == 2 and p[0].isdecimal() and p[1].isdecimal()]
    return min((share for share in shares if share > 0), default=None)


def throttled_ns(pid: int | None, root: Path = Path("/")) -> int | None:
    """How long threads of the control groups of a process had used up their time, in all; ``None`` without a quota."""
    waited = []
    for controller, unit_ns, name in (("", 1000, "throttled_usec"), ("cpu", 1, "throttled_time")):
        for folder in _folders(pid, controller, root):
            if found := re.search(rf"^{name} (\d+)$", text(folder / "cpu.stat"), re.MULTILINE):
                waited.append(int(found[1]) * unit_ns)
    return max(waited, default=None)


def disk_rates(pid: int | None, device: str) -> dict[str, int]:
    """Bytes per second that the control groups of a process allow it to ``read`` and ``write`` on the disk of number
    ``device``, such as ``8:0``; those without a limit are missing."""
    found: dict[str, int] = {}
    for what in ("read", "write"):
        said = [(text(folder / f"blkio.throttle.{what}_bps_device"), "") for folder in _folders(pid, "blkio")]
        said += [(text(folder / "io.max"), f"{what[0]}bps=") for folder in _folders(pid, "")]
        rates = [rate for lines, named in said if (rate := _rate(lines, device, named))]
        if rates:
            found[what] = min(rates)
    return found


def text(path: Path) -> str:
    """Content of a small file of the kernel; empty when it cannot be read."""
    try:
        return path.read_text(errors="replace").strip(" \n\0")
    except OSError:
        return ""


def _rate(lines: str, device: str, named: str) -> int | None:
    match = re.search(rf"^{re.escape(device)} (?:.* )?{named}(\d+)\b", lines, re.MULTILINE)
    return int(match[1]) if match else None


def _folders(pid: int | None, controller: str, root: Path = Path("/")) -> Iterator[Path]:
    """The control group of a process and those above it; of version 2 when ``controller`` is empty."""
    for line in text(root / f"proc/{pid or os.getpid()}/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controller not in controllers.split(","):
            continue
        groups = root / _GROUPS.relative_to("/")
        top = groups / controllers if controllers else groups
        inside = Path(group.lstrip("/"))
        for part in (inside, *inside.parents):
            # In a container the path may be that of the host; then only the top is visible.
            if ".." not in part.parts:
                yield top / part
