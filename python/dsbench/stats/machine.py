"""What a machine did beside the run: who used its CPUs and its storage while a cycle went on, and when that matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import groupby
from math import isnan
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.stats.values import Doubt

MOST_OTHERS: Final = 0.05
"""Share of the machine's CPU time for others. A load that needs all CPUs loses about that share of its rate: at 0.05
half of the 10% by which a rate may drift and be called steady."""
LEAST_NS: Final = 100_000_000
"""CPU time is counted in ticks of 10 ms: fewer than ten of them say little."""
MOST_BYTES: Final = 0.25
"""Share of the bytes of the data's device that others moved."""
AMPLIFIED: Final = 6
"""What a device writes, at most, for a byte that the kernel counts as written by a process: journal, metadata, copies.
For a lone writer it was 1.0 to 5.4 (docs/method.md), and less where folios that were changed in part count whole."""
MOST_PRESSURE: Final = 0.1
"""Share of the last ten seconds in which some thread waited for a resource, while nothing is measured; and for memory
in a cycle, which no load has to wait for. A choice, as large as the drift of a rate that is called steady."""
LEAST_IO_PRESSURE: Final = 0.1
"""The same for storage in a cycle: below it, others move bytes and nothing waits for them."""
MOST_CPU: Final = 1.15
"""By which factor the server's CPU time per transaction differs between cycles before it is told. A choice."""
_NAMED: Final = 4
"""Programs that are told one by one."""

RESOURCES: Final = {"cpu": "a CPU", "io": "storage", "memory": "memory"}
"""What the kernel calls that for which threads wait, and what it is."""
QUIET: Final = "stop them, or use a dedicated machine, and measure again"
FREE: Final = "leave more memory free: the system swaps or rereads evicted pages"
OWN_CPUS: Final = "use a machine whose CPUs are not shared with others, or measure at another time"


@dataclass(frozen=True)
class Program:
    """A program that is neither dsbench nor the database's. Its arguments are not looked at: they may hold secrets."""

    program: str
    """The kernel's name of it, 15 characters at most."""
    pid: int
    children: bool
    """What its children used that have ended, rather than it itself."""
    cpu_ns: int
    io_bytes: int | None
    """From and to storage; ``None`` where this user may not know."""

    @property
    def named(self) -> str:
        """``make``, or ``children of make``."""
        return f"{'children of ' if self.children else ''}{self.program}"


@dataclass(frozen=True)
class MachineUse:
    """What a machine did over some time. CPU times are sums over all CPUs; what cannot be known is ``None``."""

    span_ns: int
    cpus: int
    run_ns: int
    """CPU time of dsbench, an embedded database included."""
    server_ns: int | None
    """CPU time of the database server; ``None`` where its processes are not known."""
    kernel_ns: int
    """CPU time of the kernel's own threads and of interrupts: they work for everybody."""
    others_ns: int
    """CPU time of all other programs."""
    unseen_ns: int
    """Part of ``others_ns`` of programs that cannot be named: hidden, or gone before they were counted."""
    stolen_ns: int
    """CPU time that a hypervisor gave to others."""
    idle_ns: int
    cpu_pressure_ns: int | None
    """How long at least one thread waited for a CPU (PSI, "some"), the load's own threads included."""
    io_pressure_ns: int | None
    memory_pressure_ns: int | None
    queued_ns: int | None
    """How long the server's threads, added up, waited for a CPU: those that were there before and after, or in a cycle,
    where it is more, until just before its end."""
    device: str
    """Block device of the data; empty where there is none to see."""
    device_bytes: int | None
    """Read and written on ``device``."""
    device_read_bytes: int | None
    """The read part."""
    own_bytes: int | None
    """Read and written by dsbench and the server, on any device."""
    own_written_bytes: int | None
    """The written part."""

    def share(self, cpu_ns: int) -> float:
        """``cpu_ns`` as a share (0-1) of all CPU time."""
        return cpu_ns / (self.span_ns * self.cpus) if self.span_ns and self.cpus else 0.0

    def cpus_of(self, cpu_ns: int | None) -> float:
        """``cpu_ns`` as a number of CPUs; nan for ``None``."""
        return float("nan") if cpu_ns is None or not self.span_ns else cpu_ns / self.span_ns

    def pressure(self, waited_ns: int | None) -> float:
        """``waited_ns`` as a share (0-1) of the time, beyond which the kernel's late count may go; nan for ``None``."""
        return float("nan") if waited_ns is None or not self.span_ns else min(1.0, waited_ns / self.span_ns)

    @property
    def left_bytes(self) -> int:
        """Bytes of the device beyond those that dsbench and the server, or the file system for them, may have moved.

        What is read is counted as it is, so that as much as others have read is left, whatever the writes are counted.
        """
        if self.device_bytes is None or self.own_bytes is None or self.own_written_bytes is None:
            return 0
        own_read = self.own_bytes - self.own_written_bytes
        left = self.device_bytes - own_read - AMPLIFIED * self.own_written_bytes
        return max(0, left, (self.device_read_bytes or 0) - own_read)


@dataclass(frozen=True)
class Used:
    """What a machine did over some time, and for whom else."""

    use: MachineUse
    programs: tuple[Program, ...]
    """Those that used most first."""

    @property
    def foreign_bytes(self) -> int:
        """What others moved on the device of the data: what the kernel counted for them, where the device moved it.

        Neither alone tells it. A device also writes what was dirtied before, journals and copies, in nobody's name;
        what is counted for a program may be on another device, or a whole folio of which it changed a byte.
        """
        return min(self.use.left_bytes, sum(program.io_bytes or 0 for program in self.programs))


def added(parts: Sequence[Used]) -> Used:
    """What a machine did over several spans, one at least, that do not overlap; what one of them does not tell is not
    known."""
    first, totals = parts[0].use, dict[str, Any]()
    for name in (field.name for field in fields(MachineUse) if field.name not in ("cpus", "device")):
        values = [getattr(one.use, name) for one in parts]
        totals[name] = None if any(value is None for value in values) else sum(values)
    found: dict[tuple[str, int, bool], Program] = {}
    for one in (program for part in parts for program in part.programs):
        key = (one.program, one.pid, one.children)
        if (was := found.get(key)) is not None:
            moved = None if was.io_bytes is None or one.io_bytes is None else was.io_bytes + one.io_bytes
            one = replace(one, cpu_ns=was.cpu_ns + one.cpu_ns, io_bytes=moved)
        found[key] = one
    programs = tuple(sorted(found.values(), key=lambda one: -one.cpu_ns))
    return Used(replace(first, **totals), programs)


@dataclass(frozen=True)
class CycleUse(Used):
    """The same of one machine in one cycle."""

    cycle: int
    node: str
    """Remote node; empty for the machine of dsbench run."""

    @property
    def disturbed(self) -> bool:
        """Whether others took a noticeable share of the CPU time."""
        return _much(self.use, self.use.others_ns + self.use.stolen_ns)


def use_doubts(uses: Iterable[CycleUse], scale: int) -> Iterator[Doubt]:
    """Doubts about one scale, by machine; those about a remote node name it."""
    for node, found in groupby(sorted(uses, key=lambda one: (one.node, one.cycle)), key=lambda one: one.node):
        where = f"node {node}: " if node else ""
        cycles = list(found)
        if busy := [one for one in cycles if _much(one.use, one.use.others_ns)]:
            words = f"{where}other programs used {others(busy)} during {spans(busy)}{programs(busy)}"
            yield Doubt("other-programs", words, QUIET, scale)
        if stolen := [one for one in cycles if _much(one.use, one.use.stolen_ns)]:
            share = sum(one.use.share(one.use.stolen_ns) for one in stolen) / len(stolen)
            words = f"{where}the hypervisor took {share:.0%} of the CPU time during {spans(stolen)} (stolen time)"
            yield Doubt("stolen-time", words, OWN_CPUS, scale)
        both = [one for one in cycles if one.disturbed and one not in busy and one not in stolen]
        if both:
            shares = [one.use.share(one.use.others_ns + one.use.stolen_ns) for one in both]
            took = f"{sum(shares) / len(both):.0%} of the CPU time during {spans(both)}{programs(both)}"
            yield Doubt("other-programs", f"{where}other programs and the hypervisor together took "
                                          f"{took}", QUIET, scale)
        if short := [one for one in cycles if one.use.pressure(one.use.memory_pressure_ns) > MOST_PRESSURE]:
            share = sum(one.use.pressure(one.use.memory_pressure_ns) for one in short) / len(short)
            words = f"{where}programs waited for memory in {share:.0%} of the time during {spans(short)} (pressure)"
            yield Doubt("memory-pressure", words, FREE, scale)
        if moved := [one for one in cycles if _moved(one)]:
            foreign = sum(one.foreign_bytes for one in moved)
            total = sum(one.use.device_bytes or 0 for one in moved)
            bytes_moved = f"about {_mb(foreign)} of the {_mb(total)} on {moved[0].use.device}, the data disk"
            words = f"{where}other programs read and wrote {bytes_moved}, during {spans(moved)}"
            remedy = "stop them, or keep the data on a dedicated device, and measure again"
            yield Doubt("other-storage", words + writers(moved), remedy, scale)


def noticed(used: Used, pressure: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """(what is wrong, remedy) of a machine before anything is measured on it.

    ``pressure`` is the share of the last ten seconds in which some thread waited, by resource ("cpu", "io", "memory"),
    where dsbench itself did not make it.
    """
    use = used.use
    if _much(use, use.others_ns):
        yield f"other programs use {others([used])}{programs([used], running=True)}", QUIET
    if _much(use, use.stolen_ns):
        yield f"the hypervisor takes {use.share(use.stolen_ns):.0%} of the CPU time (stolen time)", OWN_CPUS
    for what, share in pressure.items():
        if share > MOST_PRESSURE:
            yield f"programs waited for {RESOURCES[what]} in {share:.0%} of the last ten seconds (pressure)", QUIET


def others(uses: Sequence[Used]) -> str:
    """``1.8 of 2 CPUs``: the CPU time of other programs, over all of ``uses``."""
    return f"{_cpus(sum(u.use.others_ns for u in uses), uses)} of {uses[0].use.cpus} CPUs"


def programs(uses: Sequence[Used], *, running: bool = False) -> str:
    """``: stress-ng 1.2, …``, in CPUs over all of ``uses``; empty where none is known. With the numbers of processes
    that are ``running``."""
    found: dict[str, int] = {}
    for program in (program for one in uses for program in one.programs):
        name = f"{program.named} (pid {program.pid})" if running else program.named
        found[name] = found.get(name, 0) + program.cpu_ns
    if unseen_ns := sum(one.use.unseen_ns for one in uses):
        found["hidden programs"] = unseen_ns
    ordered = sorted(found.items(), key=lambda item: -item[1])
    told = [f"{name} {shown}" for name, cpu_ns in ordered[:_NAMED] if (shown := _cpus(cpu_ns, uses)) != "0.00"]
    more = ", …" if len(ordered) > _NAMED else ""
    return f": {', '.join(told)}{more}" if told else ""


def writers(uses: Sequence[Used]) -> str:
    """The programs that moved most bytes. How many is not told: the kernel counts whole stretches of its cache, of
    which it may write a part."""
    found: dict[str, int] = {}
    for program in (program for one in uses for program in one.programs if program.io_bytes):
        found[program.named] = found.get(program.named, 0) + (program.io_bytes or 0)
    told = sorted(found, key=lambda name: -found[name])[:_NAMED]
    return f": {', '.join(told)}" if told else ""


def spans(uses: Iterable[CycleUse]) -> str:
    """``cycle 2``, ``cycles 1, 3–5``."""
    return cycles_named(one.cycle for one in uses)


def cycles_named(numbers: Iterable[int]) -> str:
    """``cycle 2``, ``cycles 1, 3–5``: numbers in words, each once and rising."""
    rising = sorted(set(numbers))
    parts = []
    for _, run in groupby(enumerate(rising), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in run]
        parts.append(f"{found[0]}–{found[-1]}" if len(found) > 1 else str(found[0]))
    return f"{'cycle' if len(rising) == 1 else 'cycles'} {', '.join(parts)}"


def describe_cpu(of_cycles_us: Iterable[float]) -> str:
    """``a transaction took 203 to 351 µs of the server's CPU time``; empty where it took about the same in all cycles,
    or at most one of them tells."""
    known = [us for us in of_cycles_us if not isnan(us)]
    if len(known) < 2 or max(known) < MOST_CPU * min(known):
        return ""
    return f"a transaction took {min(known):.3g} to {max(known):.3g} µs of the server's CPU time"


def _much(use: MachineUse, cpu_ns: int) -> bool:
    return cpu_ns >= LEAST_NS and use.share(cpu_ns) > MOST_OTHERS


def _moved(used: Used) -> bool:
    """Whether others moved enough on the data's device that the database had to wait."""
    use = used.use
    if not use.device_bytes or used.foreign_bytes <= MOST_BYTES * use.device_bytes:
        return False
    return use.io_pressure_ns is None or use.pressure(use.io_pressure_ns) > LEAST_IO_PRESSURE


def _cpus(cpu_ns: int, uses: Sequence[Used]) -> str:
    number = cpu_ns / max(sum(one.use.span_ns for one in uses), 1)
    return f"{number:.1f}" if number >= 0.95 else f"{number:.2f}"


def _mb(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
