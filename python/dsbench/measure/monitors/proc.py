"""Linux's /proc as values: what the CPUs and each process did since they began. Only names of programs are read, never
their arguments, which may hold secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

ROOT: Final = Path("/proc")
RESOURCES: Final = ("cpu", "io", "memory")
"""What threads may wait for, in the words of the kernel's pressure stall information (PSI)."""
_KERNEL_THREAD: Final = 0x00200000
"""PF_KTHREAD of the kernel's include/linux/sched.h."""
_SOME: Final = re.compile(rb"^some avg10=([\d.]+) .*\btotal=(\d+)", re.MULTILINE)


_BETWEEN_CPUS: Final = {
    "Rescheduling interrupts": "rescheduling_interrupts",
    "Function call interrupts": "function_call_interrupts",
}
"""Last words of rows of /proc/interrupts, which x86 calls RES and CAL, others IPI0 and IPI1."""


class CpuTimes(NamedTuple):
    """CPU time of all CPUs in ticks (``SC_CLK_TCK``), since the machine started."""

    user: int
    """With that of low priority."""
    system: int
    idle: int
    """With that in which a disk was waited for."""
    interrupts: int
    stolen: int
    cpus: int


class ProcessStatus(NamedTuple):
    """A process; times in ticks, since it began."""

    program: str
    parent: int
    kernel: bool
    """A thread of the kernel itself."""
    began: int
    """Ticks after the machine started: with the pid it tells the process from a later one of the same pid."""
    user: int
    system: int
    children_user: int
    """Of children that have ended, and theirs."""
    children_system: int

    @property
    def own(self) -> int:
        return self.user + self.system

    @property
    def children(self) -> int:
        """That of its children that have ended."""
        return self.children_user + self.children_system


def times(stat: bytes) -> CpuTimes:
    """The content of /proc/stat. ``ValueError`` where it is of another form."""
    lines = [line.split() for line in stat.splitlines() if line.startswith(b"cpu")]
    user, nice, system, idle, iowait, irq, softirq, steal = (int(field) for field in lines[0][1:9])
    return CpuTimes(user + nice, system, idle + iowait, irq + softirq, steal, len(lines) - 1)


def process(stat: bytes) -> ProcessStatus:
    """The content of /proc/PID/stat. A program's name may hold anything, closing brackets included."""
    begin, end = stat.index(b"("), stat.rindex(b")")
    fields = stat[end + 2 :].split()
    name = stat[begin + 1 : end].decode(errors="replace")
    if not name.isprintable():
        name = "".join(c if c.isprintable() else "?" for c in name)
    user, system, children_user, children_system = map(int, fields[11:15])
    return ProcessStatus(
        name, int(fields[1]), bool(int(fields[6]) & _KERNEL_THREAD),
        int(fields[19]), user, system, children_user, children_system,
    )  # fmt: skip


def moved(io: bytes) -> tuple[int, int]:
    """(read, written) bytes from and to storage: the content of /proc/PID/io, ended children included."""
    known = dict(line.split(b": ") for line in io.splitlines())
    return int(known[b"read_bytes"]), int(known[b"write_bytes"])


def memory(status: bytes) -> dict[str, int]:
    """Kinds of memory in bytes, by the kernel's names, such as RssAnon: the content of /proc/PID/status."""
    found = (line.split() for line in status.splitlines() if line.endswith(b" kB"))
    kinds = {words[0].rstrip(b":").decode(): int(words[1]) * 1024 for words in found}
    if "RssAnon" not in kinds:
        raise ValueError("a process of the kernel, or a kernel before 4.5")
    return kinds


class PressureReading(NamedTuple):
    """How much some thread waited for a resource. The kernel brings both up to date every two seconds."""

    total_us: int
    lately: float
    """Share (0-1) of the last ten seconds."""


def pressure(text: bytes) -> PressureReading:
    """The content of /proc/pressure/cpu and its like."""
    found = _SOME.search(text)
    if found is None:
        raise ValueError("no line begins with some")
    return PressureReading(int(found[2]), float(found[1]) / 100)


def processes(root: Path = ROOT, known: Mapping[int, ProcessStatus] | None = None) -> dict[int, ProcessStatus]:
    """All processes that can be seen, by pid. Those in ``known`` are not read again: a machine may have 40,000."""
    known, found = known or {}, dict[int, ProcessStatus]()
    for pid in pids(root):
        if (one := known.get(pid)) is None:
            try:
                one = process(content(f"{root}/{pid}/stat"))
            except (OSError, ValueError, IndexError):
                continue
        found[pid] = one
    return found


def pids(root: Path) -> list[int]:
    """Numbers that are names in the folder ``root``; none where it has gone."""
    try:
        return [int(name) for name in os.listdir(root) if name.isdigit()]  # noqa: PTH208  # There are many.
    except OSError:
        return []


def read(path: Path | str, parse: Callable[[bytes], T]) -> T | None:
    """``path`` read by ``parse``; ``None`` where it has gone, is not allowed or is of another form."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # Without a Path: there are many.
            return parse(file.readall())
    except (OSError, ValueError, KeyError, IndexError):
        return None


def queued_ns(root: Path, pid: int) -> dict[int, int]:
    """By thread of a process: how long it has waited for a CPU while it could have run, in ns."""
    folder = root / str(pid) / "task"
    found = ((tid, read(folder / str(tid) / "schedstat", lambda text: int(text.split()[1]))) for tid in pids(folder))
    return {tid: waited for tid, waited in found if waited is not None}


class Scheduled(NamedTuple):
    """How a thread was run since it began."""

    voluntary: int
    """Times it left its CPU to wait for something."""
    involuntary: int
    """Times another took it."""
    migrations: int | None
    """Times it was moved to another CPU; ``None`` where the kernel does not tell."""
    ran_ns: int
    queued_ns: int
    """How long it could have run and waited for a CPU."""

    def since(self, before: Scheduled) -> Scheduled:
        moved = None if self.migrations is None or before.migrations is None else self.migrations - before.migrations
        return Scheduled(
            self.voluntary - before.voluntary, self.involuntary - before.involuntary, moved,
            self.ran_ns - before.ran_ns, self.queued_ns - before.queued_ns,
        )  # fmt: skip


def scheduled(root: Path, pid: int) -> dict[int, Scheduled]:
    """By thread of a process; those that go meanwhile, or of which the kernel keeps no waits, are left out."""
    folder = f"{root}/{pid}/task"
    found: dict[int, Scheduled] = {}
    for tid in pids(Path(folder)):
        place = f"{folder}/{tid}/"
        try:
            ran_ns, queued_ns = content(place + "schedstat").split()[:2]
            found[tid] = Scheduled(*_switches(place), int(ran_ns), int(queued_ns))
        except (OSError, ValueError, KeyError):
            continue
    return found


def _switches(place: str) -> tuple[int, int, int | None]:
    """(voluntary, involuntary, migrations) of the thread whose folder is ``place``."""
    try:
        known = _numbers(content(place + "sched"), _SCHED)
        return known[b"nr_voluntary_switches"], known[b"nr_involuntary_switches"], known[b"se.nr_migrations"]
    except (OSError, KeyError):  # A kernel without CONFIG_SCHED_DEBUG.
        known = _numbers(content(place + "status"), _STATUS)
        return known[b"voluntary_ctxt_switches"], known[b"nonvoluntary_ctxt_switches"], None


_SCHED: Final = re.compile(rb"^(nr_voluntary_switches|nr_involuntary_switches|se\.nr_migrations)\s*:\s*(\d+)$", re.M)
_STATUS: Final = re.compile(rb"^(voluntary_ctxt_switches|nonvoluntary_ctxt_switches):\s*(\d+)$", re.M)


def _numbers(text: bytes, pattern: re.Pattern[bytes]) -> dict[bytes, int]:
    return {name: int(number) for name, number in pattern.findall(text)}


def content(path: str) -> bytes:
    """A small file of /proc in one read: there are many."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 1 << 16)
    finally:
        os.close(file)


def between_cpus(interrupts: bytes) -> dict[str, int]:
    """The content of /proc/interrupts: rescheduling and function call interrupts, summed over the CPUs, where they are
    told. ``ValueError`` where it is of another form."""
    lines = interrupts.decode(errors="replace").splitlines()
    cpus = len(lines[0].split()) if lines else 0
    found = {}
    for line in lines[1:]:
        fields = line.split(maxsplit=cpus + 1)
        if len(fields) == cpus + 2 and fields[-1].strip() in _BETWEEN_CPUS:
            found[_BETWEEN_CPUS[fields[-1].strip()]] = sum(int(field) for field in fields[1:-1])
    return found


def family(known: Mapping[int, ProcessStatus], roots: Collection[int]) -> set[int]:
    """Those of ``roots`` that are there, and all processes that descend from them."""
    children: dict[int, list[int]] = {}
    for pid, one in known.items():
        children.setdefault(one.parent, []).append(pid)
    found, left = set(), [pid for pid in roots if pid in known]
    while left:
        pid = left.pop()
        if pid not in found:
            found.add(pid)
            left += children.get(pid, [])
    return found


def oldest_of_name(known: Mapping[int, ProcessStatus], pid: int) -> int:
    """The topmost of the processes above ``pid`` that all have its name: of a session's, the server's own."""
    while (above := known.get(known[pid].parent)) is not None and above.program == known[pid].program:
        pid = known[pid].parent
    return pid
