"""What a run tells while it goes on. The command line, the browser and tests listen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil


@dataclass(frozen=True)
class Moment:
    """Where the run is: enough to show progress and to estimate the time left."""

    scale: int
    scale_number: int
    """From 1."""
    scales: int
    phase: str
    """'populate', 'primary_key', 'foreign_key', 'clean', 'connect', 'cycle', 'check', 'drop' …"""
    cycle: int = 0
    """From 1; 0 outside of cycles."""
    cycles: int = 0
    done: int = 0
    """Rows, statements, clients or transactions done, by phase."""
    total: int = 0
    """Of how many; 0 when unknown."""
    failed: int = 0
    elapsed_s: float = 0.0
    """Seconds since the cycle's start."""
    stage: str = ""
    """Stage of the cycle, where a scale has several that make load; else empty."""
    threads: int = 0
    """Threads of the cycle, where a run takes several numbers of them; else 0."""
    seconds: Sequence[float] = ()
    """Committed transactions per second in each whole second of the cycle so far, as nearly as it was looked at."""
    times: Sequence[tuple[float, float]] = ()
    """p50 and p99 of the residence times in s, of the same seconds, each known a second after its end; within 3 %.
    Empty where remote nodes or another program make the load, and tell them at the end."""
    cpus: tuple[float, float] = (0.0, 0.0)
    """CPUs that this process and all processes of this machine took in the last second of the cycle; 0 before."""

    @property
    def rate_tps(self) -> float:
        """Committed transactions per second of the cycle so far; 0 outside of it and while it ramps up."""
        return self.done / self.elapsed_s if self.phase == "cycle" and self.elapsed_s > 0 else 0.0


class Seconds(list[float]):
    """The rates of a cycle's whole seconds, out of looks at it that come at any time."""

    def __init__(self) -> None:
        super().__init__()
        self._at_s, self._done, self._before = 0.0, 0, 0.0

    def look(self, elapsed_s: float, done: int) -> bool:
        """``done`` transactions are committed ``elapsed_s`` after the start; between two looks the rate is even.

        Gives whether a second has ended since the last look.
        """
        before = len(self)
        while elapsed_s >= len(self) + 1:
            end_s = len(self) + 1
            by_then = self._done + (done - self._done) * (end_s - self._at_s) / (elapsed_s - self._at_s)
            self.append(by_then - self._before)
            self._before = by_then
        if elapsed_s > 0:
            self._at_s, self._done = elapsed_s, done
        return len(self) > before


class Cpus:
    """The CPUs that were taken since the last look."""

    def __init__(self) -> None:
        self._before = self._now()

    def look(self) -> tuple[float, float]:
        """Those of this process, and those of all."""
        before, self._before = self._before, self._now()
        at, own, busy = (now - then for now, then in zip(self._before, before, strict=True))
        return (own / at, busy / at) if at > 0 else (0.0, 0.0)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        of_all = psutil.cpu_times()
        return time.monotonic(), time.process_time(), sum(of_all) - _idle(of_all)


def _idle(times: Any) -> float:
    # Time of guests is in that of users already.
    return float(sum(getattr(times, name, 0.0) for name in ("idle", "iowait", "guest", "guest_nice")))


class Observer(Protocol):
    """Listens to a run. Its methods return fast and do not raise; they are called in the run's thread."""

    def moment(self, moment: Moment) -> None:
        """Called several times a second."""

    def message(self, text: str) -> None:
        """A line for the log and the screen."""

    def archive(self, path: Path) -> None:
        """The archive was created at ``path``."""

    def scale_done(self, path: Path) -> None:
        """A scale is finished; tables of the archive at ``path`` may be written."""


class Silent(Observer):
    """Listens and says nothing: make a class of it that has those methods that you want to hear."""

    def moment(self, moment: Moment) -> None:
        """Says nothing."""

    def message(self, text: str) -> None:
        """Says nothing."""

    def archive(self, path: Path) -> None:
        """Says nothing."""

    def scale_done(self, path: Path) -> None:
        """Says nothing."""
