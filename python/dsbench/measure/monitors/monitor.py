"""What a monitor is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

Value = tuple[str, str, float]
"""Metric, unit, value. The unit of a counter that only rises ends in " total", that of a gauge does not."""


class Monitor(Protocol):
    """Reads counters of one part of the system."""

    @property
    def name(self) -> str:
        """Its name in the archive."""

    @property
    def notes(self) -> list[str]:
        """What it cannot read, and why."""

    def sample(self) -> list[Value]:
        """The counters now. It is called from one thread at a time and may raise."""


@runtime_checkable
class Lagging(Protocol):
    """A monitor whose counters come late: what happened just now is not in them yet."""

    @property
    def lag_ns(self) -> int:
        """How late they may be."""

    def settle(self) -> None:
        """Waits, after the load has ended, until they hold all of it, or gives up after about a second."""


@runtime_checkable
class Around(Protocol):
    """A monitor that is read before and after a cycle only: what it reads is dear, or changes slowly."""

    @property
    def around(self) -> bool:
        """True."""


@runtime_checkable
class Fleeting(Protocol):
    """A monitor of what goes with the load, and dear to read: it is read before a cycle and just before its end."""

    def begin(self) -> None:
        """The next sample is the first of a cycle."""


class Queries(Protocol):
    """Administrative queries on the database under test."""

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        """Rows by column name, all text."""
