"""The values that an evaluation consists of. Symbols of the paper, section 2.6, stand beside the names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, field, fields
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dsbench.dataclass import dataclass

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class ResultColumn:
    """What one of the columns of the results says."""

    label: str
    """For people; its unit stands beside it."""
    unit: str
    """Empty where there is none."""
    sentence: str
    equation: str
    """Of the paper; empty where it needs none."""


def _column(label: str, unit: str, sentence: str, equation: str = "") -> Any:
    return field(metadata={"column": ResultColumn(label, unit, sentence, equation)})


def percent(level: float) -> str:
    """A level (0-1) in per cent, whole: 0.997 is ``99.7``."""
    return f"{(Decimal(repr(level)) * 100).normalize():f}"


@dataclass(frozen=True)
class ScaleResult:
    """One row of table 1 of the paper: its columns in order, with units in the names; the levels are one field.

    Empty columns (a scale that was cut short) have ``nan`` where nothing was measured.
    """

    scale: int = _column("scale", "", "X_s")
    database_size_gb: float = _column("database size", "GB", "after population and keys, in 10^9 bytes")
    rate_median_tps: float = _column(
        "rate median", "tps", "median over the cycles of T_i, the rate of the scale", "7"
    )
    rate_mean_tps: float = _column("rate mean", "tps", "T", "8")
    rate_stddev_tps: float = _column("rate stddev", "tps", "sample standard deviation (n - 1) of T_i, from 2 cycles on")
    rate_min_tps: float = _column("rate min", "tps", "least T_i")
    rate_max_tps: float = _column("rate max", "tps", "highest T_i")
    transactions: int = _column("transactions", "", "M", "5")
    failed: int = _column("failed attempts", "", "sum of E_inj, including attempts that were retried")
    residence_total_s: float = _column("residence time, total", "s", "sum of R_inj", "1")
    effective_duration_s: float = _column(
        "effective duration", "s", "sum over the cycles of first start to last counted end, over all nodes and clients"
    )
    rate_multiplier: float = _column("multiplier f", "", "f: mean number of transactions in progress", "11")
    rates_at: Mapping[float, float] = _column("rates at the levels", "tps", "f / quantile", "10")
    """Confidence level (0-1), rising, to the rate at it in tps: from column 13 on, named by the level."""
    populate_s: float = _column(
        "populate", "s", "loading the tables, with the reset of growing tables; the mean if repeated"
    )
    primary_key_s: float = _column("primary key", "s", "adding the primary keys, as above")
    foreign_key_s: float = _column("foreign key", "s", "adding the foreign keys, as above")
    cleanup_s: float = _column("cleanup", "s", "sum over the cleanings before the cycles")
    drop_s: float = _column("drop", "s", "dropping the database, as above")

    def cells(self) -> dict[str, float]:
        """Name of each column, as in ``result_columns`` of its levels, to its value."""
        at_levels = {_level_column(level): rate for level, rate in self.rates_at.items()}
        return _in_place(at_levels, lambda one: getattr(self, one.name))


def _level_column(level: float) -> str:
    return f"rate_p{percent(level).replace('.', '_')}_tps"


def _in_place(at_levels: Mapping[str, _Value], value: Callable[[Field[Any]], _Value]) -> dict[str, _Value]:
    """``value`` of each field of a row by its name, and in the place of ``rates_at`` those of the levels."""
    found: dict[str, _Value] = {}
    for one in fields(ScaleResult):
        found |= at_levels if one.name == "rates_at" else {one.name: value(one)}
    return found


def result_columns(levels: Iterable[float]) -> dict[str, ResultColumn]:
    """Name of each column of the results, in order, to what it says; ``levels`` rise."""
    at_levels = {
        _level_column(q): ResultColumn(
            f"rate at {percent(q)}%", "tps", f"f / p{percent(q)} of the residence times", "10"
        )
        for q in levels
    }  # fmt: skip
    return _in_place(at_levels, lambda one: one.metadata["column"])


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at ``level`` (0-1)."""

    value: float
    low: float
    high: float
    level: float

    @property
    def reach(self) -> float:
        """By which share (0-1) it reaches beyond its middle, sqrt(low high), on either side; nan without bounds."""
        return (self.high / self.low) ** 0.5 - 1 if self.low > 0 else float("nan")

    @property
    def holds_one(self) -> bool:
        """Of a ratio: whether it may be 1, so that what lies between both is within the noise."""
        return self.low <= 1 <= self.high


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
    left_out: Mapping[int, str] = field(default_factory=dict)
    """Scales that were begun and count for nothing here, rising, to the reason in words."""


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
    cycles: int = 0
    """Those that they come from."""
    effective: Mapping[float, float] = field(default_factory=dict)
    """Quantile (0-1) to how many independent transactions tell as much of it as these, whose times depend on each
    other; what is missing cannot have an interval."""
    maxima_ns: tuple[float, float] = (float("nan"), float("nan"))
    """Least and greatest of the cycles' maxima, within a bucket."""

    def told(self, quantile: float) -> float:
        """That quantile in ns; nan where too few transactions lie beyond it to know it."""
        return self.quantiles_ns.get(quantile, float("nan")) if known(quantile, self.count) else float("nan")


@dataclass(frozen=True)
class Left:
    """Transactions that a run left in tables of somebody else."""

    there: int
    counted: int
    """Those of the rates; the others ran in ramp-ups or ended after the time of their cycle."""
    early: int
    """Those that ran in ramp-ups."""


ROUNDING = 1e-9
"""What a count that is computed, as 50 · (1 - 0.9), may lack."""
LEAST_BEYOND = 5
"""Transactions to be expected beyond a quantile, below which it is not known: it would be that of single ones. An
interval from order statistics has an upper end at 95% where q^n is at most 0.025, which 3.7 of them need (David and
Nagaraja, Order Statistics, section 7.1); five are the usual least count (Cochran, Biometrics 10, 1954)."""


def known(quantile: float, count: int) -> bool:
    """Whether so many transactions tell this quantile (0-1); the maximum, 1, is what it is."""
    return quantile >= 1 or count * (1 - quantile) >= LEAST_BEYOND - ROUNDING


def rank_of(quantile: float, count: int) -> int:
    """Place of a quantile (0-1) among so many values in order, from 1: the nearest rank, ceil(quantile * count).

    It is that of the decimal that the user wrote, not of its binary neighbour: 0.07 of 100 is the 7th, not the 8th.
    """
    return max(1, ceil(Fraction(str(quantile)) * count))


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
    """K = nodes * clients"""
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
