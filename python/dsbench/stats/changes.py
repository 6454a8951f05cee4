"""Where the level of a series of results changes, and by how much.

E-divisive: Matteson and James, A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data, JASA
109 (2014); for histories of benchmarks: Daly et al., The Use of Change Point Detection to Identify Software Performance
Regressions in a Continuous Integration System, ICPE 2020. The segment is cut where both sides differ most in their
energy distance, and stays cut when hardly any course without a change does as well. Such courses are drawn from what
is left of the values beside both levels: where each leans on the one before it (AR(1)), so do they; where none does,
they are orders of these values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.comparison import relative
from dsbench.stats.precision import MOST_ALIKE
from dsbench.stats.values import Floats, Interval

FEWEST = 10
"""Results below which no change is looked for."""
LEAST = 3
"""Results on either side of a change: a single bad one is an outlier."""
SIGNIFICANCE = 0.01
_COURSES = 499
_TAKEN = 5
_SEED = 0
"""Fixed, so that a history that is read twice tells the same."""


@dataclass(frozen=True)
class LevelChange:
    """The level is another one from a result on."""

    at: int
    """Index of the first result at the new level."""
    ratio: Interval
    """Median from here to the next change over the median from the last change to here, with a bootstrap interval."""
    p_value: float
    """Share of courses without a change that fall apart as much."""


def changes(values: Floats, smallest: float) -> list[LevelChange]:
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
            LevelChange(at, relative(values[at:after], values[before:at]), found[at])
            for before, at, after in zip(ends[:-2], ends[1:-1], ends[2:], strict=True)
        ]
        least = min(told, key=lambda one: abs(np.log(one.ratio.value)))
        if abs(np.log(least.ratio.value)) >= np.log1p(smallest):
            return told
        del found[least.at]
    return []


def leaning(values: Floats, found: Sequence[LevelChange]) -> float:
    """Correlation of each of ``values`` with the one before it, beside its level: 0 to ``MOST_ALIKE``."""
    if values.size < FEWEST:
        return 0.0
    parts = np.split(np.log(values), [one.at for one in found])
    rest = np.concatenate([part - part.mean() for part in parts])
    return _near(rest)


def _cuts(values: Floats, offset: int, random: np.random.Generator) -> Iterator[tuple[int, float]]:
    """(index, p) of each change of ``values``, which begin at ``offset``."""
    if values.size < 2 * LEAST:
        return
    distances = np.abs(values[:, np.newaxis] - values)
    at, apart = _best(distances)
    if apart <= 0:
        return
    rest = np.concatenate([values[:at] - values[:at].mean(), values[at:] - values[at:].mean()])
    near, as_far = _near(rest), 0
    for _ in range(_COURSES):
        course = _course(rest, near, random)
        as_far += _best(np.abs(course[:, np.newaxis] - course))[1] >= apart
        if as_far + 1 >= SIGNIFICANCE * (_COURSES + 1):
            return
    p_value = (as_far + 1) / (_COURSES + 1)
    yield from _cuts(values[:at], offset, random)
    yield offset + at, p_value
    yield from _cuts(values[at:], offset + at, random)


def _near(rest: Floats) -> float:
    """Correlation of neighbours in what is left of a segment beside the levels of its best cut: 0 to ``MOST_ALIKE``.

    Two levels and a cut that was searched take more of it away than one mean does, five times as much by simulation
    (compare ``precision.alike``).
    """
    square = float(rest @ rest)
    found = float(rest[1:] @ rest[:-1]) / square if square > 0 else 0.0
    return min(max(found + _TAKEN * (1 + 3 * found) / rest.size, 0.0), MOST_ALIKE)


def _course(rest: Floats, near: float, random: np.random.Generator) -> Floats:
    """A course without a change, AR(1) of ``near``, out of what is new in each value of ``rest``."""
    new = np.append(rest[:1] * np.sqrt(1 - near**2), rest[1:] - near * rest[:-1])
    drawn = random.permutation(new)
    drawn[0] /= np.sqrt(1 - near**2)
    for at in range(1, drawn.size):
        drawn[at] += near * drawn[at - 1]
    return drawn


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
