"""What the threads of client and server are doing: ten times a second, the system call that each of them waits in.

One file of /proc is read for each thread, which took 6 µs on a virtual machine (AMD EPYC, Linux 6.18). At most 32 are
read at a time, in turn, so that it costs no more with a thousand sessions.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from dsbench import control_groups
from dsbench.measure.monitors import proc
from dsbench.measure.monitors.machine import RUN, SERVER, Known
from dsbench.measure.monitors.monitor import Value

STATES: Final = ("running", "flush", "read", "write", "lock", "sleep", "idle", "fault", "other")
"""``running``: on a CPU or waiting for one. ``lock``: futex, semaphore or file lock. ``idle``: waits for a message.
``fault``: waits within the kernel without a system call."""
_AT_ONCE: Final = 32
_MOST_TIMED: Final = 256
"""Threads beyond which their times on CPUs are not read every second."""
_CLIENT: Final = "client-"
"""Beginning of the names of dsbench's threads that make load."""

_CALLS: Final = {
    "x86_64": {
        "flush": (26, 74, 75, 162, 277, 306), "read": (17, 19, 295, 327), "write": (18, 20, 296, 328),
        "lock": (65, 72, 73, 202, 220, 449, 455), "sleep": (35, 230),
        "idle": (7, 23, 43, 44, 45, 46, 47, 128, 232, 270, 271, 281, 288, 441), "file": (0, 1),
    },
    "aarch64": {
        "flush": (81, 82, 83, 84, 227, 267), "read": (65, 67, 69, 286), "write": (66, 68, 70, 287),
        "lock": (25, 32, 98, 192, 193, 449, 455), "sleep": (101, 115),
        "idle": (22, 72, 73, 137, 202, 206, 207, 211, 212, 242, 441), "file": (63, 64),
    },
}  # fmt: skip
"""Numbers of system calls in the kernel's tables; ``file``: read and write, which may also be of a socket."""
_STATE_OF: Final = {call: state for state, calls in _CALLS.get(platform.machine(), {}).items() for call in calls}
_READS: Final = (0, 63)

Thread = tuple[int, int]
"""Process and thread."""


def state_of(text: bytes, opened: Callable[[int], str]) -> str:
    """The state that /proc/PID/task/TID/syscall tells; ``opened`` says what a file descriptor of the process is."""
    if text.startswith(b"running"):
        return "running"
    words = text.split(maxsplit=2)
    number = int(words[0])
    if number < 0:
        return "fault"
    state = _STATE_OF.get(number, "other")
    if state != "file":
        return state
    if not opened(int(words[1], 16)).startswith("/"):
        return "idle"
    return "read" if number in _READS else "write"


class ThreadSampler:
    """The threads of one side. Those of a server are those that wait for a message before the load begins: its
    sessions, and what of the rest waits likewise and goes on waiting."""

    def __init__(
        self, who: str, known: Known, clients: Callable[[], Iterable[int]] = tuple, root: Path = proc.ROOT
    ) -> None:
        """``who``: ``machine.RUN`` for this process with ``clients``, ``machine.SERVER`` for those of the server."""
        self.name = "server_threads" if who == SERVER else "client_threads"
        self.notes: list[str] = []
        self._who, self._known, self._clients, self._root = who, known, clients, root
        self._threads: list[Thread] = []
        self._next = 0
        self._seen: Counter[str] = Counter()
        self._times: dict[Thread, tuple[int, int]] = {}

    @classmethod
    def readable(cls, root: Path = proc.ROOT) -> bool:
        """Whether this kernel tells the system calls of threads, on a machine whose numbers are known here."""
        return bool(_STATE_OF) and (root / "self/syscall").exists()

    def begin(self) -> None:
        """The next look is the first of a cycle: finds the threads."""
        self._threads = [one for one in self._find() if self._state(one) is not None]
        self._next, self._seen, self._times = 0, Counter(), {}

    def look(self) -> None:
        """Reads the states of some threads."""
        if not self._threads and self._who == RUN:  # Another program begins with the load.
            self._threads = self._find()
        count = min(_AT_ONCE, len(self._threads))
        chosen = self._threads[self._next : self._next + count]
        chosen += self._threads[: count - len(chosen)]
        self._next = (self._next + count) % max(len(self._threads), 1)
        self._seen.update(state for one in chosen if (state := self._state(one)) is not None)

    def sample(self) -> list[Value]:
        """Mean number of threads by state since the last sample, of how many looks at a thread; how long they ran and
        waited for a CPU since they began, and how long a quota denied them one."""
        values: list[Value] = []
        if looked := sum(self._seen.values()):
            count = len(self._threads)
            values = [(state, "threads", count * self._seen[state] / looked) for state in STATES if self._seen[state]]
            values.append(("looks", "count", float(looked)))
        self._seen = Counter()
        if 0 < len(self._threads) <= _MOST_TIMED:
            self._times.update({one: times for one in self._threads if (times := self._read_times(one)) is not None})
            ran, queued = (sum(times[at] for times in self._times.values()) / 1e9 for at in (0, 1))
            values += [("ran", "s total", ran), ("queued", "s total", queued)]
            # Of one process: those of a side share their control group.
            denied_ns = control_groups.throttled_ns(self._threads[0][0], self._root.parent)
            values += [("throttled", "s total", denied_ns / 1e9)] if denied_ns is not None else []
        return values

    def _find(self) -> list[Thread]:
        if self._who == RUN:
            pids = dict.fromkeys((os.getpid(), *self._clients()))
            return [(pid, tid) for pid in pids for tid in self._of_client(pid)]
        roots = [pid for pid, who in self._known.roots.items() if who == SERVER]
        found = [(pid, tid) for pid in sorted(proc.family(proc.processes(self._root), roots))
                 for tid in proc.pids(self._root / str(pid) / "task")]  # fmt: skip
        return [one for one in found if self._state(one) == "idle"]

    def _of_client(self, pid: int) -> Iterable[int]:
        """Threads of ``pid`` that make load: by their names, or all of another program."""
        folder = self._root / str(pid) / "task"
        tids = proc.pids(folder)
        names = {tid: proc.read(folder / str(tid) / "comm", bytes.decode) or "" for tid in tids}
        own = [tid for tid, name in names.items() if name.startswith(_CLIENT)]
        return own or ([] if pid == os.getpid() else tids)

    def _state(self, one: Thread) -> str | None:
        """``None`` where the thread has gone, or may not be watched."""
        try:
            text = proc.content(f"{self._root}/{one[0]}/task/{one[1]}/syscall")
            return state_of(text, lambda number: str((self._root / f"{one[0]}/fd/{number}").readlink()))
        except (OSError, ValueError, IndexError):
            return None

    def _read_times(self, one: Thread) -> tuple[int, int] | None:
        try:
            ran_ns, queued_ns = proc.content(f"{self._root}/{one[0]}/task/{one[1]}/schedstat").split()[:2]
            return int(ran_ns), int(queued_ns)
        except (OSError, ValueError):
            return None
