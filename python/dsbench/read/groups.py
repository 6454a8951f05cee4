"""Who made the load of each cycle, and how long: the table ``groups``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import Asked
from dsbench.archive.columns import ONLY_STAGE
from dsbench.dataclass import dataclass
from dsbench.stats.values import Ints


def whole(table: pa.Table, name: str) -> Ints:
    """A column of whole numbers; 0 where a row has none."""
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


class Series(NamedTuple):
    """Cycles that repeat each other: of one stage with one number of clients, at every scale."""

    stage: str
    clients: int
    """Of each node."""


def series_of(cycles: pa.Table, asked: Asked) -> tuple[Series, ...]:
    """The series of a run in the order in which it has them, those included of which no cycle was finished.

    A search for a peak tries numbers of clients as it needs them: there they rise within a stage.
    """
    found = {Series(row["stage"], row["clients"]): row["cycle_min"] for row in _distinct(cycles, ["stage", "clients"])}
    planned = [Series(ONLY_STAGE, clients) for clients in asked.client_numbers]
    # What a run of several stages had planned beyond its cycles is nothing that can be shown,
    # nor which numbers of clients the search for a peak would have come to.
    begun = planned if {key.stage for key in found} <= {ONLY_STAGE} and not asked.peak else []
    order = sorted(found, key=lambda key: found[key])
    if asked.peak:
        stages = list(dict.fromkeys(key.stage for key in order))
        order.sort(key=lambda key: (stages.index(key.stage), key.clients))
    return tuple(dict.fromkeys([*begun, *order]))


def durations_ns(groups: pa.Table, table: pa.Table) -> Ints:
    """For each row of ``table`` the duration of its cycle: that of its longest group. Both are of one stage."""
    return _longest(groups, table, "duration_ns")


def ramp_ups_ns(groups: pa.Table, table: pa.Table) -> Ints:
    """For each row of ``table`` how long there was load before its cycle. Both are of one stage."""
    return _longest(groups, table, "ramp_up_ns")


def _longest(groups: pa.Table, table: pa.Table, name: str) -> Ints:
    longest: dict[tuple[int, int], int] = {}
    for row in groups.select(["scale", "cycle", name]).to_pylist():
        key = (row["scale"], row["cycle"])
        longest[key] = max(longest.get(key, 0), row[name] or 0)
    return of_each(table, longest)


@dataclass(frozen=True)
class Makers:
    """Who made the load of some cycles: all groups of clients, on all nodes together."""

    pacings: frozenset[str]
    """"closed", "constant", "poisson", "terminals"."""
    timed: bool
    """Whether a duration ended some group, and not only what its clients had done."""
    sized: bool
    """Whether clients have an even share of a number of transactions, which was to last as long as ``--duration``."""
    clients: int
    """In the cycle with the most of them; 0 without a cycle."""
    connections: int
    """Sessions with the server in the cycle with the most of them: terminals share those of the clients that serve
    them."""


def makers_of(groups: pa.Table, cycles: pa.Table, nodes: int = 1) -> Makers:
    """Those of ``cycles``, which were made on so many ``nodes``, 1 for load of one machine."""
    rows = of_cycles(groups, cycles).to_pylist()
    return Makers(
        pacings=frozenset(str(row["pacing"]) for row in rows),
        timed=any(row["until"] == "time" for row in rows),
        sized=any(row["until_of"] == "share" for row in rows),
        clients=_most(rows, lambda row: int(row["all_clients"])),
        connections=_most(rows, lambda row: min(row["all_clients"], row["clients"] * nodes) * row["connections"]),
    )


def _most(rows: list[dict[str, Any]], count: Callable[[dict[str, Any]], int]) -> int:
    found: Counter[tuple[int, int]] = Counter()
    for row in rows:
        found[row["scale"], row["cycle"]] += count(row)
    return max(found.values(), default=0)


def placement_of(groups: pa.Table, cycles: pa.Table) -> str:
    """Where the clients of ``cycles`` ran, in words, with their moves per cycle where they followed their server."""
    rows = of_cycles(groups, cycles).to_pylist()
    words = "; ".join(dict.fromkeys(row["placement"] for row in rows if row["placement"]))
    numbers = {(row["scale"], row["cycle"]) for row in rows}
    moves = int(whole(cycles, "moves").sum())
    return f"{words}, {moves / len(numbers):.3g} moves per cycle" if "follow" in words else words


def _distinct(cycles: pa.Table, names: list[str]) -> list[dict[str, Any]]:
    """Distinct values of ``names``, with the least number of a cycle as ``cycle_min``."""
    at = cycles.column_names.index("stage")
    plain = cycles.set_column(at, "stage", cycles["stage"].cast(pa.string()))
    rows: list[dict[str, Any]] = plain.group_by(names, use_threads=False).aggregate([("cycle", "min")]).to_pylist()
    return rows
