"""The core: processor, caches, main memory."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import psutil

from dsbench.control_groups import cpu_limit, memory_limit
from dsbench.measure.stack.described import Items, present, size, text

_CPUS = Path("/sys/devices/system/cpu")


def items(server: int | None) -> Items:
    """What the machine has, and what the process ``server`` (this one when ``None``) may use of it."""
    memory, limit, share = psutil.virtual_memory().total, memory_limit(server), cpu_limit(server)
    return present(
        {
            "CPU": model(),
            "sockets": _sockets(),
            "cores": str(psutil.cpu_count(logical=False) or ""),
            "threads": str(psutil.cpu_count() or ""),
            "threads allowed": _allowed(),
            "CPU limit": f"{share:g} CPUs (control group)" if share else "",
            "MHz": _mhz(),
            "caches": caches(),
            "frequency governor": governor(),
            "RAM": size(memory),
            "RAM limit": f"{size(limit)} (control group)" if limit and limit < memory else "",
            "swap": size(psutil.swap_memory().total),
            "NUMA nodes": str(len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or ""),
        }
    )


def model() -> str:
    """Name of the processor."""
    match = re.search(r"^(?:model name|cpu model)\s*:\s*(.+)$", text(Path("/proc/cpuinfo")), re.MULTILINE)
    return match[1].strip() if match else _by_lscpu() or platform.processor() or platform.machine()


def _by_lscpu() -> str:
    """On ARM the kernel gives numbers, which this program knows by heart."""
    program = shutil.which("lscpu")
    if program is None:
        return ""
    said = subprocess.run(
        [program], capture_output=True, text=True, check=False, timeout=10, env={**os.environ, "LC_ALL": "C"}
    )
    match = re.search(r"^Model name:\s*(.+)$", said.stdout, re.MULTILINE)
    return match[1].strip() if match else ""


def governor() -> str:
    """The rule by which the processor's frequency is chosen; empty when a hypervisor decides."""
    governors = {text(file) for file in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(governors - {""}))


def caches() -> str:
    """Caches of the first processor, from the nearest to the farthest."""
    found = []
    for folder in sorted((_CPUS / "cpu0/cache").glob("index[0-9]*")):
        level, kind, amount = (text(folder / name) for name in ("level", "type", "size"))
        if level and amount:
            short = {"Data": "d", "Instruction": "i"}.get(kind, "")
            sharing = _count(text(folder / "shared_cpu_list"))
            found.append(f"L{level}{short} {amount}" + (f" for {sharing} threads" if sharing > 1 else ""))
    return ", ".join(found)


def _count(cpus: str) -> int:
    """Length of a kernel's list such as ``0-3,8``."""
    ranges = [part.split("-") for part in cpus.split(",") if part]
    return sum(int(r[-1]) - int(r[0]) + 1 for r in ranges)


def _sockets() -> str:
    packages = {text(file) for file in _CPUS.glob("cpu[0-9]*/topology/physical_package_id")}
    return str(len(packages - {""}) or "")


def _allowed() -> str:
    """Only when this process may not use all of them."""
    if not hasattr(os, "sched_getaffinity"):
        return ""
    allowed = len(os.sched_getaffinity(0))
    return str(allowed) if allowed != psutil.cpu_count() else ""


def _mhz() -> str:
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError):
        return ""
    return f"{frequency.max or frequency.current:.0f}" if frequency else ""
