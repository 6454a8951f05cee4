"""Where the level of a series of results changes, and by how much.

E-divisive: Matteson and James, A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, JASA
109 (2014); for histories of benchmarks: Daly et al., The Use of Change Point Detection to Identify Software Performance
Regressions in a Continuous Integration System, ICPE 2020. The segment is cut where both sides differ most in their
energy distance, and stays cut when hardly any order of its values does as well. It supposes results that do not lean
on their neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dsbench.analysis.comparison import relative
from dsbench.analysis.values import Floats, Interval

FEWEST = 10
"""Results below which no change is looked for."""
LEAST = 3
"""Results on either side of a change: a single bad one is an outlier."""
SIGNIFICANCE = 0.01
_ORDERS = 499
_SEED = 0
"""Fixed, so that a history that is read twice tells the same."""


@dataclass(frozen=True)
class Change:
    """The level is another one from a result on."""

    at: int
    """Index of the first result at the new level."""
    ratio: Interval
    """Median from here to the next change over the median from the last change to here, with a bootstrap interval."""
    p_value: float
    """Share of random orders in which the segment falls apart as much."""


def changes(values: Floats, smallest: float) -> list[Change]:
    """The changes in ``values`` (above 0, in order) of at least ``smallest`` (share 0-1), the earliest first.

    None in fewer than ``FEWEST`` values. Whether a change is large enough is judged at last, as its neighbours bound
    the levels beside it; one that is too small is taken back, the smallest first.
    """
    if values.size < FEWEST:
        return []
    found = dict(sorted(_cuts(np.log(values), 0, np.random.default_rng(_SEED))))
    while found:
        ends = [0, *found, values.size]
        told = [
            Change(at, relative(values[at:after], values[before:at]), found[at])
            for before, at, after in zip(ends[:-2], ends[1:-1], ends[2:], strict=True)
        ]
        least = min(told, key=lambda one: abs(np.log(one.ratio.value)))
        if abs(np.log(least.ratio.value)) >= np.log1p(smallest):
            return told
        del found[least.at]
    return []


def _cuts(values: Floats, offset: int, random: np.random.Generator) -> Iterator[tuple[int, float]]:
    """(index, p) of each change of ``values``, which begin at ``offset``."""
    if values.size < 2 * LEAST:
        return
    distances = np.abs(values[:, np.newaxis] - values)
    at, apart = _best(distances)
    if apart <= 0:
        return
    orders = (random.permutation(values.size) for _ in range(_ORDERS))
    as_far = sum(_best(distances[np.ix_(order, order)])[1] >= apart for order in orders)
    p_value = (as_far + 1) / (_ORDERS + 1)
    if p_value < SIGNIFICANCE:
        yield from _cuts(values[:at], offset, random)
        yield offset + at, p_value
        yield from _cuts(values[at:], offset + at, random)


def _best(distances: Floats) -> tuple[int, float]:
    """(index, statistic) of the cut with the largest energy distance; ``distances`` of all pairs, shape (n, n)."""
    n = len(distances)
    sums = distances.cumsum(axis=0).cumsum(axis=1)
    m = np.arange(LEAST, n - LEAST + 1)
    k = n - m
    inside, total = sums[m - 1, m - 1], sums[-1, -1]
    between = sums[m - 1, n - 1] - inside
    after = total - 2 * between - inside
    energy = 2 * between / (m * k) - inside / (m * (m - 1)) - after / (k * (k - 1))
    statistic = m * k / n * energy
    best = int(np.argmax(statistic))
    return int(m[best]), float(statistic[best])
