"""A real run as a process, watched from outside: where it is by what it writes, and what it holds."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import psutil

PHASES = ("import", "server", "begin", "populate", "keys", "cycle", "check", "drop", "report", "seal")
"""In their order. "server" is the start of a private one, "begin" the description and the client's ceiling."""

_LINES = {"begin": "archive: ", "populate": ": populate", "keys": ": primary key", "cycle": " rows/s, ", "check": ": check"}
"""By phase: what the line of the log holds with which it begins."""

MARK = "DSBENCH_KILL"
"""Variable in the environment of all processes of one kill: so that those that are left are found."""

DEADLINE_S = 120.0
"""After this a run that should have ended hangs."""


@dataclass
class Watched:
    """One ``dsbench run``, in a folder of its own, which is its temporary directory, too."""

    arguments: Sequence[str]
    folder: Path
    mark: str
    lines: list[str] = field(default_factory=list)
    began: dict[str, float] = field(default_factory=dict)
    """Phase to its begin, in seconds since the start."""

    def __post_init__(self) -> None:
        self._heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        temporary = self.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        temporary.chmod(0o755)
        command = [sys.executable, "-m", "dsbench", "run", *self.arguments, "--out", str(self.folder / "out")]
        if "--resume" in self.arguments:
            command = command[:-2]
        environment = {**os.environ, MARK: self.mark, "TMPDIR": str(temporary)}
        self.process = subprocess.Popen(
            command, env=environment, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._start = time.monotonic()
        self.began["import"] = 0.0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._heard.put(line.rstrip())

    @property
    def archive(self) -> Path | None:
        """The folder of the archive, once it is told."""
        return next((Path(line.removeprefix("archive: ")) for line in self.lines if line.startswith("archive: ")), None)

    def look(self) -> str:
        """The phase in which the run is now."""
        while not self._heard.empty():
            self.lines.append(line := self._heard.get())
            for phase, words in _LINES.items():
                if words in line:
                    self._note(phase)
        self._look_at_files()
        return max(self.began, key=PHASES.index)

    def _look_at_files(self) -> None:
        if "server" not in self.began and any((self.folder / "tmp").glob("dsbench-*")):
            self._note("server")
        if self.archive is None or "check" not in self.began:
            return
        try:
            described = (self.archive / "run.json").read_bytes()
        except OSError:
            return
        if b'"holds"' in described:
            self._note("drop")
        if re.search(rb'"status": "(complete|cut-short|failed)"', described):
            self._note("report")
        if "report" in self.began and (self.archive / "report.html").exists():
            self._note("seal")

    def _note(self, phase: str) -> None:
        self.began.setdefault(phase, time.monotonic() - self._start)

    def wait_for(self, phase: str, further_s: float) -> str | None:
        """Waits until the run is in ``phase`` and ``further_s`` longer; where it is then, ``None`` when it has ended."""
        while self.process.poll() is None:
            now = self.look()
            if PHASES.index(now) >= PHASES.index(phase):
                begun = max(self.began.values()) if phase not in self.began else self.began[phase]
                left = begun + further_s - (time.monotonic() - self._start)
                if left <= 0:
                    return now
                time.sleep(min(left, 0.003))
            else:
                time.sleep(0.003)
            if time.monotonic() - self._start > DEADLINE_S:
                return None
        return None

    def send(self, number: signal.Signals, pause_s: float) -> None:
        """Sends the signal; a run that is to stand still goes on after ``pause_s``."""
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            time.sleep(pause_s)
            self.process.send_signal(signal.SIGCONT)

    def end(self) -> int | None:
        """Waits for the end: the exit code, ``None`` when the run hangs and was killed for it."""
        give_up = time.monotonic() + DEADLINE_S
        while self.process.poll() is None and time.monotonic() < give_up:
            self.look()
            time.sleep(0.01)
        hangs = self.process.poll() is None
        if hangs:
            self.process.kill()
        self.process.wait()
        self._listener.join(5)
        assert self.process.stderr is not None
        self.process.stderr.close()
        self.look()
        return None if hangs else self.process.returncode

    def durations(self) -> Mapping[str, float]:
        """Phase to its length in seconds, as far as the run came."""
        known = sorted(self.began.items(), key=lambda item: item[1])
        return {name: after - begun for (name, begun), (_, after) in pairwise(known)}


def processes(mark: str) -> list[psutil.Process]:
    """Living processes that carry ``mark``: a run and its servers, whatever became of their parents."""
    found = []
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                process = psutil.Process(int(folder.name))
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        except (OSError, psutil.Error):
            continue
    return found


def shared_memory(pids: Sequence[int]) -> set[Path]:
    """Files of POSIX shared memory that these processes map."""
    maps = ""
    for pid in pids:
        try:
            maps += Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            continue
    return {Path(name) for name in re.findall(r" (/dev/shm/\S+)$", maps, re.MULTILINE)}


def segments_of(pids: Sequence[int]) -> set[int]:
    """Ids of the System V segments that are there now and were made by one of these processes."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
    creator, segment = rows[0].index("cpid"), rows[0].index("shmid")
    return {int(row[segment]) for row in rows[1:] if int(row[creator]) in pids}
