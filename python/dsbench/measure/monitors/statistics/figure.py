"""One figure that a database keeps of itself, and how rows of a query become figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dsbench.measure.monitors.monitor import Queries

Figure = tuple[str, str, str, float]
"""Object, metric, unit and value. The object is a table, or empty for the database or the server."""


def figures(of: str, row: Mapping[str, str | None], units: Mapping[str, str]) -> list[Figure]:
    """The columns of ``row`` that ``units`` names and that hold a number."""
    found: Iterable[tuple[str, str, str | None]] = ((name, unit, row.get(name)) for name, unit in units.items())
    return [(of, name, unit, float(value)) for name, unit, value in found if value is not None and _numeric(value)]


def asked(queries: Queries, sql: str, units: Mapping[str, str]) -> list[Figure]:
    """Those of all rows of a query; a column ``object`` names what each row is of."""
    return [figure for row in queries.fetch(sql) for figure in figures(row.get("object") or "", row, units)]


def _numeric(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
