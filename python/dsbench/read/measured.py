"""The table ``cycles`` of an archive as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dsbench.archive import columns
from dsbench.dataclass import dataclass
from dsbench.read.groups import durations_ns, texts, whole
from dsbench.stats.equations import measured_s
from dsbench.stats.values import Floats, Ints

_COLUMNS: Final = columns.TABLES["cycles"]
_SUMS: Final = _COLUMNS.named("sum")
_MOST: Final = ("in_flight_max_ns", "client_p99_ns")
_LATEST: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Measured:
    """The rows of ``cycles`` of one scale, kinds added up; arrays have the shape (cycles, nodes, clients)."""

    cycles: Ints
    """Numbers of the cycles, rising."""
    duration_ns: Ints
    """Demanded duration of each cycle; shape (cycles,)."""
    nodes: tuple[str, ...]
    """All nodes of the run."""
    present: NDArray[np.bool_]
    """Shape (cycles, nodes): whether the node has a row in the cycle."""
    sums: Mapping[str, Ints]
    """Every column that is added up over kinds, by name."""
    first_start_ns: Ints
    """Of the first counted transaction; 0 where none was counted, as in ``last_end_ns``."""
    last_end_ns: Ints
    most: Mapping[str, Ints]
    """``in_flight_max_ns`` and ``client_p99_ns``, the greatest over kinds."""
    extremes_ns: tuple[int | None, int | None]
    """Least and greatest residence time; ``None`` when nothing was counted."""

    @classmethod
    def empty(cls) -> Measured:
        """A scale without a cycle."""
        none: Ints = np.zeros((0, 1, 1), dtype=np.int64)
        flat, present = none.reshape(0), np.zeros((0, 1), dtype=bool)
        sums, most = dict.fromkeys(_SUMS, none), dict.fromkeys(_MOST, none)
        return cls(flat, flat, ("",), present, sums, none, none, most, (None, None))

    def __getitem__(self, column: str) -> Ints:
        return self.sums[column]

    def total(self, *columns: str) -> int:
        """Sum of these columns over everything."""
        return sum(int(self.sums[column].sum()) for column in columns)

    @cached_property
    def duration_s(self) -> Floats:
        """D_i of each cycle; shape (cycles,)."""
        return self.duration_ns / 1e9

    @property
    def measured_s(self) -> float:
        return measured_s(self.cycles.size, self.duration_s)

    @cached_property
    def by_cycle(self) -> Ints:
        """Committed transactions of each cycle."""
        return np.asarray(self["committed"].sum(axis=(1, 2)), dtype=np.int64)

    @property
    def kept(self) -> int:
        """Transactions that the database holds, those before and after the measured time included."""
        return self.total("committed", "commits_before_window", "commits_after_window")

    @property
    def attempts(self) -> int:
        """Attempts that succeeded, on purpose rolled back ones included, or failed."""
        return self.total("committed", "rolled_back", "failed")


def measured(cycles: pa.Table, groups: pa.Table) -> dict[int, Measured]:
    """The table ``cycles`` by scale; its rows, and those of ``groups``, are of one stage."""
    nodes, node = np.unique(np.array(texts(cycles, "node"), dtype=object).astype(str), return_inverse=True)
    names = ("scale", "cycle", "client", *(column.name for column in _COLUMNS.columns if column.adds))
    found = {name: whole(cycles, name) for name in names} | {"node": node.astype(np.int64)}
    found["duration_ns"] = durations_ns(groups, cycles)
    return {
        int(x): _measured({name: values[found["scale"] == x] for name, values in found.items()}, nodes.tolist())
        for x in np.unique(found["scale"])
    }


def _measured(rows: dict[str, Ints], nodes: list[str]) -> Measured:
    numbers, first_row, cycle = np.unique(rows["cycle"], return_index=True, return_inverse=True)
    shape = (numbers.size, len(nodes), int(rows["client"].max()) + 1)
    at = (cycle, rows["node"], rows["client"])
    present = np.zeros(shape[:2], dtype=bool)
    present[cycle, rows["node"]] = True
    sums = {name: np.zeros(shape, dtype=np.int64) for name in _SUMS}
    for name, array in sums.items():
        np.add.at(array, at, rows[name])
    greatest = {name: np.zeros(shape, dtype=np.int64) for name in _MOST}
    for name, array in greatest.items():
        np.maximum.at(array, at, rows[name])
    # Kinds of which a client finished none say 0 for their times: no time, rather than time 0.
    some = rows["last_end_ns"] > 0
    here = tuple(place[some] for place in at)
    first, last = np.full(shape, _LATEST), np.zeros(shape, dtype=np.int64)
    np.minimum.at(first, here, rows["first_start_ns"][some])
    np.maximum.at(last, here, rows["last_end_ns"][some])
    least, most = (rows[name][some] for name in ("residence_min_ns", "residence_max_ns"))
    return Measured(
        numbers,
        rows["duration_ns"][first_row],
        tuple(nodes),
        present,
        sums,
        first_start_ns=np.where(last > 0, first, 0),
        last_end_ns=last,
        most=greatest,
        extremes_ns=(int(least.min()), int(most.max())) if some.any() else (None, None),
    )
