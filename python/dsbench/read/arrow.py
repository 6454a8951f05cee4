"""Rows of Arrow tables as arrays and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.stats.values import Ints


def whole(table: pa.Table, name: str) -> Ints:
    """A column of whole numbers; 0 where an older version of dsbench wrote none."""
    column: Any = table[name]
    return np.asarray((column.fill_null(0) if column.null_count else column).to_numpy().astype(np.int64))


def texts(table: pa.Table, name: str) -> list[str]:
    """A column of text."""
    return [str(value) for value in table[name].to_pylist()]


def of_cycles(table: pa.Table, cycles: pa.Table) -> pa.Table:
    """The rows of ``table`` whose cycle has a row in ``cycles``."""
    known = np.unique(_cycle_code(cycles))
    return table.filter(pa.array(np.isin(_cycle_code(table), known), pa.bool_()))


def _cycle_code(table: pa.Table) -> Ints:
    return (whole(table, "scale") << 32) + whole(table, "cycle")


def with_all_responses(buckets: pa.Table) -> pa.Table:
    """The table ``buckets`` where groups of an open loop work beside closed ones: with the residence times of these as
    their response times, which they are. Without an open loop, the table as it is."""
    keys = ["scale", "stage", "cycle", "node", "group", "kind"]
    open_loop = buckets.filter(pc.field("measure") == "response")
    if not open_loop.num_rows:
        return buckets
    told = open_loop.select(keys).combine_chunks()
    known = {tuple(row.values()) for row in told.group_by(keys).aggregate([]).to_pylist()}
    closed = buckets.filter(pc.field("measure") == "residence")
    lacking = [tuple(row.values()) not in known for row in closed.select(keys).to_pylist()]
    added = closed.filter(pa.array(lacking, pa.bool_()))
    at = added.column_names.index("measure")
    field = added.schema.field("measure")
    return pa.concat_tables([buckets, added.set_column(at, field, pa.array(["response"] * added.num_rows, field.type))])


def of_each(table: pa.Table, values: Mapping[tuple[int, int], int]) -> Ints:
    """For each row of ``table`` the value of its (scale, cycle), which has to be one of ``values``."""
    known = np.array([(scale << 32) + cycle for scale, cycle in values], dtype=np.int64)
    found = np.array(list(values.values()), dtype=np.int64)
    order = np.argsort(known)
    return np.asarray(found[order[np.searchsorted(known, _cycle_code(table), sorter=order)]], dtype=np.int64)


def with_class(errors: pa.Table) -> pa.Table:
    """The table ``errors`` with one more column, ``class``: dsbench's word and the engine's code."""
    pairs = zip(*(texts(errors, name) for name in ("error", "code")), strict=True)
    return errors.append_column("class", pa.array([f"{error} {code}".strip() for error, code in pairs], pa.string()))


def counts_by(table: pa.Table, name: str, count: str) -> dict[int, dict[str, int]]:
    """Scale to the values of the text column ``name`` to the sum of the column ``count``."""
    result: dict[int, dict[str, int]] = {}
    sums = (
        table.group_by(["scale", name])
        .aggregate([(count, "sum")])
        .sort_by([("scale", "ascending"), (name, "ascending")])
    )
    for row in sums.to_pylist():
        result.setdefault(row["scale"], {})[row[name]] = row[f"{count}_sum"]
    return result


def grouped(table: pa.Table, keys: tuple[str, ...]) -> tuple[list[tuple[Any, ...]], Ints]:
    """The distinct values of ``keys``, and for each row the number of the one that it has."""
    code: Ints = np.zeros(table.num_rows, dtype=np.int64)
    for key in keys:
        values = pc.unique(table[key])
        code = code * max(len(values), 1) + pc.index_in(table[key], values).to_numpy().astype(np.int64)
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    distinct = table.select(list(keys)).take(first)
    return list(zip(*(distinct[key].to_pylist() for key in keys), strict=True)), number.astype(np.int64)


def summed(table: pa.Table, keys: Sequence[str], name: str, how: str = "sum", *more: str) -> list[dict[str, Any]]:
    """Rows of ``keys`` with ``name`` and ``more`` aggregated; 0 is the sum where no value is told."""
    texts = plain(table.select([*keys, name, *more]))
    wanted: list[Any] = [(one, how) for one in (name, *more)]
    rows: list[dict[str, Any]] = texts.group_by(list(keys)).aggregate(wanted).to_pylist()
    return [{key: 0 if value is None and key.endswith("_sum") else value for key, value in row.items()} for row in rows]


def plain(table: pa.Table) -> pa.Table:
    """With texts in place of dictionaries of them, which not all functions of Arrow take."""
    fields = [pa.field(one.name, pa.string() if pa.types.is_dictionary(one.type) else one.type) for one in table.schema]
    return table.cast(pa.schema(fields))
