"""Rows of an archive as arrays: what ``evaluation`` computes with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dsbench.analysis.values import Ints

_SUMS: Final = (
    "committed",
    "rolled_back",
    "failed",
    "unknown",
    "late_commits",
    "early_commits",
    "missed",
    "remote",
    "residence_ns",
    "failed_ns",
)
_LATEST: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Load:
    """The rows of ``cycles`` of one scale, kinds added up; arrays have the shape (cycles, nodes, threads)."""

    cycles: Ints
    """Numbers of the cycles, rising."""
    nodes: tuple[str, ...]
    """All nodes of the run."""
    present: NDArray[np.bool_]
    """Shape (cycles, nodes): whether the node has a row in the cycle."""
    committed: Ints
    rolled_back: Ints
    failed: Ints
    unknown: Ints
    late_commits: Ints
    early_commits: Ints
    missed: Ints
    remote: Ints
    residence_ns: Ints
    failed_ns: Ints
    first_start_ns: Ints
    """Of the first counted transaction; 0 where none was counted, as in ``last_end_ns``."""
    last_end_ns: Ints
    extremes_ns: tuple[int | None, int | None]
    """Least and greatest residence time; ``None`` when nothing was counted."""

    @classmethod
    def empty(cls) -> Load:
        """A scale without a cycle."""
        none: Ints = np.zeros((0, 1, 1), dtype=np.int64)
        arrays = dict.fromkeys((*_SUMS, "first_start_ns", "last_end_ns"), none)
        return cls(none.reshape(0), ("",), np.zeros((0, 1), dtype=bool), extremes_ns=(None, None), **arrays)

    @cached_property
    def by_cycle(self) -> Ints:
        """Committed transactions of each cycle."""
        return np.asarray(self.committed.sum(axis=(1, 2)), dtype=np.int64)

    @property
    def kept(self) -> int:
        """Transactions that the database holds, those before and after the measured time included."""
        return int((self.committed + self.early_commits + self.late_commits).sum())

    @property
    def attempts(self) -> int:
        """Attempts that succeeded, on purpose rolled back ones included, or failed."""
        return int(self.committed.sum() + self.rolled_back.sum() + self.failed.sum())


def loads(cycles: pa.Table) -> dict[int, Load]:
    """The table ``cycles`` by scale."""
    nodes, node = np.unique(np.array(texts(cycles, "node"), dtype=object).astype(str), return_inverse=True)
    names = (
        "scale",
        "cycle",
        "thread",
        *_SUMS,
        "residence_min_ns",
        "residence_max_ns",
        "first_start_ns",
        "last_end_ns",
    )
    columns = {name: whole(cycles, name) for name in names} | {"node": node.astype(np.int64)}
    return {
        int(scale): _load({name: values[columns["scale"] == scale] for name, values in columns.items()}, nodes.tolist())
        for scale in np.unique(columns["scale"])
    }


def _load(rows: dict[str, Ints], nodes: list[str]) -> Load:
    numbers, cycle = np.unique(rows["cycle"], return_inverse=True)
    shape = (numbers.size, len(nodes), int(rows["thread"].max()) + 1)
    at = (cycle, rows["node"], rows["thread"])
    present = np.zeros(shape[:2], dtype=bool)
    present[cycle, rows["node"]] = True
    sums = {name: np.zeros(shape, dtype=np.int64) for name in _SUMS}
    for name, array in sums.items():
        np.add.at(array, at, rows[name])
    # Kinds of which a thread finished none say 0 for their times: no time, rather than time 0.
    some = rows["last_end_ns"] > 0
    here = tuple(place[some] for place in at)
    first, last = np.full(shape, _LATEST), np.zeros(shape, dtype=np.int64)
    np.minimum.at(first, here, rows["first_start_ns"][some])
    np.maximum.at(last, here, rows["last_end_ns"][some])
    extremes = (
        (int(rows["residence_min_ns"][some].min()), int(rows["residence_max_ns"][some].max()))
        if some.any()
        else (None, None)
    )
    return Load(
        numbers,
        tuple(nodes),
        present,
        first_start_ns=np.where(last > 0, first, 0),
        last_end_ns=last,
        extremes_ns=extremes,
        **sums,
    )


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
    """The distinct values of ``keys``, and for each row the number of its own."""
    code: Ints = np.zeros(table.num_rows, dtype=np.int64)
    for key in keys:
        values = pc.unique(table[key])
        code = code * max(len(values), 1) + pc.index_in(table[key], values).to_numpy().astype(np.int64)
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    distinct = table.select(list(keys)).take(first)
    return list(zip(*(distinct[key].to_pylist() for key in keys), strict=True)), number.astype(np.int64)
