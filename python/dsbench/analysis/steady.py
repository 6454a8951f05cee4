"""Whether the rate held still: drift of the per-second counts by Theil-Sen, its significance by Kendall."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

import numpy as np

from dsbench.analysis.values import Floats

SHORTEST_S = 30
"""Seconds below which nothing is said: caches, checkpoints and write-back work in longer strokes."""
LARGEST_DRIFT = 0.1
"""Share of the median by which a steady rate may drift over the whole window."""
SIGNIFICANCE = 0.01
MOST_BINS = 300
"""Longer series are added up into bins: Theil-Sen looks at every pair."""
FEWEST_BINS = 10
LEAST_COUNT = 10
"""Transactions of the median bin: with fewer, ties and chance hide a drift of 10 %."""


class Verdict(StrEnum):
    """What can be said of a series."""

    STEADY = "steady"
    DRIFTING = "no steady state"
    TOO_SHORT = "too short to judge"


@dataclass(frozen=True)
class Drift:
    """How a rate moved over its window."""

    verdict: Verdict
    drift: float
    """Change from the window's start to its end, relative to the median; nan when it was not judged."""
    p_value: float
    """Of Kendall's tau against no trend (Mann-Kendall test)."""
    seconds: int


def drift(counts: Floats) -> Drift:
    """Judges a series of counts per full second, in order.

    The slope is the median of all slopes between two points (Theil-Sen), so single outliers such as a
    checkpoint do not tilt it. The verdict is ``DRIFTING`` when the change over the window exceeds
    10 % of the median and the trend is significant at 1 %.
    """
    seconds = int(counts.size)
    bins = _binned(counts) if seconds >= SHORTEST_S else None
    if bins is None:
        return Drift(Verdict.TOO_SHORT, np.nan, np.nan, seconds)
    if np.ptp(bins) == 0:
        return Drift(Verdict.STEADY, 0.0, 1.0, seconds)
    from scipy import stats  # Late: it takes most of a second, and a short run needs none of it.

    at = np.arange(bins.size)
    slope = float(stats.theilslopes(bins, at).slope)
    p_value = float(stats.kendalltau(at, bins).pvalue)
    change = slope * (bins.size - 1) / float(np.median(bins))
    drifting = abs(change) > LARGEST_DRIFT and p_value < SIGNIFICANCE
    return Drift(Verdict.DRIFTING if drifting else Verdict.STEADY, change, p_value, seconds)


def _binned(counts: Floats) -> Floats | None:
    """Sums of neighbouring seconds: few enough to be fast, wide enough to hold ``LEAST_COUNT``.

    ``None`` when a tenth of the window does not hold it. A rest that fills no bin is left out.
    """
    total = float(counts.sum())
    width = max(-(-counts.size // MOST_BINS), ceil(LEAST_COUNT * counts.size / total) if total else counts.size)
    while counts.size // width >= FEWEST_BINS:
        bins = counts[: counts.size // width * width].reshape(-1, width).sum(axis=1)
        if np.median(bins) >= LEAST_COUNT:
            return np.asarray(bins, dtype=float)
        width += -(-width // 4)
    return None
