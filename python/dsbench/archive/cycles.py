"""The cycles of an archive as few numbers each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dsbench.stats.cycles import CycleFigures, KindOutcomes
from dsbench.stats.histogram import Histogram, histogram

_Cycle = tuple[int, int]
"""Scale and number."""
_COUNTED: Final = tuple(one.name for one in fields(KindOutcomes))


def read_cycles(tables: Mapping[str, pa.Table], measure: str = "response") -> list[CycleFigures]:
    """The finished cycles of an archive by scale and number, from its tables ``cycles``, ``groups`` and ``buckets``.

    ``measure`` are the times that they have: in the closed loop, where no response times are, ``residence``.
    """
    groups: dict[_Cycle, list[dict[str, Any]]] = defaultdict(list)
    for row in tables["groups"].to_pylist():
        groups[row["scale"], row["cycle"]].append(row)
    kinds, times = _count(tables["cycles"]), _read_times(tables["buckets"], measure)
    return [_figures(groups[key], kinds[key], times.get(key, {})) for key in sorted(groups) if key in kinds]


def _figures(
    groups: Sequence[Mapping[str, Any]], kinds: Mapping[str, KindOutcomes], times: Mapping[str, Histogram]
) -> CycleFigures:
    first = groups[0]
    return CycleFigures(
        first["scale"], first["stage"], first["clients"], first["cycle"],
        duration_ns=max(row["duration_ns"] or 0 for row in groups),
        ramp_up_ns=first["ramp_up_ns"] or 0,
        kinds=kinds,
        response=times,
        rate_per_s=next((row["rate_per_s"] for row in groups if row["rate_per_s"]), None),
        level=first["level"],
        paused_ns=first["paused_ns"] or 0,
        share=max((row["until_count"] or 0 for row in groups if row["until_of"] == "share"), default=0),
    )  # fmt: skip


def _count(cycles: pa.Table) -> dict[_Cycle, dict[str, KindOutcomes]]:
    sums = cycles.group_by(["scale", "cycle", "kind"]).aggregate([(name, "sum") for name in _COUNTED])
    found: dict[_Cycle, dict[str, KindOutcomes]] = defaultdict(dict)
    for row in sums.to_pylist():
        found[row["scale"], row["cycle"]][row["kind"]] = KindOutcomes(*(row[f"{name}_sum"] or 0 for name in _COUNTED))
    return dict(found)


def _read_times(buckets: pa.Table, measure: str) -> dict[_Cycle, dict[str, Histogram]]:
    import pyarrow.compute as pc  # Late: a run that is not resumed needs none of it.

    rows = buckets.filter(pc.field("measure") == measure)
    rows = rows.group_by(["scale", "cycle", "kind", "low_ns", "high_ns"]).aggregate([("count", "sum")])
    parts: dict[tuple[int, int, str], list[tuple[int, int, int]]] = defaultdict(list)
    for row in rows.to_pylist():
        for kind in (row["kind"], ""):
            parts[row["scale"], row["cycle"], kind].append((row["low_ns"], row["high_ns"], row["count_sum"]))
    found: dict[_Cycle, dict[str, Histogram]] = defaultdict(dict)
    for (scale, cycle, kind), of in parts.items():
        low, high, count = (np.array(column, dtype=np.int64) for column in zip(*of, strict=True))
        found[scale, cycle][kind] = histogram(low, high, count)
    return dict(found)
