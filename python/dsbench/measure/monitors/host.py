"""What a machine has for a run and may lose meanwhile: CPUs, memory, its clock, the time that control groups allow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from dsbench import control_groups
from dsbench.control_groups import text
from dsbench.dataclass import dataclass
from dsbench.measure.monitors.system import numbered

_SYSTEM: Final = "sys/devices/system"
_MEMORY: Final = re.compile(r"^MemTotal:\s+(\d+) kB", re.MULTILINE)
_SOME: Final = 0.01
"""Share of the memory, or of a cycle, below which a change is not told."""
OWN_HOST: Final = "use a machine or a virtual machine with dedicated CPUs and memory, and repeat the scale"


@dataclass(frozen=True)
class Host:
    """All of it at one time; 0 or empty is what the system does not tell."""

    cpus: int
    """Those that are switched on."""
    memory: int
    """Bytes that the system has: a balloon of the host's takes them away."""
    clock: str
    """What the kernel reads the time from."""
    throttled_ns: Mapping[str, int]
    """By whose they are, how long its processes had used up what their control groups allow."""


def read_host(pids: Mapping[str, int], root: Path = Path("/")) -> Host:
    """Reads it; ``pids`` has a process of each of those whose control groups count."""
    throttled = {who: control_groups.throttled_ns(pid, root) for who, pid in pids.items()}
    memory = _MEMORY.search(text(root / "proc/meminfo"))
    return Host(
        len(read_cpus(root)["online"]), int(memory[1]) * 1024 if memory else 0, read_clock(root),
        {who: waited_ns for who, waited_ns in throttled.items() if waited_ns is not None},
    )  # fmt: skip


def read_cpus(root: Path = Path("/")) -> dict[str, list[int]]:
    """Numbers of the CPUs that are ``present``, and of those that are ``online``; none where nothing tells."""
    found = {}
    for kind in ("present", "online"):
        words = text(root / _SYSTEM / "cpu" / kind)
        try:
            found[kind] = numbered(words)
        except ValueError:
            found[kind] = []
    return found


def read_clock(root: Path = Path("/")) -> str:
    """What the kernel reads the time from; empty where it does not say."""
    return text(root / _SYSTEM / "clocksource/clocksource0/current_clocksource")


def is_tsc_given_up(root: Path = Path("/")) -> bool:
    """Whether the CPUs have a counter of ticks that the kernel no longer offers as a clock: it found it unstable."""
    offered = text(root / _SYSTEM / "clocksource/clocksource0/available_clocksource").split()
    counts = re.search(r"^flags\s*:.*\btsc\b", text(root / "proc/cpuinfo"), re.MULTILINE) is not None
    return counts and bool(offered) and "tsc" not in offered


def describe_losses(before: Host, after: Host) -> Iterator[tuple[str, str, str]]:
    """(code, words, remedy) of what a machine has not any more: the words go on from "during cycle 3 …"."""
    if before.cpus and after.cpus and before.cpus != after.cpus:
        yield "cpus-changed", f"the number of CPUs changed from {before.cpus} to {after.cpus}", OWN_HOST
    if before.memory and abs(after.memory - before.memory) > _SOME * before.memory:
        words = f"the memory of the machine changed from {_gib(before.memory)} to {_gib(after.memory)} (a balloon?)"
        yield "memory-changed", words, OWN_HOST
    if before.clock != after.clock:
        words = f"the kernel changed its clock from {before.clock or 'none'} to {after.clock or 'none'}"
        yield "clock-changed", words, "see dmesg for the reason (tsc unstable?), and repeat the scale"


def describe_changes(before: Host, after: Host, span_ns: int) -> Iterator[tuple[str, str, str]]:
    """The same of a cycle of ``span_ns``, and who had to wait for what a control group allows."""
    yield from describe_losses(before, after)
    waited = {who: after.throttled_ns[who] - ns for who, ns in before.throttled_ns.items() if who in after.throttled_ns}
    if touched := {who: ns for who, ns in waited.items() if ns > _SOME * span_ns}:
        words = f"{' and '.join(touched)} had to wait {max(touched.values()) / 1e9:.2g} s"
        remedy = "raise the quota of the container or control group (cpu.max), or report the quota with the figures"
        yield "throttled", f"{words} for CPU time, which a control group limits", remedy


class Lasting:
    """The machine over the cycles of a run: it may also lose something between two of them."""

    def __init__(self) -> None:
        self._left: Host | None = None

    def begin(self, host: Host) -> list[tuple[str, str, str]]:
        """What it lost since the last cycle ended, as the next one begins."""
        return list(describe_losses(self._left, host)) if self._left else []

    def end(self, host: Host) -> None:
        """A cycle leaves it so."""
        self._left = host


def _gib(size: int) -> str:
    return f"{size / 2**30:.4g} GiB"
