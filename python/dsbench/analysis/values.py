"""The values that an evaluation consists of. Symbols of the paper, section 2.6, stand beside the names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ScaleResult:
    """One row of table 1 of the paper: the fields are its 23 columns, in order, with units in the names.

    Empty steps (a scale that was cut short) have ``nan`` where nothing was measured.
    """

    scale: int
    """X_s"""
    database_size_gb: float
    """Size after population and keys, in 10^9 bytes."""
    rate_median_tps: float
    """Median over the cycles of T_i (eq. 7): the official rate of the scale."""
    rate_mean_tps: float
    """T (eq. 8)"""
    rate_stddev_tps: float
    """Sample standard deviation (n - 1) of T_i; nan for one cycle."""
    rate_min_tps: float
    rate_max_tps: float
    transactions: int
    """M (eq. 5)"""
    failed: int
    """Sum of E_inj: failed attempts, those that were retried included."""
    residence_total_s: float
    """Sum of R_inj (eq. 1)"""
    effective_duration_s: float
    """Sum over the cycles of: first start to last counted end, over all nodes and threads."""
    rate_multiplier: float
    """f (eq. 11)"""
    rate_p50_tps: float
    """f / quantile of the residence times at the first level; and so on for the other five."""
    rate_p68_tps: float
    rate_p87_tps: float
    rate_p95_tps: float
    rate_p99_tps: float
    rate_p99_7_tps: float
    populate_s: float
    primary_key_s: float
    foreign_key_s: float
    cleanup_s: float
    """Sum over the cleanings before the cycles."""
    drop_s: float


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(ScaleResult))
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
