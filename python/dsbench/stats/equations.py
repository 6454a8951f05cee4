"""Equations 5-8 and 11 of the paper, section 2.6, and column 11 of its table 1. The core computes equation 1.

Arrays of counts and times have the shape (cycles, nodes, clients), in the symbols (i, n, j). A client
that is missing from a cycle stands there with zeros. Times go in as integer nanoseconds and come out
in seconds; rates are per second (tps). What cannot be computed is ``nan``, never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.values import Floats, Ints

NS_PER_S = 1e9


@dataclass(frozen=True)
class Spread:
    """What table 1 says of the rates T_i of one scale (columns 3-7)."""

    median: float
    mean: float
    stddev: float
    """Of the sample (n - 1); nan for fewer than two cycles."""
    minimum: float
    maximum: float


def transactions(committed: Ints) -> int:
    """M (eq. 5) = sum over i, n, j of M_inj."""
    return int(committed.sum())


def node_rate_tps(committed: Ints, duration_s: float | Floats) -> Floats:
    """T_in (eq. 6) = sum over j of M_inj, divided by D_i; shape (cycles, nodes)."""
    return np.asarray(committed.sum(axis=2) / np.reshape(duration_s, (-1, 1)), dtype=float)


def cycle_rate_tps(committed: Ints, duration_s: float | Floats) -> Floats:
    """T_i (eq. 7) = sum over n, j of M_inj, divided by D_i; shape (cycles,)."""
    return np.asarray(committed.sum(axis=(1, 2)) / duration_s, dtype=float)


def measured_s(cycles: int, duration_s: float | Floats) -> float:
    """I * D, or the sum of the D_i where cycles have durations of their own, shape (cycles,); nan where that is 0."""
    each = np.broadcast_to(duration_s, (cycles,))
    return float(cycles * each[0] if cycles and (each == each[0]).all() else each.sum()) or np.nan


def stream_rate_tps(committed: Ints, first_start_ns: Ints, last_end_ns: Ints) -> Floats:
    """Sum over all streams of (its transactions / its own running time); shape (cycles,).

    The first of two definitions of TPS (McDonell, 1987, section 4, point 6), said there as a quotient of sums. A stream
    that ended nothing adds nothing. Where streams end at different times it is above ``span_rate_tps``, as the time in
    which only some of them run counts for those alone.
    """
    span_s = (last_end_ns - first_start_ns) / NS_PER_S
    rates = np.divide(committed, span_s, out=np.zeros(committed.shape), where=span_s > 0)
    return np.asarray(rates.sum(axis=(1, 2)), dtype=float)


def span_rate_tps(committed: Ints, first_start_ns: Ints, last_end_ns: Ints) -> Floats:
    """All transactions / (first start to last end of all streams); shape (cycles,). The second definition."""
    some = last_end_ns > 0
    first = np.min(first_start_ns, axis=(1, 2), where=some, initial=np.iinfo(np.int64).max)
    last = np.max(last_end_ns, axis=(1, 2), where=some, initial=0)
    span_s, total = (last - first) / NS_PER_S, committed.sum(axis=(1, 2))
    busy = some.any(axis=(1, 2)) & (span_s > 0)
    return np.asarray(np.divide(total, span_s, out=np.zeros(total.shape), where=busy), dtype=float)


def total_rate_tps(committed: Ints, duration_s: float | Floats) -> float:
    """T (eq. 8) = M / (I * D); nan without cycles."""
    cycles = committed.shape[0]
    return transactions(committed) / measured_s(cycles, duration_s) if cycles else np.nan


def residence_total_s(residence: Ints) -> float:
    """Sum over i, n, j of R_inj: the numerator of eq. 11, column 10 of table 1."""
    return int(residence.sum()) / NS_PER_S


def rate_multiplier(residence: Ints, duration_s: float | Floats) -> float:
    """f (eq. 11) = sum of all r_injm / (I * D); nan without cycles.

    So T = f * T^r (eq. 10), where T^r = M / sum of all r_injm (eq. 9). By Little's law f is the mean number of
    successful transactions in flight.
    """
    cycles = residence.shape[0]
    return residence_total_s(residence) / measured_s(cycles, duration_s) if cycles else np.nan


def level_rate_tps(multiplier: float, quantile_ns: float) -> float:
    """Rate at confidence level p (columns 13-18): f / r_p, r_p the p-quantile of the residence times.

    The single residence time r_p converted by eq. 10.
    """
    return multiplier / (quantile_ns / NS_PER_S) if quantile_ns > 0 else np.nan


def effective_duration_s(first_start_ns: Ints, last_end_ns: Ints) -> float:
    """Column 11: sum over the cycles of (last counted end - first start) over all nodes and clients.

    A last end of 0 says that nothing ended: such a client has no first start either and is left out.
    """
    some = last_end_ns > 0
    first = np.min(first_start_ns, axis=(1, 2), where=some, initial=np.iinfo(np.int64).max)
    last = np.max(last_end_ns, axis=(1, 2), where=some, initial=np.iinfo(np.int64).min)
    busy = some.any(axis=(1, 2))
    return int((last[busy] - first[busy]).sum()) / NS_PER_S


def spread(rates: Floats) -> Spread:
    """Median, mean, sample standard deviation, minimum and maximum of the T_i of one scale."""
    if rates.size == 0:
        return Spread(np.nan, np.nan, np.nan, np.nan, np.nan)
    deviation = float(np.std(rates, ddof=1)) if rates.size > 1 else np.nan
    return Spread(float(np.median(rates)), float(np.mean(rates)), deviation, float(rates.min()), float(rates.max()))


def minimum_time_s(parts: Sequence[tuple[float, int]]) -> float:
    """Sum of n / T over ``parts``, each as (T in transactions per second, n); nan where a T is not above 0."""
    return sum(n / rate for rate, n in parts) if parts and all(rate > 0 for rate, _ in parts) else np.nan


def bound_tps(parts: Sequence[tuple[float, int]]) -> float:
    """1 / ``minimum_time_s``, in transactions per second."""
    return 1 / minimum_time_s(parts)
