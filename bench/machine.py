"""What the figures were measured on."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import psutil

from bench import pgbench, sysbench
from dsbench.measure.stack import system


def processor() -> str:
    """Model of the CPUs; the architecture where the kernel tells none."""
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def kind() -> str:
    """``virtual`` or ``physical``."""
    return "virtual" if system.items().get("virtual machine") else "physical"


def name() -> str:
    """Of the machine's files: machines of one kind share it, whoever has them."""
    model = re.sub(r"\((?:R|TM)\)", "", processor())
    words = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    return f"{words}-{psutil.cpu_count()}-cpus-{kind()}"


def description() -> list[str]:
    """Lines for the page: the machine, the kernel, the peers."""
    memory = psutil.virtual_memory().total / 2**30
    peers = [pgbench.version(), *([sysbench.version()] if sysbench.available() else [])]
    facts = [
        f"{psutil.cpu_count()} CPUs ({processor()})", f"{memory:.0f} GiB memory", f"{kind()} machine",
        f"Linux {platform.release()}" if platform.system() == "Linux" else platform.platform(),
        f"clock source {system.clock_source()}" if system.clock_source() else "",
    ]  # fmt: skip
    return [
        f"- machine: {', '.join(fact for fact in facts if fact)}",
        f"- peers: {', '.join(peers)}",
        "",
    ]


def _text(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
