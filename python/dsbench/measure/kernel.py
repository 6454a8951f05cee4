"""What client and server ask of the kernel, and where its time goes (``--perf``), by Linux's perf.

Tracing slows what it watches down: each kind has a cycle of its own after the others, which no rate counts.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dsbench import devices
from dsbench.dataclass import dataclass
from dsbench.measure import device_times, stacks
from dsbench.measure.cycle import run_cycle
from dsbench.measure.loaders.results import IN_DATABASE, NodePart
from dsbench.measure.monitors import RUN, SERVER
from dsbench.measure.perf import CLIENT, Commands, PerfMonitor, PerfProgram, Scene, find_reason, read_lines
from dsbench.measure.plan import PlannedCycle
from dsbench.measure.setting import ScaleContext

_HERTZ: Final = 997
"""Samples of each CPU per second: no multiple of the ticks of the kernel."""
_CALL: Final = re.compile(r"^ {3}(\w+) +(\d+) +\d+ +[\d.]+ ")
"""A line of perf's summary: name, calls, errors, time."""
_SAMPLE: Final = re.compile(r"^(\S.*?)\s+(\d+)\s*$")
"""First line of a sample: thread's name and process."""
_FRAME: Final = re.compile(r"^\s+([0-9a-f]+) (.+?)(?:\+0x[0-9a-f]+)?$")
_KERNEL_FROM: Final = 1 << 63
_IDLE: Final = re.compile(r"do_idle|cpu_startup_entry|(safe|default)_(halt|idle)")
_INTERRUPT: Final = re.compile(r"(asm_)?(sysvec|common_interrupt|nmi)")
_ENTRY: Final = re.compile(
    r"(do|entry)_(syscall|SYSCALL)_64|(do_)?el0t?_(64_sync|svc)|invoke_syscall|asm_exc_page_fault|do_mem_abort"
)
"""Where the kernel is entered by a system call or a page fault."""
_GROUPS: Final = tuple((name, re.compile("|".join(words.split()))) for name, words in (
    ("locks", r"(do_)?futex .*sys_(futex|sem\w*|flock)$ fcntl_[gs]etlk do_lock_file_wait do_sem"),
    ("waiting for events", r"do_epoll ep_poll do_sys_poll do_select .*nanosleep .*sys_(p?poll|p?select\d?|epoll\w*)$"),
    ("pipes and sockets", r"sock_ __sys_(send|recv) .*sys_(send|recv)\w*$ unix_ tcp_ inet6?_ (anon_)?pipe_\w+"),
    ("memory", r"handle_mm_fault asm_exc_page_fault do_mem_abort .*sys_(mmap|munmap|brk|madvise|mprotect)$"),
    ("processes and signals", r"kernel_clone do_(group_)?exit .*execve .*sys_(clone3?|kill|tgkill|wait4)$ .*sigreturn"),
    ("files", r"""vfs_ ksys_ do_(sys_)?open do_fsync iterate_dir .*sys_(f?data_?sync|f?sync|sync_file_range|lseek)$
              .*sys_p?(read|write)v?2?(64)?$ .*sys_(openat?|close|unlink(at)?|rename\w*|(new)?f?stat\w*|f?truncate)$
              .*sys_(fallocate|fadvise64|io_\w+)$"""),
    ("scheduling", r"(__)?schedule$ .*sched_yield"),
))  # fmt: skip
"""Parts of the kernel by the functions below a system call: the first part that any of them is of."""
REST: Final = "the rest"
INTERRUPTS: Final = "interrupts"
TASKS: Final = "tasks of the kernel"


@dataclass(frozen=True)
class _Frame:
    address: int
    symbol: str

    @property
    def of_kernel(self) -> bool:
        return self.address >= _KERNEL_FROM


def _trace(scene: Scene) -> list[list[str]]:
    """Sums up the system calls of each side: of this process those of the threads that make load."""
    sides = scene.sides
    chosen = {SERVER: ("-p", sides.get(SERVER, set())), RUN: ("-t", _find_threads(sides.get(RUN, ())))}
    return [
        ["perf", "trace", "-s", "-o", str(scene.folder / side), option, ",".join(map(str, sorted(numbers)))]
        for side, (option, numbers) in chosen.items() if numbers
    ]  # fmt: skip


def _find_threads(pids: Iterable[int]) -> set[int]:
    """Threads that make load; all of a process that is another program."""
    found: set[int] = set()
    for pid in pids:
        with suppress(OSError):
            names = {int(task.name): (task / "comm").read_text() for task in Path(f"/proc/{pid}/task").iterdir()}
            own = {tid for tid, name in names.items() if name.startswith(CLIENT)}
            found |= own or (set() if pid == os.getpid() else set(names))
    return found


def _record(scene: Scene) -> list[list[str]]:
    """Samples all CPUs by the clock, which needs no counters of the processor."""
    to = str(scene.folder / "samples")
    return [["perf", "record", "-q", "-a", "-g", "-F", str(_HERTZ), "-e", "cpu-clock", "-o", to]]


def read_calls(text: str) -> dict[str, float]:
    """Calls by name out of perf's summary by thread."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        if (match := _CALL.match(line)) is not None:
            found[match[1]] += int(match[2])
    return {name: float(count) for name, count in found.items()}


def read_samples(lines: Iterable[str]) -> Iterator[tuple[str, int, list[_Frame]]]:
    """Name of the thread, process and frames, from the innermost on, out of what ``perf script`` prints."""
    name, pid, frames = "", 0, list[_Frame]()
    for line in lines:
        if (match := _FRAME.match(line)) is not None:
            frames.append(_Frame(int(match[1], 16), match[2]))
        elif (head := _SAMPLE.match(line)) is not None:
            if frames:
                yield name, pid, frames
            name, pid, frames = head[1], int(head[2]), []
    if frames:
        yield name, pid, frames


def part_of_kernel(frames: Sequence[_Frame]) -> str | None:
    """The part of the kernel that a sample was in; empty for an idle CPU, ``None`` for a program's own code."""
    kernel = [frame.symbol for frame in frames if frame.of_kernel]
    if not kernel:
        return None
    entry = next((at for at, symbol in enumerate(kernel) if _ENTRY.match(symbol)), None)
    if any(_INTERRUPT.match(symbol) for symbol in kernel[:entry]):
        return INTERRUPTS
    if any(_IDLE.search(symbol) for symbol in kernel):
        return ""
    if entry is None:
        return TASKS
    below = kernel[: entry + 1]
    return next((name for name, words in _GROUPS if any(words.match(symbol) for symbol in below)), REST)


def _calls_of(watch: PerfMonitor, folder: Path) -> list[Row]:
    return [
        {"what": "calls", "of": side, "name": name, "value": count}
        for side in watch.sides if (folder / side).exists()
        for name, count in read_calls((folder / side).read_text(errors="replace")).items()
    ]  # fmt: skip


def _profile_of(watch: PerfMonitor, folder: Path) -> list[Row]:
    of = {pid: side for side, pids in watch.sides.items() for pid in pids}
    found: Counter[tuple[str, str, str]] = Counter()
    lines = read_lines(["perf", "script", "-i", str(folder / "samples"), "-F", "comm,pid,ip,sym"])
    for name, pid, frames in read_samples(lines):
        side, part = of.get(pid, "others"), part_of_kernel(frames)
        if pid == os.getpid() and not name.startswith(CLIENT):
            side = "others"
        if part == "":
            continue
        found["part", side, part or "programs"] += 1
        if part is not None:
            found["function", side, frames[0].symbol] += 1
    return [{"what": what, "of": side, "name": name, "value": count / _HERTZ}
            for (what, side, name), count in found.items()]  # fmt: skip


Row = Mapping[str, object]
"""Of a table of the archive, without scale, stage, clients and committed."""


@dataclass(frozen=True)
class PerfKind:
    """What perf can be asked for."""

    commands: Commands
    read: Callable[[PerfMonitor, Path], list[Row]]
    """Out of what it wrote into the folder."""
    table: str
    lacks: str
    """What there is not, where it is refused."""


KINDS: Final[Mapping[str, PerfKind]] = {
    "calls": PerfKind(_trace, _calls_of, "kernel", "system calls were not counted by name"),
    "profile": PerfKind(_record, _profile_of, "kernel", "the kernel was not profiled"),
    "stacks": PerfKind(stacks.record, stacks.read, "stacks", "the server has no flame graph"),
    "storage": PerfKind(
        device_times.record, device_times.read, "device_times", "requests of the device were not timed"
    ),
}
_WITH: Final = {"profile": ("profile", "stacks"), "all": tuple(KINDS)}
"""What an option stands for besides itself."""
_REMEDY: Final = (
    "--perf needs Linux's perf (apt-get install linux-perf) and root, or CAP_PERFMON and kernel.perf_event_paranoid=-1"
)


def kinds(asked: str) -> tuple[str, ...]:
    """Those that an option names."""
    return _WITH.get(asked, (asked,) if asked in KINDS else ())


def refusal(kind: str, of: Sequence[devices.Device] = ()) -> str:
    """Why perf does not do it here, where the data lie on these devices; empty where it does."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    with TemporaryDirectory() as folder:
        try:
            for command in KINDS[kind].commands(Scene({SERVER: {os.getpid()}}, of, Path(folder))):
                started = PerfProgram(command)
                ready = started.is_ready()
                said = started.end()
                if not ready or started.code:
                    # What writes a summary into a file says there, too, why there is none.
                    with suppress(OSError):
                        said = said or find_reason((Path(folder) / SERVER).read_text(errors="replace"))
                    return said or f"perf ended with {started.code} without a message"
        except OSError as error:
            return str(error)
    return ""


def possible_kinds(asked: str, of: Sequence[devices.Device], warn: Callable[[str, str, str], None]) -> tuple[str, ...]:
    """Of the kinds that are ``asked`` for, those that perf does here; it warns of the others."""
    found = []
    for kind in kinds(asked):
        why = refusal(kind, of)
        if why:
            warn("perf", f"{KINDS[kind].lacks}: {why}", _REMEDY)
        else:
            found.append(kind)
    return tuple(found)


def watch_kernel(
    setting: ScaleContext, scale: int, last: PlannedCycle, count: Callable[[Sequence[NodePart]], None]
) -> None:
    """A cycle more for each kind, as ``last`` was, with perf beside it."""
    for name in setting.perf:
        kind, rows, problem = KINDS[name], list[Row](), ""
        with TemporaryDirectory() as place:
            folder = Path(place)
            watch = PerfMonitor(kind.commands, setting.known, folder, setting.load.pids)
            # What makes the cycle's clients stop early must not leave perf behind.
            try:
                again = replace(last, number=last.number + 1)
                parts = run_cycle(replace(setting, monitors=(watch,)), scale, again, recorded=False)
            finally:
                watch.end()
            count(parts)
            committed = sum(part.found.result.total(name) for part in parts if part.found for name in IN_DATABASE)
            key = {"scale": scale, "stage": last.stage.name, "clients": last.clients or setting.spec.clients}
            try:
                rows = [{**key, **row, "committed": committed} for row in kind.read(watch, folder)]
            except OSError as error:
                problem = str(error)
        part = f"scale-{scale:05d}_{len(setting.journal.record.segments):03d}_{last.stage.name}_{name}"
        setting.journal.writer.rows(kind.table, part, rows)
        if not rows:
            words = f"{kind.lacks}: {problem or watch.problem or 'perf gave no result in time'}"
            setting.journal.warn("perf", words, "use longer cycles, or give perf more CPU time", scale)
        setting.journal.say(f"scale {scale}: one more cycle under perf ({name}), not counted in any rate")
