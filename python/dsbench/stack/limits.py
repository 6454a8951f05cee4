"""Limits of memory and processor time that a control group sets below what the machine has (Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

from dsbench.stack.described import text

_GROUPS = Path("/sys/fs/cgroup")
_NO_LIMIT = 1 << 60
"""Version 1 says "no limit" by a number near 2^63."""


def memory(pid: int | None) -> dict[str, int]:
    """Bytes of RAM that the process ``pid`` (this one when ``None``) can use, and of swap."""
    ram = psutil.virtual_memory().total
    limit = memory_limit(pid)
    return {"RAM": min(ram, limit) if limit else ram, "swap": psutil.swap_memory().total}


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


def _folders(pid: int | None, controller: str) -> Iterator[Path]:
    """The control group of a process and those above it; of version 2 when ``controller`` is empty."""
    for line in text(Path(f"/proc/{pid or os.getpid()}/cgroup")).splitlines():
        _, controllers, group = line.split(":", 2)
        if controller not in controllers.split(","):
            continue
        top = _GROUPS / controllers if controllers else _GROUPS
        inside = Path(group.lstrip("/"))
        for part in (inside, *inside.parents):
            # In a container the path may be that of the host; then only the top is visible.
            if ".." not in part.parts:
                yield top / part
