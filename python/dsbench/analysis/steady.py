"""Whether the rate held still: drift of the per-second counts by Theil-Sen, its significance by Kendall."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
_FEWEST_TO_TEST = 6
"""Cycles: 2/6! is the first share of orders that is below ``SIGNIFICANCE``."""
LEAST_COUNT = 10
"""Transactions of the median bin: with fewer, ties and chance hide a drift of 10 %."""


class Verdict(StrEnum):
    """What can be said of a series."""

    STEADY = "steady"
    DRIFTING = "no steady state"
    TOO_SHORT = "too short to judge"
    SCATTERED = "levels without a direction"


@dataclass(frozen=True)
class Drift:
    """How a rate moved over its window."""

    verdict: Verdict
    drift: float
    """Change from start to end of the fitted line, as a share of its higher end: -1 to 1; nan when not judged."""
    p_value: float
    """Of Kendall's tau against no trend (Mann-Kendall test)."""
    seconds: int


def drift(counts: Floats) -> Drift:
    """Judges a series of counts per full second, in order.

    The slope is the median of all slopes between two points (Theil-Sen), so single outliers such as a
    checkpoint do not tilt it. The verdict is ``DRIFTING`` when the change over the window exceeds
    10 % and the trend is significant at 1 %.
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
    half = slope * (bins.size - 1) / 2
    begin, end = (max(0.0, float(np.median(bins)) + side) for side in (-half, half))
    change = (end - begin) / max(begin, end)
    drifting = abs(change) > LARGEST_DRIFT and p_value < SIGNIFICANCE
    return Drift(Verdict.DRIFTING if drifting else Verdict.STEADY, change, p_value, seconds)


def over_cycles(counts: Floats) -> Drift:
    """Judges how the level moved from cycle to cycle; ``counts`` per second have the shape (cycles, seconds).

    The course that the cycles share is divided out, so that a fall in each of them is not taken for one from the
    first to the last. The seconds tell whether the cycles differ by more than chance, but not that this has a
    direction: the order of the cycles does. It is tested by Kendall's tau over them as well, at 1 %; of three to
    five cycles, where no order is as rare as that, each has to lie beyond the one before. Two cycles have no
    direction. Without one the verdict is ``SCATTERED``.
    """
    shared = counts.mean(axis=0)
    level = np.divide(counts * counts.mean(), shared, out=np.zeros_like(counts), where=shared > 0)
    found = drift(level.reshape(-1))
    if found.verdict is Verdict.DRIFTING and not _directed(level.mean(axis=1)):
        return replace(found, verdict=Verdict.SCATTERED)
    return found


def _directed(levels: Floats) -> bool:
    if levels.size < 3:
        return False
    if levels.size < _FEWEST_TO_TEST:
        steps = np.diff(levels)
        return bool((steps > 0).all() or (steps < 0).all())
    from scipy import stats  # Late, as above.

    return float(stats.kendalltau(np.arange(levels.size), levels).pvalue) < SIGNIFICANCE


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
