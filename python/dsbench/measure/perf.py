"""Linux's perf beside a cycle: begun, told to end, and read, each within a time, whatever has become of it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.devices import Device
from dsbench.measure.monitors import RUN, SERVER, Known, proc
from dsbench.measure.monitors.monitor import Value
from dsbench.measure.monitors.system import TRACEFS

CLIENT: Final = "client-"
"""Beginning of the names of dsbench's threads that make load."""
_PATIENCE_S: Final = 60.0
"""How long perf may take to begin, or to write what it has."""
_KILLED_S: Final = 5.0
"""How long a program that was killed may take to go."""
_READING_S: Final = 300.0
"""How long it may take to tell what it has written."""
_WAITER: Final = ("--", "sh", "-c", "echo ready; exec cat")
"""Beside this perf watches: it says that perf is there, and lasts until its input is closed."""
_MOUNT: Final = ("unshare", "-m", "sh", "-c", 'mount -t tracefs tracefs "$0" && exec "$@"', str(TRACEFS))
"""Gives perf a tracefs of its own where the machine has none mounted."""


@cache
def _mount() -> Sequence[str]:
    """What begins a command of perf. Who may mount nothing leaves it to perf to say what it lacks."""
    if (TRACEFS / "events").is_dir():
        return ()
    tried = subprocess.run([*_MOUNT, "true"], stderr=subprocess.DEVNULL, check=False)
    return _MOUNT if tried.returncode == 0 else ()


class PerfProgram:
    """One perf. What it says of errors goes to a file, so that nobody has to read for it to end."""

    def __init__(self, command: Sequence[str], patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._said = TemporaryFile()  # noqa: SIM115 - closed with the program
        self._program = subprocess.Popen(
            [*_mount(), *command, *_WAITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said,
            start_new_session=True,
        )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._program.pid

    def is_ready(self) -> bool:
        """Waits until it watches; ``False`` where it does not get so far."""
        assert self._program.stdout is not None
        there, _, _ = select.select([self._program.stdout], [], [], self._patience_s)
        return bool(there) and bool(os.read(self._program.stdout.fileno(), 64))

    def end(self) -> str:
        """Lets it end by closing its input, and kills it where it does not; what it said of errors. Once more is
        nothing."""
        if self._said.closed:
            return ""
        with suppress(OSError):
            assert self._program.stdin is not None
            self._program.stdin.close()
        try:
            self._program.wait(self._patience_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._program.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self._program.wait(_KILLED_S)
        assert self._program.stdout is not None
        self._program.stdout.close()
        with self._said:
            self._said.seek(0)
            said = self._said.read().decode(errors="replace")
        return find_reason(said)

    @property
    def code(self) -> int | None:
        """What it ended with."""
        return self._program.returncode


def find_reason(said: str) -> str:
    """The first line of what perf said of an error; what follows "Error:" where that stands in it."""
    _, error, after = said.partition("Error:")
    return next((line.strip() for line in (after if error else said).splitlines() if line.strip()), "")


def read_lines(command: Sequence[str], patience_s: float = _READING_S) -> Iterator[str]:
    """What ``command`` prints; ``OSError`` where it takes too long."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        read.kill()

    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, errors="replace") as read:  # fmt: skip
        timer = threading.Timer(patience_s, give_up)
        timer.start()
        try:
            assert read.stdout is not None
            yield from read.stdout
        finally:
            timer.cancel()
            read.kill()
    if late.is_set():
        raise OSError(f"{command[0]} took more than {patience_s:.0f} s to report its samples")


@dataclass(frozen=True)
class Scene:
    """What perf is to look at, and where it writes."""

    sides: Mapping[str, set[int]]
    """Processes by side."""
    devices: Sequence[Device]
    """That hold the data."""
    folder: Path


Commands = Callable[[Scene], list[list[str]]]


class PerfMonitor:
    """A monitor of one cycle: perf begins with its first sample, and ends with its second; later ones are nothing."""

    name = "perf"
    around = True

    def __init__(self, commands: Commands, known: Known, folder: Path, clients: Callable[[], Iterable[int]]) -> None:
        self.notes: list[str] = []
        self.sides: dict[str, set[int]] = {}
        """Processes by side, those that came in the cycle as well."""
        self.problem = ""
        """Why perf did not begin."""
        self.devices = known.devices
        self._commands, self._known, self._folder, self._clients = commands, known, folder, clients
        self._running: list[PerfProgram] = []
        self._begun = False
        self._lock = threading.Lock()

    def sample(self) -> list[Value]:
        """Begins, or ends what was begun."""
        for side, pids in self._find_sides().items():
            self.sides.setdefault(side, set()).update(pids)
        if self._begun:
            self.end()
        else:
            self._begin()
        return []

    def _find_sides(self) -> dict[str, set[int]]:
        roots = [pid for pid, who in self._known.roots.items() if who == SERVER]
        server = proc.family(proc.processes(), roots)
        return {side: pids for side, pids in ((SERVER, server), (RUN, {os.getpid(), *self._clients()})) if pids}

    def _begin(self) -> None:
        self._begun = True
        with self._lock:
            for command in self._commands(Scene(self.sides, self._known.devices, self._folder)):
                started = PerfProgram(command)
                self._running.append(started)
                if not started.is_ready():
                    self.problem = started.end() or "perf ended"
                    self._end()
                    raise OSError(self.problem)

    def end(self) -> None:
        """Ends all that runs. Who comes while another one ends it waits for that."""
        self._begun = True
        with self._lock:
            self._end()

    def _end(self) -> None:
        while self._running:
            self._running.pop().end()
