"""Who made the load of each cycle, and how long: the table ``groups``, and what older archives say in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from dsbench.archive import TABLES, Asked
from dsbench.archive.columns import ONLY_GROUP, ONLY_STAGE
from dsbench.read.arrow import of_cycles, of_each, whole
from dsbench.read.stats.values import Ints

_CYCLE = ["scale", "stage", "cycle"]


class Series(NamedTuple):
    """Cycles that repeat each other: of one stage with one number of threads, at every scale."""

    stage: str
    threads: int
    """Of each node."""


def with_threads(cycles: pa.Table, asked: Asked) -> pa.Table:
    """The table ``cycles``; rows of archives that did not tell the number of threads have the only one there was."""
    told: Any = cycles["threads"]
    at = cycles.column_names.index("threads")
    return cycles.set_column(at, TABLES["cycles"].field("threads"), told.fill_null(asked.thread_numbers[-1]))


def groups_of(groups: pa.Table, cycles: pa.Table, asked: Asked) -> pa.Table:
    """The table ``groups`` with a row for each of ``cycles``, also for those of older archives.

    These had one group of clients in every cycle, as ``asked`` says of all of them.
    """
    known = {tuple(row.values()) for row in groups.select(_CYCLE).to_pylist()}
    found = _distinct(cycles, [*_CYCLE, "threads"])
    rows = [_asked(row, asked) for row in found if tuple(row[name] for name in _CYCLE) not in known]
    return pa.concat_tables([groups, pa.Table.from_pylist(rows, schema=TABLES["groups"])]).unify_dictionaries()


def series_of(cycles: pa.Table, asked: Asked) -> tuple[Series, ...]:
    """The series of a run in the order in which it has them, those included of which no cycle was finished.

    A search for a peak tries numbers of threads as it needs them: there they rise within a stage.
    """
    found = {Series(row["stage"], row["threads"]): row["cycle_min"] for row in _distinct(cycles, ["stage", "threads"])}
    planned = [Series(ONLY_STAGE, threads) for threads in asked.thread_numbers]
    # What a run of several stages had planned beyond its cycles is nothing that can be shown,
    # nor which numbers of threads the search for a peak would have come to.
    begun = planned if {key.stage for key in found} <= {ONLY_STAGE} and not asked.peak else []
    order = sorted(found, key=lambda key: found[key])
    if asked.peak:
        stages = list(dict.fromkeys(key.stage for key in order))
        order.sort(key=lambda key: (stages.index(key.stage), key.threads))
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
    """Sessions with the server in the cycle with the most of them: terminals share those of the threads that serve
    them."""


def makers_of(groups: pa.Table, cycles: pa.Table, nodes: int = 1) -> Makers:
    """Those of ``cycles``, which were made on so many ``nodes``, 1 for load of one machine."""
    rows = of_cycles(groups, cycles).to_pylist()
    return Makers(
        pacings=frozenset(str(row["pacing"]) for row in rows),
        timed=any(row["until"] == "time" for row in rows),
        sized=any(row["until_of"] == "share" for row in rows),
        clients=_most(rows, lambda row: int(row["clients"])),
        connections=_most(rows, lambda row: min(row["clients"], row["threads"] * nodes) * row["connections"]),
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
    rows: list[dict[str, Any]] = plain.group_by(names).aggregate([("cycle", "min")]).to_pylist()
    return rows


def _asked(row: dict[str, Any], asked: Asked) -> dict[str, Any]:
    pacing = asked.pace if asked.pace != "none" else asked.arrival if asked.rate is not None else "closed"
    return {
        **row,
        "group": ONLY_GROUP,
        "connections": asked.connections,
        "clients": row["threads"] * max(asked.nodes, 1),
        "pacing": pacing,
        "rate_per_s": asked.rate,
        "until": "time",
        "until_of": "",
        "duration_ns": round(asked.duration * 1e9),
        "ramp_up_ns": round(asked.ramp_up * 1e9),
        "placement": "free",
    }
