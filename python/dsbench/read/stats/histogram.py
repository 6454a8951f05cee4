"""Quantiles and the inverse cumulative distribution out of buckets of counted values.

The buckets come from a log-linear histogram: each doubling of the value is cut into at least 1024
buckets of equal width, so a bucket is no wider than 1/1024 of its lower bound. A value read as the
midpoint of its bucket is therefore off by at most half of that: 0.05 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dsbench.read.stats.values import Frequency, Ints

RELATIVE_ERROR = 1 / 2048
"""Largest relative error of a quantile: half of the widest bucket (0.049 %)."""


@dataclass(frozen=True)
class Histogram:
    """Counts of values in [low_ns, high_ns], both inclusive, ascending, with the exact extremes."""

    low_ns: Ints
    high_ns: Ints
    counts: Ints
    min_ns: int
    max_ns: int

    @property
    def count(self) -> int:
        return int(self.counts.sum())


_NONE: Ints = np.zeros(0, dtype=np.int64)
EMPTY = Histogram(_NONE, _NONE, _NONE, min_ns=0, max_ns=0)
"""A histogram of nothing: the neutral element of ``merge``."""


def histogram(
    low_ns: Ints, high_ns: Ints, counts: Ints, *, min_ns: int | None = None, max_ns: int | None = None
) -> Histogram:
    """A histogram out of buckets in any order; empty ones are left out.

    Buckets that overlap are added into one that spans them: they are the same bucket of the layout,
    cut at the extremes of the histogram that each comes from. Without ``min_ns`` and ``max_ns`` the
    bounds of the outermost buckets stand for them, within one bucket (0.1 %) of the truth.
    """
    filled = counts > 0
    if not filled.any():
        return EMPTY
    order = np.argsort(low_ns[filled], kind="stable")
    low, high, count = (values[filled][order] for values in (low_ns, high_ns, counts))
    reach = np.maximum.accumulate(high)
    begins = np.flatnonzero(np.concatenate([[True], low[1:] > reach[:-1]]))
    low, high, count = low[begins], np.maximum.reduceat(high, begins), np.add.reduceat(count, begins)
    least = int(low[0]) if min_ns is None else min_ns
    most = int(high[-1]) if max_ns is None else max_ns
    return Histogram(low, high, count, least, most)


def merge(parts: Iterable[Histogram]) -> Histogram:
    """The histogram of all values together: addition by bucket, so the order does not matter."""
    some = [part for part in parts if part.count]
    if not some:
        return EMPTY
    low, high, counts = (
        np.concatenate([getattr(part, name) for part in some]) for name in ("low_ns", "high_ns", "counts")
    )
    least, most = min(part.min_ns for part in some), max(part.max_ns for part in some)
    return histogram(low, high, counts, min_ns=least, max_ns=most)


def quantile_ns(values: Histogram, quantile: float) -> float:
    """The value below or at which the share ``quantile`` (0-1) of all values lies; nan for none.

    It is the midpoint of the first bucket whose cumulative count reaches ceil(quantile * n), no less
    than the minimum and no more than the maximum; when that rank is n, as it is for quantile 1, it is
    the exact maximum. Off by at most ``RELATIVE_ERROR`` from the nearest-rank quantile of the values.
    """
    if values.count == 0:
        return np.nan
    # The decimal the user wrote, not its binary neighbour: 0.07 of 100 values is the 7th, not the 8th.
    rank = max(1, -(-Fraction(str(quantile)) * values.count // 1))
    if rank >= values.count:
        return float(values.max_ns)
    at = int(np.searchsorted(np.cumsum(values.counts), int(rank)))
    middle = (int(values.low_ns[at]) + int(values.high_ns[at])) / 2
    return float(min(max(middle, values.min_ns), values.max_ns))


def deviation_ns(values: Histogram) -> float:
    """Standard deviation of the values about their mean, as pgbench has it (divided by n); nan for none.

    Each value is taken for the midpoint of its bucket: off by at most ``RELATIVE_ERROR`` of the values.
    """
    if values.count == 0:
        return np.nan
    middles = np.clip((values.low_ns + values.high_ns) / 2, values.min_ns, values.max_ns)
    mean = np.average(middles, weights=values.counts)
    return float(np.sqrt(np.average((middles - mean) ** 2, weights=values.counts)))


def quantiles_ns(values: Histogram, quantiles: Iterable[float]) -> Mapping[float, float]:
    """``quantile_ns`` for several quantiles, by quantile, rising."""
    return {q: quantile_ns(values, q) for q in sorted(set(quantiles))}


def frequency(values: Histogram, quantiles: Iterable[float]) -> Frequency:
    """The inverse cumulative distribution (the paper, section 4.1.4) with the quantiles asked for.

    Points lie at the upper bounds of the buckets, where the share of longer values is exact; the last
    point is the maximum, with share 0.
    """
    upper = np.minimum(values.high_ns, values.max_ns).astype(float)
    longer = 1 - np.cumsum(values.counts) / max(values.count, 1)
    if longer.size:
        longer[-1] = 0.0
    return Frequency(upper, longer, quantiles_ns(values, quantiles), values.count)
