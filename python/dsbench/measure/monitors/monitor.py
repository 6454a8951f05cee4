"""What a monitor is, and a figure of the statistics that a database keeps of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
        """Marks such a monitor."""


@runtime_checkable
class Fleeting(Protocol):
    """A monitor of what goes with the load, and dear to read: it is read before a cycle and just before its end."""

    def begin(self) -> None:
        """The next sample is the first of a cycle."""


@runtime_checkable
class Frequent(Protocol):
    """A monitor that looks ten times between two samples, and tells the mean with each of them."""

    def begin(self) -> None:
        """The next look is the first of a cycle."""

    def look(self) -> None:
        """Looks once. It is cheap, and called from the thread that samples."""


@runtime_checkable
class Dated(Protocol):
    """A monitor that knows at which moment its last sample was read: it counts by time, and whoever calls it may wait
    for a CPU before or after."""

    @property
    def read_ns(self) -> int:
        """By the clock ``time.monotonic_ns``."""


class Queries(Protocol):
    """Administrative queries on the database under test."""

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        """Rows by column name, all text."""


Figure = tuple[str, str, str, float]
"""Object, metric, unit and value. The object is a table, or empty for the database or the server."""


def figures(of: str, row: Mapping[str, str | None], units: Mapping[str, str]) -> list[Figure]:
    """The columns of ``row`` that ``units`` names and that hold a number."""
    found: Iterable[tuple[str, str, str | None]] = ((name, unit, row.get(name)) for name, unit in units.items())
    return [(of, name, unit, float(value)) for name, unit, value in found if value is not None and _numeric(value)]


def fetch_figures(queries: Queries, sql: str, units: Mapping[str, str]) -> list[Figure]:
    """Those of all rows of a query; a column ``object`` names what each row is of."""
    return [figure for row in queries.fetch(sql) for figure in figures(row.get("object") or "", row, units)]


def _numeric(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
