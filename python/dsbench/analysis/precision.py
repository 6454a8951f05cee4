"""How precisely the median rate of a scale is known, and whether that is precise enough to stop.

A rule that looks after each cycle stops where the spread happens to be small, so that its intervals hold the truth less
often than they say: Singham and Schruben, Finite-Sample Performance of Absolute Precision Stopping Rules, INFORMS
Journal on Computing 24 (2012). Three things stand against it here: no fewer than five cycles, precision at two numbers
of cycles in a row, and a variance that counts cycles which resemble their neighbours less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, exp, isfinite, nan, sqrt
from statistics import NormalDist

import numpy as np

from dsbench.analysis.values import Floats, Interval

LEVEL = 0.95
FEWEST = 5
"""Cycles below which no spread is believed."""
MOST_ALIKE = 0.9
"""Correlation of neighbouring cycles above which none is believed: no number of cycles would do."""
_INDEPENDENT = 3.0
"""Cycles that are counted at least: with fewer, Student's t says nothing; in simulation these hold the level, too."""
_ALL_ALIKE = 0.999
_BATCHES = 10
"""At least so many batches, where the course has the seconds for them."""


@dataclass(frozen=True)
class Spread:
    """How far the median of a few cycles lies from that of all there could be."""

    variance: float
    """Of its natural logarithm."""
    degrees: float
    """Of Student's t, two or more."""


def spread(rates: Floats, fewest: int = FEWEST) -> Spread | None:
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
    return Spread(_deviation(logs) ** 2 * rates.size / independent, independent - 1)


def reach(parts: Iterable[tuple[float, Spread]], level: float = LEVEL) -> float:
    """Half of the interval at ``level`` (0-1) of a sum of weights times logarithms of medians that are independent.

    Degrees of freedom after Welch and Satterthwaite (Satterthwaite, Biometrics Bulletin 2, 1946).
    """
    variances = [(weight**2 * one.variance, one.degrees) for weight, one in parts]
    whole = sum(variance for variance, _ in variances)
    if whole <= 0:
        return 0.0
    degrees = whole**2 / sum(variance**2 / degrees for variance, degrees in variances)
    return student(level, degrees) * sqrt(whole)


def median_interval(rates: Floats, level: float = LEVEL, fewest: int = FEWEST) -> Interval:
    """The median of T_i (eq. 7, tps) with its interval at ``level`` (0-1), symmetric in lg T; bounds nan
    where its ``spread`` is unknown, as below ``fewest`` cycles (3 or more)."""
    value = float(np.median(rates)) if rates.size else nan
    known = spread(rates, fewest)
    if known is None:
        return Interval(value, nan, nan, level)
    half = reach([(1.0, known)], level)
    return Interval(value, value * exp(-half), value * exp(half), level)


def student(level: float, freedom: float) -> float:
    """t with P(|T| <= t) = ``level`` (0-1) for Student's T of ``freedom`` degrees (one or more).

    T = sqrt(n) tan(a), where the density of the angle a is proportional to cos(a)^(n - 1).
    """
    angle = np.linspace(0, np.pi / 2, 4_001)
    density = np.cos(angle) ** (freedom - 1)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return float(np.sqrt(freedom) * np.tan(np.interp(level, below / below[-1], angle)))


def half_width(rates: Floats) -> float:
    """By which share (0-1) the interval of ``median_interval`` reaches beyond the median; nan where it has no ends."""
    found = median_interval(rates, fewest=3)  # ``enough`` looks at one cycle less than ``FEWEST``, too.
    return found.high / found.value - 1 if isfinite(found.high) else nan


def enough(rates: Floats, wanted: float, fewest: int) -> bool:
    """Whether the cycles ``rates`` (tps, in order) may end: the median is known within ``wanted`` (share 0-1).

    Not before ``fewest`` cycles, nor before ``FEWEST``; the last cycle must not have decided it alone.
    """
    if rates.size < max(fewest, FEWEST):
        return False
    return all(half_width(part) <= wanted for part in (rates, rates[:-1]))


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


def shortest(counts: Floats, least: int) -> int:
    """Seconds, ``least`` or more, of cycles that stand for themselves, by a settled course of counts per second.

    Twice the time (1 + r) / (1 - r) after which seconds of an AR(1) course count as one (Law and Kelton), r being the
    correlation of neighbouring seconds, taken one-sided at 95 % from above: a short course that seems to have none may
    have some. The whole course where that is not longer.
    """
    if counts.size < 2:
        return int(counts.size)
    near = alike(counts)
    near = min(near + NormalDist().inv_cdf(LEVEL) * sqrt((1 - near**2) / counts.size), _ALL_ALIKE)
    return min(max(ceil(2 * (1 + near) / (1 - near)), least), int(counts.size))


def ramp_up(counts: Floats) -> tuple[int, bool]:
    """(seconds to leave out at the beginning, whether the rest is settled) of a course of counts per second.

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
