"""What else a machine does while a cycle goes on. All of /proc is read before and after it, never beside the load."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.devices import Device
from dsbench.measure.monitors import proc
from dsbench.measure.monitors.proc import CpuTimes, PressureReading, ProcessStatus
from dsbench.measure.monitors.system import SECTOR_BYTES
from dsbench.stats.machine import MachineUse, Program, Used

RUN: Final = "run"
SERVER: Final = "server"
SERVERS: Final = frozenset({"postgres", "mariadbd", "mysqld", "firebird", "fbserver", "fb_smp_server"})
"""Programs that may be the database's where its processes are not known."""

TICK_NS: Final = 1_000_000_000 // (os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100)
"""A tick of the kernel's counts of CPU time."""
_KEPT: Final = 20
"""Programs of a cycle that are kept."""
_LEAST: Final = 0.01
"""Share of one CPU below which a program is not kept, unless it moved bytes."""


@dataclass(frozen=True)
class Known:
    """Which processes are no others."""

    roots: Mapping[int, str]
    """By pid: ``RUN``, or ``SERVER`` for it and what descends from it. A script that uses dsbench as a library may have
    other children."""
    server: bool = True
    """Whether the database's processes are among them, or it has none of its own."""
    devices: tuple[Device, ...] = ()
    """Where the data lies, the log and other parts of it included."""


@dataclass(frozen=True)
class MachineSnapshot:
    """All that was read at one time."""

    at_ns: int
    times: CpuTimes
    processes: Mapping[int, ProcessStatus]
    moved: Mapping[int, tuple[int, int]]
    """By pid: bytes read and written."""
    pressure: Mapping[str, PressureReading]
    """By resource, where the kernel tells."""
    device_moved: tuple[int, int] | None
    """Bytes read and written on the devices of the data."""
    queued_ns: Mapping[int, int]
    """By thread of the server."""

    def owners(self, known: Known) -> dict[int, str]:
        """By pid of what is no other program: ``RUN`` or ``SERVER``."""
        return owners(self.processes, known)


def owners(processes: Mapping[int, ProcessStatus], known: Known) -> dict[int, str]:
    """By pid of what is no other program: ``RUN`` or ``SERVER``."""
    run = [pid for pid, who in known.roots.items() if who == RUN]
    server = proc.family(processes, [pid for pid, who in known.roots.items() if who == SERVER])
    if not known.server:
        server |= {pid for pid, one in processes.items() if one.program in SERVERS}
    return dict.fromkeys(server, SERVER) | {pid: RUN for pid in run if pid in processes}


@dataclass(frozen=True)
class _Span:
    """Two looks, and which processes are no others at each of them."""

    before: MachineSnapshot
    after: MachineSnapshot
    owned_before: Mapping[int, str]
    owned_after: Mapping[int, str]

    def was(self, pid: int) -> ProcessStatus | None:
        """What the process ``pid`` of the end was at the beginning; ``None`` where it has begun since."""
        found = self.before.processes.get(pid)
        return found if found is not None and found.began == self.after.processes[pid].began else None

    def gone(self) -> Iterator[tuple[int, ProcessStatus]]:
        """(pid, the process) of those that have ended since the beginning."""
        for pid, one in self.before.processes.items():
            if pid not in self.after.processes or self.was(pid) is None:
                yield pid, one

    def others(self) -> Iterator[tuple[int, ProcessStatus, ProcessStatus | None]]:
        """(pid, the process, what it was) of the programs that are neither the run's nor the kernel's."""
        for pid, one in self.after.processes.items():
            if not one.kernel and pid not in self.owned_after:
                yield pid, one, self.was(pid)


def beside(pids: Iterable[int] = (), session: int | None = None) -> dict[int, str]:
    """Roots of this process and of a server with ``pids``, or one of whose processes is ``session``."""
    roots = {os.getpid(): RUN, **dict.fromkeys(pids, SERVER)}
    if session is not None and session not in roots:
        known = proc.processes()
        if session in known:
            roots[proc.oldest_of_name(known, session)] = SERVER
    return roots


def look(known: Known, root: Path = proc.ROOT) -> MachineSnapshot | None:
    """Reads the counters of the machine and of every process; ``None`` where there is no /proc as Linux has it."""
    at_ns = time.monotonic_ns()
    times = proc.read(root / "stat", proc.times)
    if times is None:
        return None
    processes = proc.processes(root)
    # Threads of the kernel count as nobody's transfers, and are most of the processes of a machine with many CPUs.
    named = (pid for pid, one in processes.items() if not one.kernel)
    moved = {pid: both for pid in named if (both := proc.read(f"{root}/{pid}/io", proc.moved)) is not None}
    told = {what: proc.read(root / "pressure" / what, proc.pressure) for what in proc.RESOURCES}
    pressure = {what: one for what, one in told.items() if one is not None}
    counts = [one for device in known.devices if (one := proc.read(device.folder / "stat", _of_device)) is not None]
    both = (sum(read for read, _ in counts), sum(written for _, written in counts)) if counts else None
    found = MachineSnapshot(at_ns, times, processes, moved, pressure, both, {})
    queued: dict[int, int] = {}
    for pid in (pid for pid, owner in found.owners(known).items() if owner == SERVER):
        queued |= proc.queued_ns(root, pid)
    return replace(found, queued_ns=queued)


def between(before: MachineSnapshot, after: MachineSnapshot, known: Known) -> Used:
    """What the machine did from ``before`` to ``after``, and the other programs that did most.

    The CPU time of a family is that of its living processes and of the children whose end they have waited for:
    so processes that came and went are in it. What others used is the busy time of the CPUs without that of
    dsbench, the server and the kernel; what no living program accounts for went to programs that have ended, or that
    cannot be seen from here, as in a container. The kernel's threads are hidden there as well: then only user time is
    held against others that cannot be seen, as those have none.
    """
    span = _Span(before, after, before.owners(known), after.owners(known))
    span_ns = max(after.at_ns - before.at_ns, 1)
    gained = CpuTimes(*(max(0, now - then) for now, then in zip(after.times, before.times, strict=True)))
    of = {who: _family(span, who, lambda one: one.own + one.children) for who in (RUN, SERVER)}
    kernel = sum(_gained(one, span.was(pid)) for pid, one in after.processes.items() if one.kernel)
    living = _living(span)
    seen = sum(program.cpu_ns for program in living) // TICK_NS
    rest = max(0, gained.user + gained.system - sum(of.values()) - kernel - seen)
    if not any(one.kernel for one in after.processes.values()):
        rest = min(rest, _user_rest(span, gained.user))
    if not known.server:  # A server that cannot be seen, in a container beside this one, must not be accused.
        rest = 0
    ended = _ended(span, rest)
    unseen = rest - sum(program.cpu_ns for program in ended) // TICK_NS
    read, written = _moved(span)
    device = _gained_bytes(after.device_moved, before.device_moved)
    use = MachineUse(
        span_ns=span_ns,
        cpus=after.times.cpus,
        run_ns=of[RUN] * TICK_NS,
        server_ns=of[SERVER] * TICK_NS if SERVER in span.owned_after.values() else None,
        kernel_ns=(kernel + gained.interrupts) * TICK_NS,
        others_ns=(seen + rest) * TICK_NS,
        unseen_ns=unseen * TICK_NS,
        stolen_ns=gained.stolen * TICK_NS,
        idle_ns=gained.idle * TICK_NS,
        **{f"{what}_pressure_ns": _waited_ns(span, what) for what in proc.RESOURCES},
        queued_ns=_queued_ns(span),
        device=" and ".join(one.name for one in known.devices) if after.device_moved is not None else "",
        device_bytes=sum(device) if device else None,
        device_read_bytes=device[0] if device else None,
        own_bytes=None if read is None or written is None else read + written,
        own_written_bytes=written,
    )
    least_ns = _LEAST * span_ns
    kept = [program for program in (*living, *ended) if program.cpu_ns >= least_ns or program.io_bytes]
    kept.sort(key=lambda program: (-program.cpu_ns, -(program.io_bytes or 0)))
    return Used(use, tuple(kept[:_KEPT]))


def with_sessions(used: Used, samples: Sequence[Mapping[str, Any]]) -> Used:
    """``used`` with the waits for a CPU of sessions that end with the cycle, as those of PostgreSQL do: ``samples``, as
    rows of the table ``monitors``, have them from before the cycle until just before its end."""
    told = [row["value"] for row in samples if (row["monitor"], row["metric"]) == ("server_tasks", "queued")]
    if len(told) < 2:
        return used
    waited_ns = round((told[-1] - told[0]) * 1e9)
    return replace(used, use=replace(used.use, queued_ns=max(used.use.queued_ns or 0, waited_ns)))


def _gained(one: ProcessStatus, was: ProcessStatus | None) -> int:
    """CPU time of one process, in ticks."""
    return max(0, one.own - was.own) if was else one.own


def _family(span: _Span, who: str, of: Callable[[ProcessStatus], int]) -> int:
    """What ``of`` says, in ticks, of all processes of ``who``, those that have ended included."""

    def total(at: MachineSnapshot, owned: Mapping[int, str]) -> int:
        return sum(of(at.processes[pid]) for pid, owner in owned.items() if owner == who)

    return max(0, total(span.after, span.owned_after) - total(span.before, span.owned_before))


def _user_rest(span: _Span, user: int) -> int:
    """What is left of ``user``, the time of all CPUs, without processes that can be seen and the run's ended ones."""
    user -= sum(_family(span, who, lambda one: one.user + one.children_user) for who in (RUN, SERVER))
    return max(0, user - sum(one.user - (was.user if was else 0) for _, one, was in span.others()))


def _living(span: _Span) -> list[Program]:
    """What each other program used itself; its bytes with those of children that ended meanwhile."""
    before, inherited = span.before.moved, dict[int, int]()
    for pid, child in span.gone():
        inherited[child.parent] = inherited.get(child.parent, 0) + sum(before.get(pid, (0, 0)))
    found = []
    for pid, one, was in span.others():
        io_bytes = None
        if pid in span.after.moved:
            known = sum(before.get(pid, (0, 0))) + inherited.get(pid, 0) if was else 0
            io_bytes = max(0, sum(span.after.moved[pid]) - known)
        found.append(Program(one.program, pid, False, _gained(one, was) * TICK_NS, io_bytes))
    return found


def _ended(span: _Span, rest: int) -> list[Program]:
    """What children of other programs used that have ended, within the ``rest`` that no living one accounts for."""
    gone: dict[int, int] = {}
    for _, one in span.gone():
        gone[one.parent] = gone.get(one.parent, 0) + one.own + one.children
    found = []
    for pid, one, was in span.others():
        waited_for = one.children - (was.children if was else 0) - gone.get(pid, 0)
        if (ticks := min(waited_for, rest)) > 0:
            found.append(Program(one.program, pid, True, ticks * TICK_NS, None))
            rest -= ticks
    return found


def _moved(span: _Span) -> tuple[int | None, int | None]:
    """Bytes that dsbench and the server read and wrote; ``None`` where this user may not know."""
    sums = [0, 0]
    for at, owned, sign in ((span.after, span.owned_after, 1), (span.before, span.owned_before, -1)):
        if any(pid not in at.moved for pid in owned):
            return None, None
        for way in (0, 1):
            sums[way] += sign * sum(at.moved[pid][way] for pid in owned)
    return max(0, sums[0]), max(0, sums[1])


def _waited_ns(span: _Span, what: str) -> int | None:
    if what not in span.after.pressure or what not in span.before.pressure:
        return None
    return max(0, span.after.pressure[what].total_us - span.before.pressure[what].total_us) * 1000


def _queued_ns(span: _Span) -> int | None:
    before = span.before.queued_ns
    known = [waited - before[tid] for tid, waited in span.after.queued_ns.items() if tid in before]
    return max(0, sum(known)) if known else None


def _gained_bytes(after: tuple[int, int] | None, before: tuple[int, int] | None) -> tuple[int, int] | None:
    return None if after is None or before is None else (max(0, after[0] - before[0]), max(0, after[1] - before[1]))


def _of_device(stat: bytes) -> tuple[int, int]:
    """Bytes read and written: fields 3 and 7 of the kernel's Documentation/block/stat.rst."""
    numbers = [int(number) for number in stat.split()]
    return numbers[2] * SECTOR_BYTES, numbers[6] * SECTOR_BYTES
