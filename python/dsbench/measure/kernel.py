"""What client and server ask of the kernel, and where its time goes (``--perf``), by Linux's perf.

Tracing slows what it watches down: each kind has a cycle of its own after the others, which no rate counts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dsbench.measure.cycle import Setting, run_cycle
from dsbench.measure.loaders.results import IN_DATABASE, Part
from dsbench.measure.monitors import RUN, SERVER, Known, proc
from dsbench.measure.monitors.monitor import Value
from dsbench.measure.monitors.system import TRACEFS
from dsbench.measure.plan import Planned

KINDS: Final = ("calls", "profile")
_HERTZ: Final = 997
"""Samples of each CPU per second: no multiple of the ticks of the kernel."""
_PATIENCE_S: Final = 60.0
"""How long perf may take to write what it has."""
_WAITER: Final = ("--", "sh", "-c", "echo ready; exec cat")
"""Beside this perf watches: it says that perf is there, and lasts until its input is closed."""
_MOUNT: Final = ("unshare", "-m", "sh", "-c", 'mount -t tracefs tracefs "$0" && exec "$@"', str(TRACEFS))
"""Gives perf a tracefs of its own where the machine has none mounted."""
_CALL: Final = re.compile(r"^ {3}(\w+) +(\d+) +\d+ +[\d.]+ ")
"""A line of perf's summary: name, calls, errors, time."""
_SAMPLE: Final = re.compile(r"^(\S.*?)\s+(\d+)\s*$")
"""First line of a sample: thread's name and process."""
_CLIENT: Final = "client-"
"""Beginning of the names of dsbench's threads that make load."""
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


class Watch:
    """A monitor of one cycle: perf begins with its first sample, and ends with its last."""

    name = "perf"
    around = True

    def __init__(self, commands: Callable[[Mapping[str, set[int]], Path], list[list[str]]], known: Known, folder: Path,
                 clients: Callable[[], Iterable[int]]) -> None:  # fmt: skip
        self.notes: list[str] = []
        self.sides: dict[str, set[int]] = {}
        """Processes by side, those that came in the cycle as well."""
        self._commands, self._known, self._folder, self._clients = commands, known, folder, clients
        self._running: list[subprocess.Popen[bytes]] = []

    def sample(self) -> list[Value]:
        """Begins, or ends what was begun."""
        for side, pids in self._find_sides().items():
            self.sides.setdefault(side, set()).update(pids)
        if self._running:
            self.end()
        else:
            self._begin()
        return []

    def _find_sides(self) -> dict[str, set[int]]:
        roots = [pid for pid, who in self._known.roots.items() if who == SERVER]
        server = proc.family(proc.processes(), roots)
        return {side: pids for side, pids in ((SERVER, server), (RUN, {os.getpid(), *self._clients()})) if pids}

    def _begin(self) -> None:
        for command in self._commands(self.sides, self._folder):
            started = _start(command)
            self._running.append(started)
            assert started.stdout is not None
            if not started.stdout.readline():
                said = _end(started)
                self.end()
                raise OSError(said or "perf ended")

    def end(self) -> None:
        """Ends all that runs."""
        for one in self._running:
            _end(one)
        self._running = []


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    mount = () if (TRACEFS / "events").is_dir() else _MOUNT
    return subprocess.Popen(
        [*mount, *command, *_WAITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def _end(one: subprocess.Popen[bytes]) -> str:
    """Lets it end by closing its input; what it said of errors."""
    try:
        _out, said = one.communicate(timeout=_PATIENCE_S)
    except subprocess.TimeoutExpired:
        one.kill()
        _out, said = one.communicate()
    return next((line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()), "")


def _trace(sides: Mapping[str, set[int]], folder: Path) -> list[list[str]]:
    """Sums up the system calls of each side: of this process those of the threads that make load."""
    chosen = {SERVER: ("-p", sides.get(SERVER, set())), RUN: ("-t", _find_clients(sides.get(RUN, ())))}
    return [
        ["perf", "trace", "-s", "-o", str(folder / side), option, ",".join(map(str, sorted(numbers)))]
        for side, (option, numbers) in chosen.items() if numbers
    ]  # fmt: skip


def _find_clients(pids: Iterable[int]) -> set[int]:
    """Threads that make load; all of a process that is another program."""
    found: set[int] = set()
    for pid in pids:
        with suppress(OSError):
            names = {int(task.name): (task / "comm").read_text() for task in Path(f"/proc/{pid}/task").iterdir()}
            own = {tid for tid, name in names.items() if name.startswith(_CLIENT)}
            found |= own or (set() if pid == os.getpid() else set(names))
    return found


def _record(_sides: Mapping[str, set[int]], folder: Path) -> list[list[str]]:
    """Samples all CPUs by the clock, which needs no counters of the processor."""
    return [["perf", "record", "-q", "-a", "-g", "-F", str(_HERTZ), "-e", "cpu-clock", "-o", str(folder / "samples")]]


_COMMANDS: Final = {"calls": _trace, "profile": _record}


def refusal(kind: str) -> str:
    """Why perf does not do it here; empty where it does."""
    if shutil.which("perf") is None:
        return "perf is not installed"
    with TemporaryDirectory() as folder:
        sides = {SERVER: {os.getpid()}}
        try:
            for command in _COMMANDS[kind](sides, Path(folder)):
                started = _start(command)
                assert started.stdout is not None
                ready = started.stdout.readline()
                said = _end(started)
                if not ready or started.returncode:
                    return said or f"perf ended with {started.returncode}"
        except OSError as error:
            return str(error)
    return ""


def kinds(asked: str) -> tuple[str, ...]:
    """Those that an option names."""
    return KINDS if asked == "all" else tuple(kind for kind in KINDS if kind == asked)


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


Row = tuple[str, str, str, float]
"""What, whose, name and count."""


def _calls_of(watch: Watch, folder: Path) -> list[Row]:
    return [
        ("calls", side, name, count)
        for side in watch.sides if (folder / side).exists()
        for name, count in read_calls((folder / side).read_text(errors="replace")).items()
    ]  # fmt: skip


def _profile_of(watch: Watch, folder: Path) -> list[Row]:
    script = ["perf", "script", "-i", str(folder / "samples"), "-F", "comm,pid,ip,sym"]
    of = {pid: side for side, pids in watch.sides.items() for pid in pids}
    found: Counter[tuple[str, str, str]] = Counter()
    quiet = subprocess.DEVNULL
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=quiet, text=True, errors="replace") as read:
        assert read.stdout is not None
        for name, pid, frames in read_samples(read.stdout):
            side, part = of.get(pid, "others"), part_of_kernel(frames)
            if pid == os.getpid() and not name.startswith(_CLIENT):
                side = "others"
            if part == "":
                continue
            found["part", side, part or "programs"] += 1
            if part is not None:
                found["function", side, frames[0].symbol] += 1
    return [(*key, count / _HERTZ) for key, count in found.items()]


_READS: Final = {"calls": _calls_of, "profile": _profile_of}
_WORDS: Final = {"calls": "system calls were not counted by name", "profile": "the kernel was not profiled"}
_REMEDY: Final = (
    "--perf needs Linux's perf (apt-get install linux-perf) and root, or CAP_PERFMON and kernel.perf_event_paranoid=-1"
)


def possible_kinds(asked: str, warn: Callable[[str, str, str], None]) -> tuple[str, ...]:
    """Of the kinds that are ``asked`` for, those that perf does here; it warns of the others."""
    found = []
    for kind in kinds(asked):
        why = refusal(kind)
        if why:
            warn("perf", f"{_WORDS[kind]}: {why}", _REMEDY)
        else:
            found.append(kind)
    return tuple(found)


def watch_kernel(setting: Setting, scale: int, last: Planned, count: Callable[[Sequence[Part]], None]) -> None:
    """A cycle more for each kind, as ``last`` was, with perf beside it."""
    for kind in setting.perf:
        with TemporaryDirectory() as name:
            folder = Path(name)
            watch = Watch(_COMMANDS[kind], setting.known, folder, setting.load.pids)
            # What makes the cycle's clients stop early must not leave perf behind.
            try:
                again = replace(last, number=last.number + 1)
                parts = run_cycle(replace(setting, monitors=(watch,)), scale, again, recorded=False)
            finally:
                with suppress(OSError):
                    watch.end()
            count(parts)
            committed = sum(part.found.result.total(name) for part in parts if part.found for name in IN_DATABASE)
            key = {"scale": scale, "stage": last.stage.name, "threads": last.threads or setting.spec.threads}
            rows = [
                {**key, "what": what, "of": side, "name": name, "value": value, "committed": committed}
                for what, side, name, value in _READS[kind](watch, folder)
            ]
        part = f"scale-{scale:05d}_{len(setting.journal.record.segments):03d}_{last.stage.name}_{kind}"
        setting.journal.writer.rows("kernel", part, rows)
        if not rows:
            words = f"{_WORDS[kind]}: perf had nothing to tell in time"
            setting.journal.warn("perf", words, "make the cycles longer, or leave perf more CPU", scale)
        setting.journal.say(f"scale {scale}: one cycle more with perf beside it ({kind}), which no rate counts")
