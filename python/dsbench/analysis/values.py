"""The values that an evaluation consists of. Symbols of the paper, section 2.6, stand beside the names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ResultColumn:
    """What one of the 23 columns says."""

    label: str
    """For people; its unit stands beside it."""
    unit: str
    """Empty where there is none."""
    sentence: str
    equation: str
    """Of the paper; empty where it needs none."""


def _column(label: str, unit: str, sentence: str, equation: str = "") -> Any:
    return field(metadata={"column": ResultColumn(label, unit, sentence, equation)})


def _at_level(number: int, more: str = "") -> Any:
    return _column(f"rate at level {number}", "tps", "f / quantile of the residence times at that level" + more, "10")


@dataclass(frozen=True)
class ScaleResult:
    """One row of table 1 of the paper: the fields are its 23 columns, in order, with units in the names.

    Empty columns (a scale that was cut short) have ``nan`` where nothing was measured.
    """

    scale: int = _column("scale", "", "X_s")
    database_size_gb: float = _column("database size", "GB", "after population and keys, in 10^9 bytes")
    rate_median_tps: float = _column(
        "rate median", "tps", "median over the cycles of T_i: the official rate of the scale", "7"
    )
    rate_mean_tps: float = _column("rate mean", "tps", "T", "8")
    rate_stddev_tps: float = _column("rate stddev", "tps", "sample standard deviation (n - 1) of T_i, from 2 cycles on")
    rate_min_tps: float = _column("rate min", "tps", "least T_i")
    rate_max_tps: float = _column("rate max", "tps", "greatest T_i")
    transactions: int = _column("transactions", "", "M", "5")
    failed: int = _column("failed attempts", "", "sum of E_inj, attempts that were retried included")
    residence_total_s: float = _column("residence time, total", "s", "sum of R_inj", "1")
    effective_duration_s: float = _column(
        "effective duration", "s", "sum over the cycles of first start to last counted end, over all nodes and threads"
    )
    rate_multiplier: float = _column("multiplier f", "", "f: transactions under way at once, on average", "11")
    rate_p50_tps: float = _at_level(1, "; the name is that of the usual level")
    rate_p68_tps: float = _at_level(2)
    rate_p87_tps: float = _at_level(3)
    rate_p95_tps: float = _at_level(4)
    rate_p99_tps: float = _at_level(5)
    rate_p99_7_tps: float = _at_level(6)
    populate_s: float = _column("populate", "s", "filling the tables; the mean where the scale was populated again")
    primary_key_s: float = _column("primary key", "s", "adding the primary keys, as above")
    foreign_key_s: float = _column("foreign key", "s", "adding the foreign keys, as above")
    cleanup_s: float = _column("cleanup", "s", "sum over the cleanings before the cycles")
    drop_s: float = _column("drop", "s", "dropping the database, as above")


RESULT_COLUMNS: Mapping[str, ResultColumn] = {one.name: one.metadata["column"] for one in fields(ScaleResult)}
"""Name of each of the 23 columns, in order, to what it says."""

COLUMNS: tuple[str, ...] = tuple(RESULT_COLUMNS)
"""Names of the 23 columns."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at ``level`` (0-1)."""

    value: float
    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Index:
    """The DSI (eq. 12) with its range of scales, and the spec-true rating beside it."""

    dsi: Interval | None
    """``None`` where it is not defined: fewer than two scales, or a rate of 0."""
    lowest_scale: int
    highest_scale: int
    comparable: bool
    """True for the full ladder of the profile dsi."""
    crossing: float | None
    """Scale (= tps) where T(X) = X (TPC-B clause 4.1); ``None`` when the curve does not cross it."""
    crossing_note: str
    """Why there is no crossing, in words; empty when there is one."""


@dataclass(frozen=True)
class Frequency:
    """Inverse cumulative distribution of the residence times of one scale."""

    residence_ns: Floats
    """Ascending."""
    longer: Floats
    """Share 0-1 of transactions whose residence time is longer than ``residence_ns``."""
    quantiles_ns: Mapping[float, float]
    """Quantile (0-1) to residence time; holds the confidence levels, 0.999 and 1 (the exact maximum)."""
    count: int


@dataclass(frozen=True)
class Resource:
    """What one transaction cost of one resource at one scale."""

    name: str
    """'CPU time', 'disk reads', 'WAL' …"""
    unit: str
    """'µs', 'operations', 'KB' …"""
    per_transaction: float
    per_second: float
    scope: Literal["system", "device", "network", "client", "server"]


@dataclass(frozen=True)
class Collision:
    """Fit of q = 1 / (1 + kappa (K - 1) / X): success share q of K clients over X branches."""

    kappa: float
    clients: int
    """K = nodes * threads"""
    rms: float
    """Root mean square of the residuals of q (0-1)."""
    lowest_scale: int
    highest_scale: int
    """The fit says nothing outside of these scales."""


@dataclass(frozen=True)
class Doubt:
    """A warning with its remedy. ``scale`` is ``None`` when it concerns the whole run."""

    code: str
    """Stable word: 'client-bottleneck', 'no-steady-state', 'remote-share', 'durability', 'failures',
    'missed-starts', 'check-failed', 'resumed', 'degraded' …"""
    message: str
    remedy: str
    scale: int | None = None
    severe: bool = False
    """True when the figures must not be used (a failed check)."""
