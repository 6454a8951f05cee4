"""An archive's rows, added up as the rules need them, and how rules speak of where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow.compute as pc

from dsbench.archive import Archive
from dsbench.read.rows import RunRows
from dsbench.stats.values import Ints

Key = tuple[Any, ...]
CYCLE: Final = ("scale", "stage", "cycle")
KIND: Final = (*CYCLE, "node", "clients", "group", "kind")
LATE_NS: Final = 1_000_000
"""What a clock that is read twice may be off, in nanoseconds."""
ENOUGH: Final = 100
"""Transactions from which on their number says something."""
MOST: Final = 2**53
"""Nobody counts so far, and doubles count no further."""


class Rows:
    """An archive's rows, added up as the rules need them."""

    def __init__(self, archive: Archive, rows: RunRows) -> None:
        """``rows``: those of ``archive``."""
        self.archive, self.run, self.tables = archive, archive.run, rows.tables

    def add_up(self, table: str, keys: tuple[str, ...], *columns: str, of: Any = None) -> dict[Key, tuple[int, ...]]:
        """The sums of whole columns of ``table`` by ``keys``; ``of`` chooses its rows."""
        rows = self.tables[table] if of is None else self.tables[table].filter(of)
        if not rows.num_rows:
            return {}
        summed = rows.group_by(list(keys)).aggregate([(column, "sum") for column in columns])
        values = zip(*(summed[f"{column}_sum"].to_pylist() for column in columns), strict=True)
        names = zip(*(summed[key].to_pylist() for key in keys), strict=True)
        return dict(zip(names, values, strict=True))

    def lists(self, table: str, keys: tuple[str, ...], *columns: str) -> Iterator[tuple[Key, tuple[Ints, ...]]]:
        """The values of ``columns`` of ``table`` by ``keys``, in the order of its rows."""
        rows = self.tables[table]
        if not rows.num_rows:
            return
        found = rows.group_by(list(keys), use_threads=False).aggregate([(column, "list") for column in columns])
        names = zip(*(found[key].to_pylist() for key in keys), strict=True)
        for at, name in enumerate(names):
            yield name, tuple(np.asarray(found[f"{column}_list"][at].values).astype(np.int64) for column in columns)

    @cached_property
    def ended(self) -> dict[Key, tuple[int, ...]]:
        """By kind: committed, rolled back, the sum of their times, failed attempts."""
        return self.add_up("cycles", KIND, "committed", "rolled_back", "residence_ns", "failed")

    @cached_property
    def durations(self) -> dict[Key, int]:
        """By cycle and group, in nanoseconds."""
        groups = self.tables["groups"]
        keys = zip(*(groups[key].to_pylist() for key in (*CYCLE, "group")), strict=True)
        return dict(zip(keys, groups["duration_ns"].to_pylist(), strict=True))

    @cached_property
    def longest(self) -> dict[Key, int]:
        """By cycle, the duration of its longest group in nanoseconds."""
        longest: dict[Key, int] = {}
        for key, duration in self.durations.items():
            longest[key[:3]] = max(longest.get(key[:3], 0), duration)
        return longest

    @cached_property
    def whole(self) -> dict[Key, int]:
        """By cycle, what ended."""
        found: dict[Key, int] = {}
        for key, values in self.ended.items():
            found[key[:3]] = found.get(key[:3], 0) + values[0] + values[1]
        return found

    @cached_property
    def decided(self) -> bool:
        """Whether the run decided itself how many cycles there are, and how long."""
        spec = self.run.spec
        return spec.precision is not None or spec.peak or spec.min_duration is not None or spec.searches

    @cached_property
    def begun(self) -> dict[Key, int]:
        """By cycle and group, when its measured time began, in nanoseconds since the start of the cycle: with the first
        transaction where no time was demanded, else 0."""
        groups = self.tables["groups"].filter(pc.field("until") != "time")
        demanded = set(zip(*(groups[key].to_pylist() for key in (*CYCLE, "group")), strict=True))
        some = self.tables["cycles"].filter(pc.field("last_end_ns") > 0)
        first = some.group_by([*CYCLE, "group"]).aggregate([("first_start_ns", "min")])
        keys = zip(*(first[key].to_pylist() for key in (*CYCLE, "group")), strict=True)
        starts: list[int] = [at or 0 for at in first["first_start_ns_min"].to_pylist()]
        return {key: at for key, at in zip(keys, starts, strict=True) if key in demanded}

    @cached_property
    def ramps(self) -> dict[Key, int]:
        """By cycle, nanoseconds of the load before it that was asked for."""
        found: dict[Key, int] = {}
        for row in self.tables["groups"].to_pylist():
            key = (row["scale"], row["stage"], row["cycle"])
            found[key] = max(found.get(key, 0), row["ramp_up_ns"] or 0)
        return found

    def ramp_share(self, cycle: Key) -> float:
        """How long the load before ``cycle`` was, by the length of that."""
        return self.ramps.get(cycle, 0) / max(self.longest.get(cycle, 0), 1)

    @cached_property
    def finished(self) -> frozenset[Key]:
        return frozenset(key[:3] for key in self.ended)


def segment_of(run: Rows, scale: int, cycle: int) -> int:
    """The number of the population that a cycle had, among those of the run: one that was resumed has another one."""
    found = [number for number, one in enumerate(run.run.segments) if one.scale == scale and one.first_cycle <= cycle]
    return max(found, default=-1)


def where(key: Key) -> str:
    """Scale, stage and cycle in words."""
    stage = "" if key[1] == "load" else f", stage {key[1]}"
    return f"scale {key[0]}{stage}, cycle {key[2]}"


def extremes_of(run: Rows) -> dict[Key, tuple[int, int]]:
    """By kind its least and its greatest time."""
    some = run.tables["cycles"].filter(pc.field("last_end_ns") > 0)
    if not some.num_rows:
        return {}
    found = some.group_by(list(KIND)).aggregate([("residence_min_ns", "min"), ("residence_max_ns", "max")])
    return {
        tuple(row[key] for key in KIND): (row["residence_min_ns_min"], row["residence_max_ns_max"])
        for row in found.to_pylist()
    }


def size_of(words: str) -> float:
    """A size such as 23.54 GiB or 16MB in bytes, in powers of 1024, or a plain number; 0 for other words."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kKMGT])?i?B?)?", words)
    return float(found[1]) * 1024 ** (" KMGT".index(found[2].upper()) if found[2] else 0) if found else 0.0


def plain(value: Any) -> str:
    """A setting in one spelling: on and off."""
    text = str(value).strip().lower()
    return {"true": "on", "false": "off", "yes": "on", "no": "off", "1": "on", "0": "off"}.get(text, text)
