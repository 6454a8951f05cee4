"""Whether a rate has a period, such as that of checkpoints, and how long it is.

A course of counts per second is folded at each period that can be: the variance between its phases, as a share of the
whole, is large where the course repeats itself (Schwarzenberg-Czerny, On the Advantage of Using Analysis of Variance
for Period Search, Monthly Notices of the RAS 241, 1989). A rate that only wanders has slow waves, too. So its spectrum
is divided by a smooth curve before (Mann and Lees, Robust Estimation of Background Noise and Signal Detection in
Climatic Time Series, Climatic Change 33, 1996), and what is left is compared with white noise that went the same way.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dsbench.dataclass import dataclass
from dsbench.stats.values import Floats

SHORTEST: Final = 10
"""Seconds of the shortest period that is looked for; cycles below it are not in use."""
TIMES: Final = 5
"""How often a period has to be seen."""
SIGNIFICANCE: Final = 0.005
LEAST_DEPTH: Final = 0.02
"""Share of the rate between the highest and the lowest phase, below which a period is not told."""
_BINS: Final = 16
_DRAWS: Final = 400
_CLIP: Final = 6.0
"""Robust deviations at which a second is cut off: a stall must not stand for a period."""
_SPLIT: Final = 1e-3
"""Significance from which on the repetitions of a period are not alike, so that the period is a multiple of it."""
_LINE: Final = 1.2
"""ln of the spectrum over its curve, above which a frequency may be a line, and counts little for the curve."""
_LEAST: Final = 1e-12
_ROUNDS: Final = 6


@dataclass(frozen=True)
class Period:
    """A rate that repeats itself."""

    seconds: float
    depth: float
    """Share (0-1) of the highest phase by which the lowest is below it; phases are sixteenths of the period."""
    p_value: float


def longest(seconds: int) -> float:
    """The longest period that a course of so many seconds can show."""
    return seconds / TIMES


def find_period(counts: Floats) -> Period | None:
    """The period of a course of counts per second; ``None`` where it has none, or is too short to have shown one."""
    if longest(counts.size) < 2 * SHORTEST or not np.median(counts) > 0:
        return None
    known = _reference(counts.size)
    level = _level(_clipped(counts)[None])
    if not np.square(level).sum() > _LEAST:
        return None
    course = _whiten(level)
    found = (_shares(course, known.periods)[0] - known.middles) / known.deviations
    best = int(found.argmax())
    p_value = (1 + int((known.highest >= found[best]).sum())) / (_DRAWS + 1)
    if p_value > SIGNIFICANCE:
        return None
    seconds = _told_apart(course[0], known.periods, found, best, float(np.quantile(known.highest, 1 - SIGNIFICANCE)))
    depth = _depth(counts, seconds)
    return Period(float(seconds), depth, p_value) if depth >= LEAST_DEPTH else None


def _clipped(counts: Floats) -> Floats:
    """ln of the counts in robust deviations from their median."""
    logs = np.log(np.maximum(counts, np.median(counts) / 50))
    away = logs - np.median(logs)
    scale = 1.4826 * float(np.median(np.abs(away))) or 1.0
    result: Floats = np.clip(away / scale, -_CLIP, _CLIP)
    return result


def _level(courses: Floats) -> Floats:
    """Each row without its mean and its line."""
    at = np.arange(courses.shape[1]) - (courses.shape[1] - 1) / 2
    courses = courses - courses.mean(axis=1, keepdims=True)
    return courses - np.outer(courses @ at / (at @ at), at)


def _whiten(courses: Floats) -> Floats:
    """Each row with its spectrum divided by a cubic of ln frequency, fitted so that lines do not bend it."""
    n = courses.shape[1]
    spectrum = np.fft.rfft(courses, axis=1)[:, 1:]
    at = np.log(np.arange(1, spectrum.shape[1] + 1) / spectrum.shape[1])
    basis, _ = np.linalg.qr(np.stack([at**power for power in range(4)], axis=1))
    logs = np.log(np.maximum(np.abs(spectrum) ** 2 / n, _LEAST))
    weights = np.ones_like(logs)
    for _ in range(_ROUNDS):
        squares = np.einsum("fi,kf,fj->kij", basis, weights, basis)
        sums = np.einsum("fi,kf->ki", basis, weights * logs)
        curve = np.linalg.solve(squares, sums[..., None])[..., 0] @ basis.T
        away = logs - curve
        weights = np.where(away > _LINE, _LINE / 2 / np.maximum(away, _LINE),
                           np.where(away < -2, 2 / np.maximum(-away, 2), 1.0))  # fmt: skip
    whole = np.zeros((len(courses), n // 2 + 1), complex)
    whole[:, 1:] = spectrum / np.exp(curve / 2)
    return np.fft.irfft(whole, n, axis=1)


def _phases(n: int, period: float, bins: int) -> npt.NDArray[np.int64]:
    return ((np.arange(n) / period) % 1 * bins).astype(np.int64)


def _fold(n: int, period: float) -> Floats:
    """A matrix that makes each phase's sum over the root of its number."""
    matrix = np.zeros((n, _BINS))
    matrix[np.arange(n), _phases(n, period, _BINS)] = 1
    result: Floats = matrix / np.sqrt(np.maximum(matrix.sum(axis=0), 1))
    return result


def _shares(courses: Floats, periods: Floats) -> Floats:
    """Of each row and period, the share of the variance that is between phases."""
    whole = np.square(courses).sum(axis=1)
    n = courses.shape[1]
    return np.stack([np.square(courses @ _fold(n, one)).sum(axis=1) / whole for one in periods.tolist()], axis=1)


class _Reference(NamedTuple):
    """What white noise of one length shows."""

    periods: Floats
    middles: Floats
    deviations: Floats
    highest: Floats
    """The greatest of each draw."""


@lru_cache(4)
def _reference(n: int) -> _Reference:
    periods = [float(SHORTEST)]
    while periods[-1] < longest(n):
        periods.append(periods[-1] * (1 + max(periods[-1] / (6 * n), 0.005)))
    noise = np.random.default_rng(n).standard_normal((_DRAWS, n))
    shares = _shares(_whiten(_level(noise)), np.array(periods))
    middles, deviations = shares.mean(axis=0), shares.std(axis=0)
    return _Reference(np.array(periods), middles, deviations, ((shares - middles) / deviations).max(axis=1))


def _told_apart(course: Floats, periods: Floats, found: Floats, best: int, least: float) -> float:
    """The period, where parts and multiples of it stand out, too: the shortest part that does, and of its multiples
    that whose repetitions are alike."""
    period = float(periods[best])
    for part in (6, 5, 4, 3, 2):
        near = np.abs(periods * part / periods[best] - 1) < 0.02
        if near.any() and found[near].max() >= max(least, 0.4 * found[best]):
            period = float(periods[near][found[near].argmax()])
            break
    period, share, phases = _refined(course, period, _BINS)
    bins, grown = _BINS, True
    while grown:
        grown = False
        for times in (2, 3, 5):
            if times * period > longest(course.size) * 1.02:
                break
            longer, more, many = _refined(course, times * period, times * bins)
            if many <= course.size / 3 and _differ(share, phases, more, many, course.size):
                period, share, phases, bins, grown = longer, more, many, times * bins, True
                break
    return period


def _refined(course: Floats, period: float, bins: int) -> tuple[float, float, int]:
    """The best period nearby, the share between its phases, and how many of these have seconds."""
    step = period**2 / (8 * course.size)
    steps = int(np.ceil(0.02 * period / step))
    return max(((one, *_share(course, one, bins)) for one in period + step * np.arange(-steps, steps + 1)),
               key=lambda one: one[1])  # fmt: skip


def _share(course: Floats, period: float, bins: int) -> tuple[float, int]:
    at = _phases(course.size, period, bins)
    counts, sums = np.bincount(at, minlength=bins), np.bincount(at, weights=course, minlength=bins)
    there = counts > 0
    return float((sums[there] ** 2 / counts[there]).sum() / (course @ course)), int(there.sum())


def _differ(share: float, phases: int, more: float, many: int, n: int) -> bool:
    """F test: whether ``many`` phases explain more than ``phases`` of them by more than chance."""
    over, under = many - phases, n - many
    if more <= share or over < 1 or under < 1:
        return False
    root = ((more - share) / over / ((1 - more) / under)) ** (1 / 3)
    # Paulson's normal approximation of F (Annals of Mathematical Statistics 13, 1942).
    away = ((1 - 2 / (9 * under)) * root - (1 - 2 / (9 * over))) / sqrt(2 / (9 * under) * root**2 + 2 / (9 * over))
    return 1 - NormalDist().cdf(away) < _SPLIT


def _depth(counts: Floats, period: float) -> float:
    at = _phases(counts.size, period, _BINS)
    means = [float(np.mean(counts[at == one])) for one in range(_BINS) if (at == one).any()]
    return 1 - min(means) / max(means) if max(means) > 0 else 0.0
