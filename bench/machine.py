"""What the figures were measured on."""

from __future__ import annotations

import datetime
import platform
import re
from pathlib import Path

import psutil

from bench import pgbench, sysbench


def description(server: str) -> list[str]:
    """Lines for the page: the machine, the kernel, the versions, the day."""
    cpu = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.MULTILINE)
    clock = _text("/sys/devices/system/clocksource/clocksource0/current_clocksource").strip()
    virtual = "virtual machine" if re.search(r"^flags.*\bhypervisor\b", _text("/proc/cpuinfo"), re.MULTILINE) else ""
    memory = psutil.virtual_memory().total / 2**30
    peers = [pgbench.version(), *([sysbench.version()] if sysbench.available() else [])]
    facts = [
        f"{psutil.cpu_count()} CPUs ({cpu[1] if cpu else platform.processor()})", f"{memory:.0f} GiB memory", virtual,
        f"Linux {platform.release()}" if platform.system() == "Linux" else platform.platform(),
        f"clock source {clock}" if clock else "",
    ]  # fmt: skip
    return [
        f"- machine: {', '.join(fact for fact in facts if fact)}",
        f"- server: {server}, on the same machine",
        f"- peers: {', '.join(peers)}",
        f"- date: {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, load average before: {_load()}",
    ]


def _load() -> str:
    return f"{psutil.getloadavg()[0]:.2f}"


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
