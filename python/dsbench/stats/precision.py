"""How precisely the median rate of a scale is known, and whether that is precise enough to stop.

The interval of one median comes from two order statistics of the cycles. How often it holds the median of all cycles
there could be follows from the binomial distribution alone, whatever the distribution of the cycles is (Thompson,
Annals of Mathematical Statistics 7, 1936; David and Nagaraja, Order Statistics, section 7.1): a checkpoint in a third
of them does no harm. It supposes cycles that do not depend on each other; those that resemble their neighbours widen
it.

A rule that looks at each cycle stops where the spread happens to be small, so that its intervals hold the truth less
often than they say: Singham and Schruben, Finite-Sample Performance of Absolute Precision Stopping Rules, INFORMS
Journal on Computing 24 (2012). Two things stand against it: few looks, at numbers of cycles that grow by a quarter, and
intervals of 96% where 95% are promised (Jennison and Turnbull, Interim Analyses: the Repeated Confidence Interval
Approach, Journal of the Royal Statistical Society B 51, 1989). What that gives is simulated: ``bench/statistics.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import ceil, exp, lgamma, log, nan, sqrt
from statistics import NormalDist

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.values import Floats, Interval

LEVEL = 0.95
FEWEST = 5
"""Cycles below which no spread is believed."""
CHOSEN = 0.96
"""Level by which order statistics are chosen: what it is above ``LEVEL`` pays for the looks of ``enough``."""
_LOOKS_GROW = 1.25
"""From look to look, the number of cycles."""
_FEW_WIDER = 1.3
"""Of five cycles least and greatest hold the median in 15/16 only. So much further from the median they hold it in 96%
of normal samples, and in 15/16 of any."""
_TWO_GROUPS = 0.9
"""Share of the squares that a split into two groups explains, above which the cycles are taken for two groups. One of
nine normal samples of six has more, and one of seventy of ten."""
MOST_ALIKE = 0.9
"""Correlation of neighbouring cycles above which none is believed: no number of cycles would do."""
_PARTS = 1_000_000
_INDEPENDENT = 3.0
"""Cycles that are counted at least: with fewer, Student's t says nothing; in simulation these hold the level, too."""
_ALL_ALIKE = 0.999
_BATCHES = 10
"""At least so many batches, where the course has the seconds for them."""


@dataclass(frozen=True)
class MedianSpread:
    """How far the median of a few cycles may lie from that of all there could be, for sums of several medians."""

    variance: float
    """Of its natural logarithm."""
    degrees: float
    """Of Student's t, two or more."""
    shift: float = 0.0
    """Of its natural logarithm: what it may be off on average, where the cycles form two groups."""


def spread(rates: Floats, fewest: int = FEWEST) -> MedianSpread | None:
    """That of the median of T_i (eq. 7, tps); ``None`` below ``fewest`` cycles (3 or more) and for rates of 0.

    Variance of the median from two order statistics: Price and Bonett, Estimating the Variance of the Sample Median,
    Journal of Statistical Computation and Simulation 68 (2001): a few cycles with a checkpoint do not widen it as they
    widen a standard deviation. Student's t has n_e - 1 degrees, n_e = n (1 - r) / (1 + r) being the number of
    independent cycles for a correlation r of neighbouring ones (Law and Kelton, Simulation Modeling and Analysis).
    """
    if rates.size < fewest or not (rates > 0).all():
        return None
    logs = np.log(rates)
    independent = max(rates.size * (1 - (r := alike(logs))) / (1 + r), _INDEPENDENT)
    return MedianSpread(_deviation(logs) ** 2 * rates.size / independent, independent - 1, _shift(logs))


def reach(parts: Iterable[tuple[float, MedianSpread]], level: float = LEVEL) -> float:
    """Half of the interval at ``level`` (0-1) of a sum of weights times logarithms of medians that are independent.

    Degrees of freedom after Welch and Satterthwaite (Satterthwaite, Biometrics Bulletin 2, 1946). Shifts may all lie on
    one side: they add up as they are.
    """
    known = [(weight**2 * one.variance, one.degrees, abs(weight) * one.shift) for weight, one in parts]
    whole, shifts = sum(variance for variance, _, _ in known), sum(shift for _, _, shift in known)
    if whole <= 0:
        return shifts
    degrees = whole**2 / sum(variance**2 / degrees for variance, degrees, _ in known)
    return student(level, degrees) * sqrt(whole) + shifts


def median_interval(rates: Floats, level: float = CHOSEN) -> Interval:
    """The median of T_i (eq. 7, tps) with its interval at 95%; bounds nan below five cycles and for rates of 0.

    From the r-th to the (n + 1 - r)-th of n cycles in order, which hold the median with ``level`` (0-1) at least; of
    five cycles a little further. Cycles of a correlation r with their neighbours count as n (1 - r) / (1 + r): the
    interval is wider by the root of that, from the median on, in lg T.
    """
    value = float(np.median(rates)) if rates.size else nan
    if rates.size < FEWEST or not (rates > 0).all():
        return Interval(value, nan, nan, LEVEL)
    ordered, at = np.sort(rates), rank(rates.size, level)
    wider = sqrt((1 + (r := alike(np.log(rates)))) / (1 - r)) * (1 if at else _FEW_WIDER)
    low, high = (float(ordered[end]) for end in (max(at, 1) - 1, rates.size - max(at, 1)))
    return Interval(value, value * (low / value) ** wider, value * (high / value) ** wider, LEVEL)


@lru_cache(maxsize=1024)
def rank(count: int, level: float) -> int:
    """The greatest r for which the r-th of ``count`` values from either end hold the median with ``level`` (0-1).

    They miss it when fewer than r of them lie on one side of it: 2 P(B < r) for a binomial B of ``count`` and 1/2.
    0 where not even least and greatest hold it so often.
    """
    most = (1 << count) * round((1 - level) / 2 * _PARTS) // _PARTS  # Of the 2^n ways in which n values may lie.
    found, term = 0, 1
    tail = term
    while tail <= most:
        found += 1
        term = term * (count - found + 1) // found
        tail += term
    return found


def student(level: float, freedom: float) -> float:
    """t with P(|T| <= t) = ``level`` (0-1) for Student's T of ``freedom`` degrees (one or more).

    T = sqrt(n) tan(a), where the density of the angle a is proportional to cos(a)^(n - 1).
    """
    angle = np.linspace(0, np.pi / 2, 4_001)
    density = np.cos(angle) ** (freedom - 1)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return float(np.sqrt(freedom) * np.tan(np.interp(level, below / below[-1], angle)))


def half_width(rates: Floats) -> float:
    """By which share (0-1) the interval of ``median_interval`` reaches beyond its middle; nan where it has no ends."""
    return median_interval(rates).reach


def looks(fewest: int) -> Iterator[int]:
    """The numbers of cycles at which ``enough`` looks: ``fewest``, five at least, then each a quarter more."""
    at = max(fewest, FEWEST)
    while True:
        yield at
        at = max(at + 1, round(at * _LOOKS_GROW))


def enough(rates: Floats, wanted: float, fewest: int) -> bool:
    """Whether the cycles ``rates`` (tps, in order) may end: the median is known within ``wanted`` (share 0-1).

    Not before ``fewest`` cycles, nor before ``FEWEST``, and only where ``looks`` has their number.
    """
    at = next(n for n in looks(fewest) if n >= rates.size)
    return at == rates.size and half_width(rates) <= wanted


def alike(values: Floats) -> float:
    """Correlation of neighbours (lag 1), 0 to ``MOST_ALIKE``, corrected for the bias -(1 + 3 r) / n of short series.

    Marriott and Pope, Bias in the Estimation of Autocorrelations, Biometrika 41 (1954).
    """
    away = values - values.mean()
    square = float(away @ away)
    if square <= 0:
        return 0.0
    found = float(away[1:] @ away[:-1]) / square
    return min(max(found + (1 + 3 * found) / values.size, 0.0), MOST_ALIKE)


def _deviation(values: Floats) -> float:
    """Standard deviation of the median of ``values`` by Price and Bonett, as above; n >= 3."""
    n, ordered = values.size, np.sort(values)
    at = max(round((n + 1) / 2 - sqrt(n)), 1)
    tail, term = 0.0, 0.5 ** (n - 1)
    for number in range(at):  # Sum over i < at of binomial(n, i) / 2^(n - 1): the chance to lie outside of both.
        tail, term = tail + term, term * (n - number) / (number + 1)
    reach = 2 * NormalDist().inv_cdf(1 - tail / 2)
    return float(ordered[n - at] - ordered[at - 1]) / reach


def _shift(values: Floats) -> float:
    """By how much the sample median of ``values`` may be off on average; 0 where they do not form two groups.

    Of cycles with and without a checkpoint the median is that of the group with more of them, and in a few cycles this
    may be the wrong one: its chance, by the binomial distribution, times the distance of the groups. That the smaller
    group has k of n is taken for a share of (k + 1) / (n + 2) (Laplace). The groups are those of the split with the
    least squares (Fisher, JASA 53, 1958). Medians of several scales are off on the same side, so that their sum is not
    saved by their number.
    """
    n, ordered = values.size, np.sort(values)
    if ordered[0] == ordered[-1]:
        return 0.0
    below = np.arange(1, n)
    sums = np.cumsum(ordered)
    apart = (sums[-1] - sums[:-1]) / (n - below) - sums[:-1] / below
    between = below * (n - below) / n * apart**2
    at = int(np.argmax(between))
    if between[at] <= _TWO_GROUPS * float(np.square(ordered - ordered.mean()).sum()):
        return 0.0
    share = (min(at + 1, n - at - 1) + 1) / (n + 2)
    ties = _chance(n, n // 2, share) / 2 if n % 2 == 0 else 0.0
    return (ties + sum(_chance(n, k, share) for k in range(n // 2 + 1, n + 1))) * float(apart[at])


def _chance(count: int, hits: int, share: float) -> float:
    """Of so many ``hits`` out of ``count``, each with the probability ``share`` (between 0 and 1)."""
    ways = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
    return exp(ways + hits * log(share) + (count - hits) * log(1 - share))


def shortest(counts: Floats, least: int) -> int:
    """Seconds, ``least`` or more, of cycles that stand for themselves, by a settled course of counts per second.

    Twice the time (1 + r) / (1 - r) after which seconds of an AR(1) course count as one (Law and Kelton), r being the
    correlation of neighbouring seconds, taken one-sided at 95% from above: a short course that seems to have none may
    have some. The whole course where that is not longer.
    """
    if counts.size < 2:
        return int(counts.size)
    near = alike(counts)
    near = min(near + NormalDist().inv_cdf(LEVEL) * sqrt((1 - near**2) / counts.size), _ALL_ALIKE)
    return min(max(ceil(2 * (1 + near) / (1 - near)), least), int(counts.size))


def ramp_up(counts: Floats) -> tuple[int, bool]:
    """(seconds to omit at the beginning, whether the rest is settled) of a course of counts per second.

    MSER-5: White, Cobb and Spratt, A Comparison of Five Steady-State Truncation Heuristics for Simulation, Winter
    Simulation Conference 2000. Of all beginnings the one is left out that makes the rest's squared deviation over its
    squared number smallest, in batches of 5 s; of a course below 50 s in shorter ones. Where half or more would have to
    go, the course is too short to tell: then half of it is given, and False.
    """
    width = max(1, min(5, counts.size // _BATCHES))
    batches = counts[: counts.size // width * width].reshape(-1, width).mean(axis=1)
    if batches.size < _BATCHES:
        return 0, False
    half = batches.size // 2
    scores = [float(np.square((rest := batches[at:]) - rest.mean()).sum()) / rest.size**2 for at in range(half + 1)]
    best = int(np.argmin(scores))
    return (best * width, True) if best < half else (ceil(counts.size / 2), False)
