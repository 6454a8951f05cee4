"""Runs a query. It sees the views and nothing else: no file, no network, no variable of this program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pyarrow as pa

from dsbench.library.query.found import Found
from dsbench.library.query.views import names, view


class QueryError(Exception):
    """A query that cannot be answered; ``remedy`` says what to do, ``usage`` whether its words are wrong."""

    def __init__(self, problem: str, remedy: str, *, usage: bool = True) -> None:
        super().__init__(problem)
        self.remedy = remedy
        self.usage = usage


@dataclass(frozen=True)
class Answer:
    """The rows that a query gives."""

    heads: list[str]
    """Names of the columns; of several with one name the second is called ``name_1``, the third ``name_2``."""
    rows: list[list[Any]]


def ask(found: Found, sql: str) -> Answer:
    """The rows that ``sql`` gives. ``QueryError`` has DuckDB's words where it refuses."""
    duckdb = _duckdb()
    with duckdb.connect(":memory:") as connection:
        for name in _needed(sql):
            connection.register(name, view(name, found))
        for setting in (
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        try:
            result = connection.sql(sql)
            return Answer([], []) if result is None else _answer(result.to_arrow_table())
        except duckdb.Error as error:
            problem = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise QueryError(problem, "dsbench query FOLDER shows the views with their columns") from None


def _answer(table: pa.Table) -> Answer:
    heads: list[str] = []
    for name in table.column_names:
        count = 0
        while (head := f"{name}_{count}" if count else name) in heads or (count and head in table.column_names):
            count += 1
        heads.append(head)
    columns = [_values(head, column) for head, column in zip(heads, table.columns, strict=True)]
    return Answer(heads, [list(row) for row in zip(*columns, strict=True)])


def _values(head: str, column: pa.ChunkedArray[Any]) -> list[Any]:
    try:
        return column.to_pylist()
    except (OverflowError, ValueError, pa.ArrowException) as error:
        words = f"the column {head} has values of {column.type} that cannot be shown: {error}"
        raise QueryError(words, "ask for them as text: CAST(… AS VARCHAR)") from None


def described(found: Found) -> dict[str, list[str]]:
    """Name of each view to the names of its columns."""
    return {name: list(view(name, found).column_names) for name in names()}


def _needed(sql: str) -> list[str]:
    """The views that a query may name: those that it does not are not read. All, where it asks what there is."""
    words = {word.lower() for word in re.findall(r"\w+", sql)}
    listing = words & {"show", "tables", "information_schema", "describe", "summarize"}
    return [name for name in names() if name in words or listing]


def _duckdb() -> Any:
    try:
        return import_module("duckdb")
    except ImportError as error:
        remedy = "pip install 'dsbench-db[query]', or read the tables by dsbench.open(…).table(…)"
        raise QueryError(f"DuckDB is not here ({error})", remedy, usage=False) from None
