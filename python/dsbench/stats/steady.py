"""Whether the rate held still: drift of the per-second counts by Theil-Sen, its significance by Kendall.

Kendall's test supposes seconds that do not depend on each other. Those of a database do: with a correlation r from one
to the next (AR(1)) the variance of Kendall's S is larger by

    1 + 2 / (n (n - 1) (n - 2)) sum over i of (n - i) (n - i - 1) (n - i - 2) (6 / pi) asin(r^i / 2)

(Hamed and Rao, A Modified Mann-Kendall Trend Test for Autocorrelated Data, Journal of Hydrology 204, 1998). r is that
of what is left beside the line, as a trend would feign one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from math import ceil

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats import ranks
from dsbench.stats.values import Floats, Ints

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
_STALL_S = 0.8
"""Seconds without a transaction that are told: a choice, a little less than one, as seconds scatter."""
_MOST_ALIKE = 0.85
"""Correlation of neighbours that is believed at most. Beyond it nothing tells a drift from a rate that wanders: half a
minute that only falls would be no drift."""
LEAST_COUNT = 10
"""Transactions of the median bin: with fewer, ties and chance hide a drift of 10%."""


class SteadyVerdict(StrEnum):
    """What can be said of a series."""

    STEADY = "steady"
    DRIFTING = "no steady state"
    TOO_SHORT = "too short to judge"
    SCATTERED = "levels without a direction"


@dataclass(frozen=True)
class Drift:
    """How a rate moved over its window."""

    verdict: SteadyVerdict
    drift: float
    """Change from start to end of the fitted line, as a share of its higher end: -1 to 1; nan when not judged."""
    p_value: float
    """Of Kendall's tau against no trend (Mann-Kendall test)."""
    seconds: int


def drift(counts: Floats, cycles: int = 1) -> Drift:
    """Judges a series of counts per full second, in order, of so many ``cycles`` of one length.

    The slope is the median of all slopes between two points (Theil-Sen), so single outliers such as a
    checkpoint do not tilt it. The verdict is ``DRIFTING`` when the change over the window exceeds
    10% and the trend is significant at 1%, the correlation of neighbours allowed for.
    """
    seconds = int(counts.size)
    bins = _binned(counts) if seconds >= SHORTEST_S else None
    if bins is None:
        return Drift(SteadyVerdict.TOO_SHORT, np.nan, np.nan, seconds)
    if np.ptp(bins) == 0:
        return Drift(SteadyVerdict.STEADY, 0.0, 1.0, seconds)
    slope = ranks.slope(bins)
    inflated = _inflation(bins.size, _alike(bins, slope, cycles))
    p_value = ranks.outside(ranks.deviations(ranks.trend(bins)) / inflated**0.5)
    half = slope * (bins.size - 1) / 2
    begin, end = (max(0.0, float(np.median(bins)) + side) for side in (-half, half))
    change = (end - begin) / max(begin, end)
    drifting = abs(change) > LARGEST_DRIFT and p_value < SIGNIFICANCE
    return Drift(SteadyVerdict.DRIFTING if drifting else SteadyVerdict.STEADY, change, p_value, seconds)


def _alike(bins: Floats, slope: float, cycles: int) -> float:
    """Correlation of neighbours, 0 to ``_MOST_ALIKE``: beside the line, or in several cycles as shares of their means.

    Corrected for the bias of short series, -(2 + 4 r) / n beside a line and -(1 + 3 r) / n beside a mean (Marriott and
    Pope, Bias in the Estimation of Autocorrelations, Biometrika 41, 1954).
    """
    at = np.arange(bins.size)
    if cycles == 1:
        away = bins - np.median(bins) - slope * (at - at.mean())
        parts, constant, factor = [away - away.mean()], 2, 4
    else:
        cycle = at * cycles // bins.size
        levels = [bins[cycle == one] for one in range(cycles)]
        parts = [level / mean - 1 for level in levels if (mean := float(level.mean())) > 0]
        constant, factor = 1, 3
    square = sum(float(part @ part) for part in parts)
    if square <= 0:
        return 0.0
    found = sum(float(part[1:] @ part[:-1]) for part in parts) / square
    size = bins.size / cycles
    return float(np.clip(found + (constant + factor * found) / size, 0.0, _MOST_ALIKE))


def _inflation(count: int, near: float) -> float:
    """By how much the variance of Kendall's S is larger, as above."""
    lag = np.arange(1, count)
    left = count - lag
    terms = left * (left - 1) * (left - 2) * np.arcsin(near**lag / 2)
    return 1 + 12 / np.pi * float(terms.sum()) / (count * (count - 1) * (count - 2))


def stalls(counts: Floats, slowest_ns: float) -> list[int]:
    """The rows of ``counts``, per second of each cycle, in which work stood still for most of a second.

    A pause of a second takes a second's worth of transactions out of one second or two neighbours, wherever it begins,
    and in a closed loop some transaction lasts as long: both have to be seen. Cycles with fewer than 20 transactions in
    their median second are not judged, as chance makes such gaps there.
    """
    if slowest_ns < _STALL_S * 1e9 or counts.shape[-1] < 2:
        return []
    medians = np.median(counts, axis=1)
    least = (counts[:, 1:] + counts[:, :-1]).min(axis=1)
    return [int(at) for at in np.flatnonzero((medians >= 2 * LEAST_COUNT) & (least <= (2 - _STALL_S) * medians))]


def over_cycles(counts: Floats) -> Drift:
    """Judges how the level moved from cycle to cycle; ``counts`` per second have the shape (cycles, seconds).

    The course that the cycles share is divided out, so that a fall in each of them is not taken for one from the
    first to the last. The seconds tell whether the cycles differ by more than chance, but not that this has a
    direction: the order of the cycles does. It is tested by Kendall's tau over them as well, at 1%; of three to
    five cycles, where no order is as rare as that, each has to lie beyond the one before. Two cycles have no
    direction. Without one the verdict is ``SCATTERED``.
    """
    shared = counts.mean(axis=0)
    level = np.divide(counts * counts.mean(), shared, out=np.zeros_like(counts), where=shared > 0)
    found = drift(level.reshape(-1), len(level))
    if found.verdict is SteadyVerdict.DRIFTING and not _directed(level.mean(axis=1)):
        return replace(found, verdict=SteadyVerdict.SCATTERED)
    return found


def _directed(levels: Floats) -> bool:
    if levels.size < 3:
        return False
    if levels.size < _FEWEST_TO_TEST:
        steps = np.diff(levels)
        return bool((steps > 0).all() or (steps < 0).all())
    return ranks.trend(levels) < SIGNIFICANCE


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


_BLOCKS = 10
"""Parts of a cycle: long ones are less alike than neighbouring seconds, whose likeness would feign certainty."""
_MOST_SCATTER = 0.8
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

    ``seconds`` are the counts of each cycle's whole seconds. A cycle is off when its rate is more than 10% from the
    median of the rates: the median does not move with a few bad cycles as the mean and the standard deviation do.
    Whether seconds alone explain it is tested by ranks, which a few stalled seconds do not sway: Kruskal and
    Wallis, Use of Ranks in One-Criterion Variance Analysis, JASA 47 (1952), p < 1%, over up to ten blocks
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
    near = _alike_blocks(blocks)
    p_value = ranks.beyond(ranks.differ(blocks) * (1 - near) / (1 + near), len(blocks) - 1)
    return Scatter(median, tuple(off), p_value) if p_value < SIGNIFICANCE else None


def _means(counts: Floats) -> Floats:
    return np.array([part.mean() for part in np.array_split(counts, min(_BLOCKS, counts.size))])


def _alike_blocks(blocks: Sequence[Floats]) -> float:
    """Correlation of neighbouring blocks within the cycles, corrected for the bias -(1 + 3 r) / n of short series."""
    parts = [block / mean - 1 for block in blocks if (mean := float(block.mean())) > 0]
    square = sum(float(part @ part) for part in parts)
    if square <= 0:
        return 0.0
    found = sum(float(part[1:] @ part[:-1]) for part in parts) / square
    size = sum(part.size for part in parts) / len(parts)
    return min(max(found + (1 + 3 * found) / size, 0.0), _MOST_SCATTER)
