"""Tests by ranks. Those of scipy.stats give the same numbers; its import alone takes as long as all of a report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import erfc, exp, factorial, inf, pi, sqrt
from statistics import NormalDist

import numpy as np

from dsbench.stats.values import Floats

_MOST_EXACT = 33
"""Values without ties whose orders are counted; of more, tau is nearly normal."""


def ranks(values: Floats) -> Floats:
    """From 1; equal values share the mean of their ranks."""
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[at])


def slope(values: Floats) -> float:
    """The median of the slopes between any two of ``values``, which are one apart.

    Theil, A rank-invariant method of linear and polynomial regression analysis, 1950; Sen, JASA 63, 1968.
    """
    first, second = np.triu_indices(values.size, 1)
    return float(np.median((values[second] - values[first]) / (second - first)))


def trend(values: Floats) -> float:
    """Two-sided p of Kendall's tau of ``values``, which differ, against their order.

    Kendall, Rank Correlation Methods, 4th edition, 1970: of few values without ties by the number of orders that are as
    far from even, of others by the variance under no trend, less that of ties.
    """
    n = values.size
    first, second = np.triu_indices(n, 1)
    signs = np.sign(values[second] - values[first])
    falls, pairs = int((signs < 0).sum()), n * (n - 1) // 2
    fewest = min(falls, pairs - falls)
    tied = np.unique(values, return_counts=True)[1].astype(float)
    if tied.max() == 1 and (n <= _MOST_EXACT or fewest <= 1):
        return 1.0 if 2 * fewest == pairs else min(2 * sum(_orders(n, fewest)) / factorial(n), 1.0)
    variance = (n * (n - 1) * (2 * n + 5) - float((tied * (tied - 1) * (2 * tied + 5)).sum())) / 18
    return outside(abs(float(signs.sum())) / sqrt(variance))


def outside(z: float) -> float:
    """The chance that a normal value lies further from its mean than ``z`` standard deviations."""
    return erfc(z / sqrt(2))


def deviations(p: float) -> float:
    """The standard deviations outside of which a normal value lies with the chance ``p``."""
    return -NormalDist().inv_cdf(p / 2) if p > 0 else inf


def _orders(n: int, most: int) -> list[int]:
    """How many orders of ``n`` values have 0, 1, … ``most`` pairs that fall."""
    found = [1] + [0] * most
    for size in range(2, n + 1):
        sums = list(accumulate(found))
        found = [one - (sums[at - size] if at >= size else 0) for at, one in enumerate(sums)]
    return found


def differ(groups: Sequence[Floats]) -> float:
    """The statistic H of Kruskal and Wallis, corrected for ties; chi-squared with one degree of freedom less than
    groups, where these are alike.

    Use of Ranks in One-Criterion Variance Analysis, JASA 47, 1952.
    """
    every = np.concatenate(groups)
    n = every.size
    places = np.split(ranks(every), np.cumsum([group.size for group in groups])[:-1])
    between = sum(float(one.sum()) ** 2 / one.size for one in places)
    tied = np.unique(every, return_counts=True)[1].astype(float)
    return (12 / (n * (n + 1)) * between - 3 * (n + 1)) / (1 - float((tied**3 - tied).sum()) / (float(n) ** 3 - n))


def beyond(statistic: float, degrees: int) -> float:
    """The chance that a chi-squared value with so many degrees of freedom is greater.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.4.4 and 26.4.5.
    """
    half, odd = statistic / 2, degrees % 2
    found = erfc(sqrt(half)) if odd else 0.0
    term = exp(-half) * (2 * sqrt(half / pi) if odd else 1.0)
    for i in range(degrees // 2):
        found += term
        term *= half / (i + 1 + odd / 2)
    return found
