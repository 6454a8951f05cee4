"""What the server counts of each statement, read around a cycle: calls, time, rows, blocks.

PostgreSQL has it where ``pg_stat_statements`` is loaded, MariaDB and MySQL where the performance schema is on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.measure.monitors.monitor import Queries, Value
from dsbench.measure.monitors.sessions import without_values

_MOST: Final = 50
"""Statements of a cycle that are kept."""


@dataclass(frozen=True)
class StatementTotals:
    """Of one statement since the server began to count; ``None`` where the product does not tell it."""

    calls: int | None = None
    time_ns: int | None = None
    rows: int | None = None
    blocks_hit: int | None = None
    blocks_read: int | None = None
    lock_ns: int | None = None

    def plus(self, other: StatementTotals, sign: int = 1) -> StatementTotals:
        """The sum, or the difference."""
        pairs = ((one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return StatementTotals(**{name: None if a is None or b is None else a + sign * b for name, a, b in pairs})

    @property
    def weight(self) -> int:
        """By which the largest are kept."""
        return next((value for value in (self.time_ns, self.blocks_hit, self.calls) if value is not None), 0)


Read = Callable[[Queries], dict[str, StatementTotals]]


def _number(value: str | None) -> int:
    return round(float(value or 0))


def _add(found: dict[str, StatementTotals], statement: str, counts: StatementTotals) -> None:
    found[statement] = found[statement].plus(counts) if statement in found else counts


_OF_POSTGRES: Final = (
    "SELECT s.query, s.calls, {time} AS ms, s.rows, s.shared_blks_hit AS hit, s.shared_blks_read AS read"
    " FROM {view} s JOIN pg_catalog.pg_database d ON d.oid = s.dbid JOIN pg_catalog.pg_roles r ON r.oid = s.userid"
    " WHERE d.datname = pg_catalog.current_database() AND r.rolname = current_user AND s.calls > 0"
)
_OWN: Final = ("dsbench_look", "dsbench_locks", "pg_catalog.", "dsbench_plan", "SELECT CASE WHEN current_setting(")
"""What only our own questions have in them."""


def _find_postgres(queries: Queries, private: bool) -> Read | None:
    """Makes the view where a private server has loaded the library: in others nothing is left behind."""
    where = (
        "SELECT n.nspname AS place, e.extversion AS version FROM pg_catalog.pg_extension e"
        " JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'"
    )
    loaded = queries.fetch("SELECT pg_catalog.current_setting('shared_preload_libraries') AS libraries")
    if "pg_stat_statements" not in (loaded[0]["libraries"] or ""):
        return None
    found = queries.fetch(where)
    if not found and private:
        queries.fetch("CREATE EXTENSION pg_stat_statements SCHEMA public")
        found = queries.fetch(where)
    place = (found[0]["place"] or "").replace('"', '""')
    early = tuple(map(int, (found[0]["version"] or "1").split("."))) < (1, 8)
    query = _OF_POSTGRES.format(view=f'"{place}".pg_stat_statements', time="s.total_time" if early else
                                "s.total_exec_time")  # fmt: skip

    def read(asked: Queries) -> dict[str, StatementTotals]:
        known: dict[str, StatementTotals] = {}
        for row in asked.fetch(query):
            if not any(word in (row["query"] or "") for word in _OWN):
                counts = StatementTotals(
                    _number(row["calls"]), round(float(row["ms"] or 0) * 1e6), _number(row["rows"]),
                    _number(row["hit"]), _number(row["read"]),
                )  # fmt: skip
                _add(known, without_values(row["query"] or ""), counts)
        return known

    return read


_OF_MYSQL: Final = (
    "SELECT digest_text AS text, count_star AS calls, sum_timer_wait AS ps, sum_lock_time AS locked,"
    " sum_rows_sent + sum_rows_affected AS done FROM performance_schema.events_statements_summary_by_digest"
    " WHERE schema_name NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') AND digest_text IS NOT NULL"
)
_BRACKETED: Final = re.compile(r"(?<=[-+*/%,(=<>] )\( ?\? ?\)")
"""A value in brackets, as the client sends a negative one: with a plain one it would be another statement."""
_SHORTENED: Final = re.compile(r"(?:(?<=\() )?(?:\? ?, ?)*\.\.\.(?: ?, ?\?)*(?: (?=\)))?")
"""Values in a row, which MySQL shortens in two ways."""
_ON: Final = "SELECT @@performance_schema AS `on`"


def _find_mysql(queries: Queries, _private: bool) -> Read | None:
    if queries.fetch(_ON)[0]["on"] != "1":
        return None
    queries.fetch(_OF_MYSQL)

    def read(asked: Queries) -> dict[str, StatementTotals]:
        known: dict[str, StatementTotals] = {}
        for row in asked.fetch(_OF_MYSQL):
            text = _BRACKETED.sub("?", " ".join((row["text"] or "").replace("`", "").split()))
            if "information_schema" not in text and "performance_schema" not in text:
                counts = StatementTotals(
                    _number(row["calls"]), _number(row["ps"]) // 1000, _number(row["done"]),
                    lock_ns=_number(row["locked"]) // 1000,
                )  # fmt: skip
                _add(known, without_values(_SHORTENED.sub("?, …", text), mysql=True), counts)
        return known

    return read


_FIND: Final[Mapping[str, tuple[str, Callable[[Queries, bool], Read | None]]]] = {
    "postgres": ("pg_stat_statements", _find_postgres), "mysql": ("performance_schema", _find_mysql),
}  # fmt: skip


class StatementCounts:
    """A monitor whose readings are rows of a table of their own."""

    name = "server_statements"
    around = True

    def __init__(self, source: str, queries: Queries, read: Read) -> None:
        self.notes: list[str] = []
        self.source = source
        self._queries, self._read = queries, read
        self._readings: list[dict[str, StatementTotals]] = []

    @classmethod
    def of(cls, dialect: str, queries: Queries, *, private: bool = False) -> StatementCounts | None:
        """``None`` where the server does not count, or not for us. In a ``private`` server the view may be made."""
        source, find = _FIND.get(dialect, ("", None))
        read = None
        with suppress(Exception):  # No right, no such view: there are no counts then.
            read = find(queries, private) if find is not None else None
        if read is None:
            return None
        return cls(source, queries, read)

    def sample(self) -> list[Value]:
        """Reads. The last two readings of a cycle are around it."""
        self._readings = [*self._readings[-1:], self._read(self._queries)]
        return []

    def take(self) -> list[dict[str, Any]]:
        """The rows of ``server_statements`` without their key; what is read next is of another cycle."""
        readings, self._readings = self._readings, []
        if len(readings) < 2:
            return []
        before, after = readings
        gained = {text: one.plus(before[text], -1) if text in before else one for text, one in after.items()}
        moved = [(text, one) for text, one in gained.items() if any((one.calls, one.rows, one.blocks_hit))]
        moved.sort(key=lambda pair: -pair[1].weight)
        return [{"source": self.source, "statement": text, **vars(one)} for text, one in moved[:_MOST]]
