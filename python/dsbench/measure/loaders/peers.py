"""A cycle whose load another program makes, such as pgbench: what it told becomes what the core would have recorded.

The cycle begins with the first transaction of the program, which connects by itself, up to a second after its start.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
from numpy.typing import NDArray

from dsbench import _core
from dsbench.archive.columns import COUNTERS
from dsbench.servers.orphans import dying_with_us
from dsbench.spec import RunSpec
from dsbench.spec.clients import PEERS
from dsbench.spec.target import Target

Words = NDArray[np.uint64]
_LAST_WORDS: Final = 600
_PREFIX: Final = "dsbench-peer-"
UNTOLD_SUMS: Final = {"untold": 1}
"""By which the check of a workload hears that the client tells no sums of what it did."""


def _sweep() -> None:
    """Removes the folders of runs that were killed: ours by their name and owner, which hold a number of no process."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}[0-9]*-*"):
        with suppress(OSError, ValueError):
            pid = int(path.name.removeprefix(_PREFIX).partition("-")[0])
            if path.lstat().st_uid == os.getuid() and path.is_dir() and not psutil.pid_exists(pid):
                shutil.rmtree(path, ignore_errors=True)


class Peer(ABC):
    """A program that makes the load of a cycle, with the methods of ``_core.Cycle``."""

    def __init__(
        self, spec: RunSpec, url: str, scale: int, dialect: str, call: str, threads: int, seed: int
    ) -> None:
        """``dialect`` as the program calls it; ``call``: "procedure" or "statements"; ``threads`` of this node."""
        self.spec, self.scale, self.dialect, self.call = spec, scale, dialect, call
        self.threads, self.seed = threads, seed
        self.target = Target(url=url)
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._said, self._cpu_ns, self._reason = "", (0, 0), ""

    @abstractmethod
    def _command(self) -> tuple[list[str], dict[str, str]]:
        """Words and environment of the program, which may write into its folder. No password is in the words."""

    @abstractmethod
    def _read(self) -> dict[str, Any]:
        """What it did, in the form of ``_core.Cycle.join``, without what all programs share."""

    def ready(self) -> int:
        """All clients: the program connects them itself."""
        return self.threads

    def start(self, at_ns: int) -> None:
        """Starts the program at ``at_ns``."""
        self._thread = threading.Thread(target=self._run, args=(at_ns,), daemon=True)
        self._thread.start()

    def finished(self) -> bool:
        """True when the program has ended, or never began."""
        return self._stop.is_set() if self._thread is None else not self._thread.is_alive()

    def totals(self) -> tuple[int, int]:
        """Nothing is known before the end."""
        return (0, 0)

    def seconds(self, _start: int) -> list[tuple[int, int, int, int, int]]:
        """Nothing, for the same reason."""
        return []

    def pids(self) -> list[int]:
        """Of the program, once it runs."""
        return [self._process.pid] if self._process is not None else []

    def abandon(self, reason: str | None = None) -> None:
        self._reason = reason or self._reason
        self._stop.set()
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def join(self) -> dict[str, Any]:
        """Waits for the end and gives what the program told."""
        if self._thread is not None:
            self._thread.join()
        try:
            return self._told()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, at_ns: int) -> None:
        if self._stop.wait(max(0, at_ns - _core.now_ns()) / 1e9):
            return
        words, env = self._command()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # A Ctrl-C is for the run, which ends its programs in order.
        self._process = subprocess.Popen(
            [*dying_with_us("KILL"), *words], env=env, cwd=self._folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        if self._stop.is_set():
            self._process.kill()
        self._said = self._process.communicate()[0]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        pair = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
        self._cpu_ns = (round(pair[0] * 1e9), round(pair[1] * 1e9))

    def _told(self) -> dict[str, Any]:
        failure: tuple[str, str, str] | None = None
        if self._stop.is_set() or self._process is None:
            failure = ("setup", "", self._reason or "stopped on request")
        elif self._process.returncode != 0:
            words = self.target.without_password(self._said.strip()[-_LAST_WORDS:])
            failure = ("setup", "", f"{type(self).__name__.lower()} ended by {self._process.returncode}: {words}")
        threads = self.ready()
        found = self._nothing() if failure is not None else self._read()
        counters: Words = found["counters"]
        counters[:, COUNTERS.index("cpu_ns")] = sum(self._cpu_ns) // threads
        histogram = found.get("histogram") or _core.buckets(found["times"].astype("<u8").tobytes())
        return {
            "counters": counters.astype("<u8").tobytes(),
            "groups": np.zeros(threads, "<u8").tobytes(),
            "histograms": [(0, 0, "residence", histogram)],
            "seconds": np.array(found["seconds"], dtype="<u8").reshape(-1, 8).tobytes(),
            "statements": [],
            "errors": found.get("errors", []),
            "sums": dict(UNTOLD_SUMS),
            "placements": [(0, "free", threads)],
            "cpu_ns": self._cpu_ns,
            "failure": failure,
            "untraced": 0,
            "untold": PEERS[type(self).__name__.lower()].untold,
        }

    def _nothing(self) -> dict[str, Any]:
        return {"counters": np.zeros((self.ready(), len(COUNTERS)), np.uint64), "times": np.zeros(0), "seconds": []}
