"""Energy of the machine: what its CPUs and memory count themselves, or what a meter prints."""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.monitors.monitor import Value

POWERCAP: Final = Path("/sys/class/powercap")
_PACKAGE, _MEMORY = "package", "dram"
PATIENCE_S: Final = 10
"""How long a meter may be silent."""
_SECOND_NS: Final = 1_000_000_000


@dataclass
class _Zone:
    """A counter of the kernel that begins anew when it has reached its range."""

    domain: str
    file: Path
    range_uj: int
    last_uj: int = 0
    gained_uj: int = 0

    def read(self) -> int:
        now_uj = int(self.file.read_text())
        self.gained_uj += now_uj - self.last_uj if now_uj >= self.last_uj else self.range_uj - self.last_uj + now_uj
        self.last_uj = now_uj
        return self.gained_uj


class Rapl:
    """Running average power limit: counters of the CPUs' packages and of their memory, as Linux's powercap has them.

    A package holds its cores and its graphics, which have counters of their own that would count twice. Memory is
    beside it. What has the whole board (psys) holds the packages and is left out, as is the second way to a package
    (intel-rapl-mmio).
    """

    name = "rapl"

    def __init__(self, zones: list[_Zone], clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.notes: list[str] = []
        self._zones, self._clock = zones, clock
        self.read_ns = 0
        """When the last sample was read: in the middle of it, by ``clock``."""
        for zone in zones:
            zone.last_uj = int(zone.file.read_text())

    @classmethod
    def readable(cls, root: Path = POWERCAP) -> Rapl | None:
        """``None`` where the machine counts no energy, or not for this user: the files are root's."""
        zones = []
        try:
            for folder in sorted(root.glob("intel-rapl:*")):
                domain = (folder / "name").read_text().strip().partition("-")[0]
                top = folder.name.count(":") == 1
                if (domain == _PACKAGE and top) or domain == _MEMORY:
                    range_uj = int((folder / "max_energy_range_uj").read_text())
                    zones.append(_Zone(domain, folder / "energy_uj", range_uj))
            return cls(zones) if any(zone.domain == _PACKAGE for zone in zones) else None
        except (OSError, ValueError):
            return None

    def sample(self) -> list[Value]:
        """Joules since the monitor was made: of all, and of packages and memory where both are counted."""
        found: dict[str, float] = {}
        began_ns = self._clock()
        for zone in self._zones:
            found[zone.domain] = found.get(zone.domain, 0.0) + zone.read() / 1e6
        self.read_ns = (began_ns + self._clock()) // 2
        parts = {"energy of CPU packages": found[_PACKAGE]} | (
            {"energy of memory": found[_MEMORY]} if _MEMORY in found else {}
        )
        shown = parts.items() if len(parts) > 1 else ()
        return [("energy", "J total", sum(found.values())), *((name, "J total", value) for name, value in shown)]


_READING: Final = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*(?:W|watts?)?\s*", re.IGNORECASE)
_MOST_WATTS: Final = 1e7


def is_installed(command: str) -> bool:
    """Whether the program that ``command`` begins with is here."""
    return shutil.which(shlex.split(command)[0]) is not None


@dataclass
class Meter:
    """A command that stays open and prints watts, a line for each reading. A reading holds until the next one."""

    command: str
    clock: Callable[[], int] = time.monotonic_ns
    name: str = "meter"
    notes: list[str] = field(default_factory=list)
    _process: subprocess.Popen[str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _joules: float = 0.0
    _watts: float = math.nan
    """Of the last reading."""
    read_ns: int = 0
    """When the last sample was read, by ``clock``: no reading that comes after it changes that."""
    _counted_ns: int = 0
    """Up to when the joules are counted: that of the last sample or reading."""
    _since_ns: int = 0
    """When the last reading came."""
    _first: threading.Event = field(default_factory=threading.Event)
    _said: str = ""
    """The last line that is no reading."""

    def start(self) -> None:
        """Starts the command and waits for its first reading. A command that cannot be started leaves a note."""
        try:
            self._process = subprocess.Popen(
                shlex.split(self.command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                stderr=subprocess.STDOUT, start_new_session=True, errors="replace",
            )  # fmt: skip
        except OSError as error:
            self._note(f"cannot be started: {error.strerror}")
            return
        threading.Thread(target=self._listen, name="dsbench-meter", daemon=True).start()
        self._first.wait(PATIENCE_S)

    def sample(self) -> list[Value]:
        """Joules since the first reading; nothing while there is none, and when the last one is old."""
        with self._lock:
            now_ns = self.clock()
            if self._process is None or self._explain(now_ns):
                return []
            self._advance(now_ns)
            self.read_ns = now_ns
            return [("energy", "J total", self._joules)]

    def end(self) -> None:
        """Ends the command and what it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        for how in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, how)
            with suppress(subprocess.TimeoutExpired):
                process.wait(2)
        if process.stdout is not None:
            with suppress(OSError, ValueError):
                process.stdout.close()

    def _listen(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        with suppress(OSError, ValueError):  # It is closed at the end.
            for line in process.stdout:
                self._take(line)
        self._first.set()

    def _take(self, line: str) -> None:
        found = _READING.fullmatch(line)
        watts = float(found[1]) if found else math.nan
        with self._lock:
            if not 0 <= watts <= _MOST_WATTS:
                self._said = line.strip() or self._said
                return
            now_ns = self.clock()
            if not math.isnan(self._watts):
                self._advance(now_ns)
            self._watts, self._counted_ns, self._since_ns = watts, now_ns, now_ns
        self._first.set()

    def _advance(self, now_ns: int) -> None:
        self._joules += self._watts * (now_ns - self._counted_ns) / _SECOND_NS
        self._counted_ns = now_ns

    def _explain(self, now_ns: int) -> bool:
        """Whether there is no reading that holds; then a note says why, once."""
        said = f": {self._said[:100]!r}" if self._said else ""
        status = self._process.poll() if self._process is not None else None
        if status is not None:
            self._note(f"it exited with status {status}{said}; it has to keep running and print one line of watts "
                       "per reading")
        elif math.isnan(self._watts):
            self._note(f"it printed no number of watts{said}")
        elif now_ns - self._since_ns > PATIENCE_S * _SECOND_NS:
            self._note(f"it printed nothing for {PATIENCE_S} s")
        else:
            return False
        return True

    def _note(self, why: str) -> None:
        if not self.notes:
            self.notes.append(f"--power {self.command[:100]!r}: {why}")
