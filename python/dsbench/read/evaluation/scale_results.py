"""The columns of table 1 of the paper."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from dsbench.read.evaluation.measured import Measured
from dsbench.read.stats import equations as eq
from dsbench.read.stats.values import Frequency, ScaleResult


@dataclass(frozen=True)
class Phases:
    """What was timed around the cycles of one scale, in s, and its size."""

    size_gb: float
    populate_s: float
    primary_key_s: float
    foreign_key_s: float
    clean_s: float
    drop_s: float
    grown: bool = False
    """Whether its rows were added to the database of the scale before: ``populate_s`` is that of these rows alone."""


_NOTHING: Final = Phases(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)


def result(
    scale: int,
    load: Measured | None,
    phases: Phases | None,
    frequency: Frequency | None,
    levels: tuple[float, ...],
) -> ScaleResult:
    """The columns of one scale; nan where nothing was measured."""
    part = load or Measured.empty()
    around = phases or _NOTHING
    spread = eq.spread(eq.cycle_rate_tps(part["committed"], part.duration_s))
    multiplier = eq.rate_multiplier(part["residence_ns"], part.duration_s)
    rates_at = {
        level: eq.level_rate_tps(multiplier, frequency.quantiles_ns[level]) if frequency else np.nan for level in levels
    }
    effective_s = eq.effective_duration_s(part.first_start_ns, part.last_end_ns)
    return ScaleResult(
        scale=scale,
        database_size_gb=around.size_gb,
        rate_median_tps=spread.median,
        rate_mean_tps=eq.total_rate_tps(part["committed"], part.duration_s),
        rate_stddev_tps=spread.stddev,
        rate_min_tps=spread.minimum,
        rate_max_tps=spread.maximum,
        transactions=eq.transactions(part["committed"]),
        failed=part.total("failed"),
        residence_total_s=eq.residence_total_s(part["residence_ns"]) if load else np.nan,
        effective_duration_s=effective_s if load else np.nan,
        rate_multiplier=multiplier,
        rates_at=rates_at,
        populate_s=around.populate_s,
        primary_key_s=around.primary_key_s,
        foreign_key_s=around.foreign_key_s,
        cleanup_s=around.clean_s,
        drop_s=around.drop_s,
    )


_MAKING: Final = ("populate", "primary_key", "foreign_key", "reuse")
"""Phases after which a database has its rows."""


def phases_of(table: pa.Table, stage: str, finished: Set[tuple[int, int]]) -> dict[int, Phases]:
    """What was timed, by scale. A scale that was populated again (resumed) shows the mean of its populations.

    Of the cleanings only those count that a cycle of ``finished``, as (scale, cycle) of ``stage``, followed: the
    last of each. Where the population made no rows, as with inserts into empty tables, the size is that after the last
    stage that tells one.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    cleaned = {(row["scale"], row["cycle"]): row for row in rows if row["phase"] == "clean" and row["stage"] == stage}
    rows = [row for row in rows if row["phase"] != "clean"]
    rows += [row for cycle, row in cleaned.items() if cycle in finished]
    result = {}
    for scale in sorted({row["scale"] for row in rows}):
        of_scale = [row for row in rows if row["scale"] == scale]
        took = {
            name: [row["duration_ns"] / 1e9 for row in of_scale if row["phase"] == name]
            for name in ("populate", "reset", "primary_key", "foreign_key", "clean", "drop")
        }
        populated = any(row["rows"] for row in of_scale if row["phase"] == "populate")
        sizes = [
            row["size_bytes"] for row in of_scale if row["size_bytes"] and (row["phase"] in _MAKING or not populated)
        ]
        mean = {name: float(np.mean(values)) if values else np.nan for name, values in took.items()}
        result[scale] = Phases(
            size_gb=sizes[-1] / 1e9 if sizes else np.nan,
            populate_s=mean["populate"] + (sum(took["reset"]) / len(took["populate"]) if took["populate"] else 0),
            primary_key_s=mean["primary_key"],
            foreign_key_s=mean["foreign_key"],
            clean_s=float(np.sum(took["clean"])) if took["clean"] else np.nan,
            drop_s=mean["drop"],
            grown=bool(took["reset"]),
        )
    return result
