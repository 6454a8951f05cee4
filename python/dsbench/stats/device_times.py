"""Quantiles of times that were counted in buckets: least time, greatest time and how many, rising."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dsbench.stats.values import rank_of

Buckets = Sequence[tuple[int, int, int]]


def mean_of(buckets: Buckets) -> float:
    """With each time in the middle of its bucket."""
    return sum((low + high) / 2 * count for low, high, count in buckets) / sum(count for *_, count in buckets)


def quantile_of(buckets: Buckets, share: float) -> float:
    """The time within which this share (0-1) lies: the greatest of its bucket."""
    wanted, seen = rank_of(share, sum(count for *_, count in buckets)), 0
    for _, high, count in buckets:
        seen += count
        if seen >= wanted:
            return float(high)
    return float(buckets[-1][1])


def survival_of(buckets: Buckets) -> Iterator[tuple[int, float]]:
    """Times with the share that took longer, as far as that is more than nothing."""
    total, seen = sum(count for *_, count in buckets), 0
    yield buckets[0][0], 1.0
    for _, high, count in buckets:
        seen += count
        if seen < total:
            yield high, 1 - seen / total
