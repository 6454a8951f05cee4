"""What a database says of itself: read once before the cycles of a scale and once after them.

Beside the monitors, which sample every second, these are dearer queries: sizes of tables, dead rows, the age
of transactions. Adding an engine: one module with ``take``, and one line in ``_ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dsbench.measure.monitors.monitor import Queries
from dsbench.measure.monitors.statistics import firebird, mysql, postgres
from dsbench.measure.monitors.statistics.figure import Figure

__all__ = ["Statistics", "statistics_of"]


_ENGINES: dict[str, Callable[[Queries], list[Figure]]] = {
    "postgres": postgres.take,
    "mysql": mysql.take,
    "firebird": firebird.take,
}


@dataclass(frozen=True)
class Statistics:
    """Reads the statistics of one database."""

    queries: Queries
    ask: Callable[[Queries], list[Figure]]

    def take(self) -> list[Figure]:
        """The figures now. It may raise."""
        return self.ask(self.queries)


def statistics_of(engine: str, queries: Queries) -> Statistics | None:
    """The statistics of an engine, ``None`` where it keeps none that can be read beside a run."""
    return Statistics(queries, _ENGINES[engine]) if engine in _ENGINES else None
