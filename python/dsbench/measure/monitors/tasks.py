"""How the kernel ran the processes of client and server around a cycle: switches, moves between CPUs, waits for one.

A reading opens three files for each process, two more for each further thread: of 900 PostgreSQL sessions it took 0.11
to 0.15 s of CPU time, on a virtual machine with two busy CPUs (AMD EPYC), so some 0.15 s with 1000 (``python -m
dsbench.measure.monitors.tasks PID`` tells it here). So these are read before a cycle and just before its end, while the
server's sessions are still there, never every second.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from math import sqrt
from pathlib import Path
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.monitors import proc
from dsbench.measure.monitors.machine import RUN, SERVER, TICK_NS, Known
from dsbench.measure.monitors.monitor import Value
from dsbench.measure.monitors.proc import ProcessStatus, Scheduled

MOST_MISSED: Final = 0.05
"""Share of the CPU time for which threads have ended unseen: beyond it nothing is told of what the rest did."""


class Interrupts:
    """Interrupts by which one CPU wakes another or makes it run a function, whoever caused them."""

    name = "interrupts"

    def __init__(self, root: Path = proc.ROOT) -> None:
        self.notes: list[str] = []
        self._root = root

    def begin(self) -> None:
        """They only rise."""

    def sample(self) -> list[Value]:
        """Those since the machine started, summed over all CPUs; nothing where the kernel does not tell."""
        found = proc.read(self._root / "interrupts", proc.between_cpus) or {}
        return [(name, "count total", count) for name, count in found.items()]


@dataclass(frozen=True)
class _Reading:
    """All threads of some processes at one time."""

    threads: Mapping[tuple[int, int], Scheduled]
    """By process and thread."""
    cpu_ns: int
    """CPU time of the processes, of those among their children that have ended as well: by ticks."""


class Tasks:
    """What the kernel counts of each thread of client or server, added up from the first sample of a cycle on.

    Threads that come are counted from their beginning. What those did that went before they were read is unknown: where
    they had more than ``MOST_MISSED`` of the CPU time, as with connections that last for one transaction, nothing is
    told, for the sum of the others would be no sum of all.
    """

    def __init__(
        self, who: str, known: Known, root: Path = proc.ROOT, clients: Callable[[], Iterable[int]] = tuple
    ) -> None:
        """``who``: ``machine.RUN`` for this process with ``clients``, ``machine.SERVER`` for those of the server."""
        self.name = "server_tasks" if who == SERVER else "client_tasks"
        self.notes: list[str] = []
        self._who, self._known, self._root, self._clients = who, known, root, clients
        self._last: _Reading | None = None
        self._processes: dict[int, ProcessStatus] = {}
        self._sums: dict[str, float] = {}

    def begin(self) -> None:
        """Forgets what was read: between two cycles sessions end."""
        self._last, self._processes = None, {}

    def sample(self) -> list[Value]:
        """Counters since the first sample of the cycle; nothing where they cannot be known. The client's CPU time has
        a monitor of its own, which is finer than ticks."""
        now, last = self._read(), self._last
        self._last = now
        if last is None:
            self._sums = dict.fromkeys([*_sum(now.threads.values()), "cpu"], 0.0) if now.threads else {}
        else:
            self._sums = _added(self._sums, last, now)
        told = {name: value for name, value in self._sums.items() if name != "cpu" or self._who == SERVER}
        return [(name, "s total" if name in _TIMES else "count total", value) for name, value in told.items()]

    def _read(self) -> _Reading:
        processes: dict[int, ProcessStatus] = {}
        threads: dict[tuple[int, int], Scheduled] = {}

        def add(pid: int) -> None:
            if (one := proc.read(f"{self._root}/{pid}/stat", proc.process)) is not None:
                processes[pid] = one
                threads.update({(pid, tid): found for tid, found in proc.scheduled(self._root, pid).items()})

        # Near the end of a cycle time is short: those that are known come first, and then who is new is looked for.
        for pid in dict.fromkeys(pid for pid, _ in (self._last.threads if self._last else ())):
            add(pid)
        for pid in self._pids() - processes.keys():
            add(pid)
        return _Reading(threads, sum(one.own + one.children for one in processes.values()) * TICK_NS)

    def _pids(self) -> set[int]:
        if self._who == RUN:
            return {os.getpid(), *self._clients()}
        roots = [pid for pid, who in self._known.roots.items() if who == SERVER]
        # Whoever was no child of the server at the first sample becomes none: only who has come since is read.
        self._processes = proc.processes(self._root, self._processes)
        return proc.family(self._processes, roots)


_TIMES: Final = ("cpu", "queued")


def _added(sums: Mapping[str, float], last: _Reading, now: _Reading) -> dict[str, float]:
    """``sums`` with what came since ``last``; empty where too much of it is unknown."""
    gained = []
    for key, one in now.threads.items():
        before = last.threads.get(key)
        # A number that was given anew begins anew.
        gained.append(one.since(before) if before is not None and before.ran_ns <= one.ran_ns else one)
    cpu_ns = max(0, now.cpu_ns - last.cpu_ns)
    # Each process is counted in whole ticks, in two sums, which err independently of each other.
    unseen_ns = cpu_ns - sum(one.ran_ns for one in gained) - 2 * TICK_NS * sqrt(len(gained) + 1)
    if unseen_ns > MOST_MISSED * cpu_ns:
        return {}
    # Whole ticks omit what each of many sessions did of one: these threads alone took as much.
    more = _sum(gained) | {"cpu": max(cpu_ns, sum(one.ran_ns for one in gained)) / 1e9}
    return {name: value + more[name] for name, value in sums.items() if name in more}


def _sum(threads: Iterable[Scheduled]) -> dict[str, float]:
    """What is told, by its name in the archive; migrations only where all threads tell them."""
    found = list(threads)
    sums = {
        "voluntary_switches": float(sum(one.voluntary for one in found)),
        "involuntary_switches": float(sum(one.involuntary for one in found)),
        "queued": sum(one.queued_ns for one in found) / 1e9,
    }
    moves = [one.migrations for one in found if one.migrations is not None]
    return sums | ({"migrations": float(sum(moves))} if len(moves) == len(found) else {})


if __name__ == "__main__":
    tasks = Tasks(SERVER, Known({int(sys.argv[1]): SERVER}))
    began = time.perf_counter()
    tasks.sample()
    print(f"{(time.perf_counter() - began) * 1e3:.1f} ms for {len(tasks._read().threads)} threads")
