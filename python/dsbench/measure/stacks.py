"""Stacks of what the database does on CPUs, by Linux's perf: the material of a flame graph (``--perf stacks``)."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from dsbench.measure.monitors import RUN, SERVER
from dsbench.measure.perf import CLIENT, PerfMonitor, Scene, read_lines

_HERTZ: Final = 99
"""Samples of each CPU per second: no multiple of the ticks of the kernel."""
_SAMPLES_PER_S: Final = 3200
"""Of all CPUs together at most: each sample carries a piece of its stack."""
_STACK_BYTES: Final = 16384
"""Of a program's stack that a sample keeps; callers beyond it are not seen."""
_MOST: Final = 2000
"""Stacks of which an archive keeps each for itself."""
_PARANOID: Final = Path("/proc/sys/kernel/perf_event_paranoid")

_SAMPLE: Final = re.compile(r"^(\S.*?)\s+(\d+)\s*$")
"""First line of a sample: thread's name and process."""
_FRAME: Final = re.compile(r"^\s+([0-9a-f]+) (.*) \(((?:/|\[|anon|memfd).*)\)$")
"""Address, function, and the file that it is from."""
_KERNEL_FROM: Final = 1 << 63
_NO_ADDRESS: Final = (1 << 64) - 1
"""Where perf could not go on."""
_ENDING: Final = re.compile(r"@@?[A-Z][\w.]*$|(\.(isra|part|constprop|cold|lto_priv|llvm))+[.\d]*$|\+0x[0-9a-f]+$")
"""Version of a symbol, and what a compiler made of a function."""
OF_KERNEL: Final = "_[k]"
"""Ending of the kernel's functions, as in folded stacks of others."""
_IDLE: Final = re.compile(r"do_idle|cpu_startup_entry")


def record(scene: Scene) -> list[list[str]]:
    """Samples all CPUs by the clock; where only a user's own processes may be watched, those, without the kernel.

    A program's callers are found by the tables that exceptions need, which all programs have: most are built without
    frame pointers.
    """
    hertz = max(1, min(_HERTZ, _SAMPLES_PER_S // (os.cpu_count() or 1)))
    watched, event = ["-a"], "cpu-clock"
    if not _may_see_all():
        pids = scene.sides.get(SERVER) or scene.sides.get(RUN, set())
        watched, event = ["-p", ",".join(map(str, sorted(pids)))], "cpu-clock:u"
    how = ["--call-graph", f"dwarf,{_STACK_BYTES}", "-F", str(hertz), "-e", event]
    return [["perf", "record", "-q", *watched, *how, "-o", str(scene.folder / "stacks")]]


def _may_see_all() -> bool:
    if os.geteuid() == 0:
        return True
    with suppress(OSError, ValueError):
        return int(_PARANOID.read_text()) < 1
    return False


def read(watch: PerfMonitor, folder: Path) -> list[Mapping[str, object]]:
    """Of the server's processes; of an embedded database of the threads that make the load. What is beyond the most
    frequent stacks has one row without a stack."""
    side = SERVER if watch.sides.get(SERVER) else RUN
    pids = watch.sides.get(side, set())
    file = folder / "stacks"
    if not file.exists():
        return []
    lines = read_lines(["perf", "script", "--no-inline", "-i", str(file), "-F", "comm,pid,ip,sym,dso"])
    found = Counter(
        stack for name, pid, stack in fold(lines)
        if pid in pids and (pid != os.getpid() or name.startswith(CLIENT))
    )  # fmt: skip
    kept = found.most_common(_MOST)
    rest = found.total() - sum(count for _, count in kept)
    rows: list[Mapping[str, object]] = [{"of": side, "stack": stack, "samples": count} for stack, count in kept]
    return rows + [{"of": side, "stack": "", "samples": rest}] * (rest > 0)


def fold(lines: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    """Name of the thread, process and stack of each sample, the stack from its thread's name on with ``;`` between, out
    of what ``perf script`` prints; none of idle CPUs."""
    name, pid, frames, idle = "", 0, list[str](), False
    for line in chain(lines, [""]):
        if (match := _FRAME.match(line)) is not None:
            address, idle = int(match[1], 16), idle or bool(_IDLE.match(match[2]))
            frame = _name(address, match[2], match[3])
            # Of several functions without a name below each other, one stands for all.
            if address != _NO_ADDRESS and (not frame.startswith("[") or frames[-1:] != [frame]):
                frames.append(frame)
            continue
        if frames and not idle:
            yield name, pid, ";".join((_clean(name), *reversed(frames)))
        frames, idle = [], False
        if (head := _SAMPLE.match(line)) is not None:
            name, pid = head[1], int(head[2])


def _name(address: int, symbol: str, file: str) -> str:
    """The function; of one without a name the file, in brackets."""
    kernel = address >= _KERNEL_FROM
    if symbol == "[unknown]":
        return "[kernel]" if kernel else f"[{_clean(Path(file.removesuffix(' (deleted)')).name.strip('[]'))}]"
    return _clean(_ENDING.sub("", symbol)) + OF_KERNEL * kernel


def _clean(text: str) -> str:
    return text.replace(";", ":")
