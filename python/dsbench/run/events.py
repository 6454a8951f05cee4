"""What a run tells while it goes on. The command line, the browser and tests listen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


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


class Observer(Protocol):
    """Listens to a run. Its methods return fast and do not raise."""

    def moment(self, moment: Moment) -> None:
        """Called several times a second."""

    def message(self, text: str) -> None:
        """A line for the log and the screen."""

    def archive(self, path: Path) -> None:
        """The archive was created at ``path``."""

    def scale_done(self, path: Path) -> None:
        """A scale is finished; tables of the archive at ``path`` may be written."""


class Silent:
    """Listens and says nothing."""

    def moment(self, moment: Moment) -> None:
        """Says nothing."""

    def message(self, text: str) -> None:
        """Says nothing."""

    def archive(self, path: Path) -> None:
        """Says nothing."""

    def scale_done(self, path: Path) -> None:
        """Says nothing."""
