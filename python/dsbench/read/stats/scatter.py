"""Whether the cycles of a series differ by more than their seconds explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dsbench.read.stats.steady import LARGEST_DRIFT, SIGNIFICANCE
from dsbench.read.stats.values import Floats, Ints

_BLOCKS = 10
"""Parts of a cycle: long ones are less alike than neighbouring seconds, whose likeness would feign certainty."""
_MOST_ALIKE = 0.8
"""Correlation of neighbouring blocks that is believed at most."""


@dataclass(frozen=True)
class Scatter:
    """Cycles that differ."""

    median_tps: float
    """Of the cycles' rates T_i."""
    off: tuple[tuple[int, float], ...]
    """Cycle and d_i = T_i / median - 1 of each cycle with |d_i| > 0.1, the furthest first."""
    p_value: float
    """Of the test of Kruskal and Wallis against cycles that are all alike."""


def scatter(cycles: Ints, rates_tps: Floats, seconds: Sequence[Floats]) -> Scatter | None:
    """The cycles that lie off the others; ``None`` where chance or nothing sets them apart, or where it cannot be told.

    ``seconds`` are the counts of each cycle's whole seconds. A cycle is off when its rate is more than 10 % from the
    median of the rates: the median does not move with a few bad cycles as the mean and the standard deviation do.
    Whether seconds alone explain it is tested by ranks, which a few stalled seconds do not sway: Kruskal and
    Wallis, Use of Ranks in One-Criterion Variance Analysis, JASA 47 (1952), p < 1 %, over up to ten blocks
    of seconds of each cycle (batch means: Law and Kelton, Simulation Modeling and Analysis). Blocks that resemble their
    neighbours count less: the statistic is divided by (1 + r) / (1 - r), r being that correlation within the cycles.
    """
    median = float(np.median(rates_tps)) if rates_tps.size else 0.0
    if rates_tps.size < 2 or median <= 0:
        return None
    away = rates_tps / median - 1
    off = [(int(cycles[at]), float(away[at])) for at in np.argsort(-np.abs(away)) if abs(away[at]) > LARGEST_DRIFT]
    if not off or min((counts.size for counts in seconds), default=0) == 0:
        return None
    blocks = [_means(counts) for counts in seconds]
    if np.ptp(np.concatenate(blocks)) == 0:
        return None
    from scipy import stats  # Late: it takes most of a second, and an even run needs none of it.

    near = _alike(blocks)
    p_value = float(stats.chi2.sf(stats.kruskal(*blocks).statistic * (1 - near) / (1 + near), len(blocks) - 1))
    return Scatter(median, tuple(off), p_value) if p_value < SIGNIFICANCE else None


def _means(counts: Floats) -> Floats:
    return np.array([part.mean() for part in np.array_split(counts, min(_BLOCKS, counts.size))])


def _alike(blocks: Sequence[Floats]) -> float:
    """Correlation of neighbouring blocks within the cycles, corrected for the bias -(1 + 3 r) / n of short series."""
    parts = [block / mean - 1 for block in blocks if (mean := float(block.mean())) > 0]
    square = sum(float(part @ part) for part in parts)
    if square <= 0:
        return 0.0
    found = sum(float(part[1:] @ part[:-1]) for part in parts) / square
    size = sum(part.size for part in parts) / len(parts)
    return min(max(found + (1 + 3 * found) / size, 0.0), _MOST_ALIKE)
