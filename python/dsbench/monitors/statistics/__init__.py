"""What a database says of itself: read once before the cycles of a scale and once after them.

Beside the monitors, which sample every second, these are dearer queries: sizes of tables, dead rows, the age
of transactions. Adding an engine: one module with a class like the others, and one line in ``_ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dsbench.monitors.monitor import Queries
from dsbench.monitors.statistics import firebird, mysql, postgres
from dsbench.monitors.statistics.figure import Figure

__all__ = ["Statistics", "statistics_of"]


class Statistics(Protocol):
    """Reads the statistics of one database."""

    def take(self) -> list[Figure]:
        """The figures now. It may raise."""


_ENGINES: dict[str, Callable[[Queries], Statistics]] = {
    "postgres": postgres.Statistics,
    "mysql": mysql.Statistics,
    "firebird": firebird.Statistics,
}


def statistics_of(engine: str, queries: Queries) -> Statistics | None:
    """The statistics of an engine, ``None`` where it keeps none that can be read beside a run."""
    make = _ENGINES.get(engine)
    return make(queries) if make is not None else None
