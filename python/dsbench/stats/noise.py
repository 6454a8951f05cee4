"""How much results scatter at each level of repetition, and what difference a comparison can find in that.

Cycles of one server's start, starts on one database, and databases are levels: ln rate = mean + database + start +
cycle, each with a variance of its own. The mean squares of a balanced experiment give them (Searle, Casella and
McCulloch, Variance Components, 1992, section 4.2), with modified large-sample intervals (Ting, Burdick, Graybill,
Jeyaratnam and Lu, Confidence Intervals on Linear Combinations of Variance Components, Journal of Statistical
Computation and Simulation 35, 1990). Where to repeat follows from the variances and from what a repetition of each
level takes (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import exp, log, nan, pi, sqrt
from typing import Final

import numpy as np
from scipy import special

from dsbench.dataclass import dataclass
from dsbench.stats.precision import student
from dsbench.stats.values import Floats, Interval

LEVEL: Final = 0.95
FOUND: Final = 0.8
"""Share of comparisons that find a difference which is called visible."""
_WITHIN: Final = {3: 9.80, 4: 4.27, 5: 3.02, 6: 2.45, 7: 2.12, 8: 1.89, 9: 1.72, 10: 1.58, 12: 1.39, 15: 1.20, 20: 1.00,
                  30: 0.795, 50: 0.606}  # fmt: skip
"""Most blocks of ``ab`` to the difference in ln rate that ``FOUND`` of the comparisons find, in scatters of a run: by
simulation of the rule with 18,000 draws. It is that of a ``--difference`` no larger."""
_MEDIANS: Final = (1.0, 1.0, 1.346, 1.193, 1.434, 1.288, 1.473, 1.346, 1.495, 1.383)
"""Number of cycles to the variance of their median over that of their mean, for normal cycles; pi / 2 beyond."""
FEWEST_BLOCKS: Final = 3
MOST_BLOCKS: Final = 200
_MOST_CYCLES: Final = 20
_SHUFFLES: Final = 2000


@dataclass(frozen=True)
class Scatter:
    """Standard deviations of ln rate, about the relative ones; nan for a level that was not repeated.

    A level's own part is meant: starts on one database differ by that of starts and by what their cycles leave.
    """

    shape: tuple[int, int, int]
    """Databases, starts on each, cycles of each start."""
    squares: tuple[float, float, float]
    """Mean squares between databases, starts and cycles; nan for a level that was not repeated."""
    database: Interval
    start: Interval
    cycle: Interval

    @property
    def of_mean(self) -> float:
        """Variance of the mean of all."""
        databases, starts, cycles = self.shape
        return (self.squares[0] if databases > 1 else self.squares[1]) / (databases * starts * cycles)

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of the variance of a single cycle, by level, 0 for one that was not repeated."""
        parts = [one.value**2 if one.value > 0 else 0.0 for one in (self.database, self.start, self.cycle)]
        whole = sum(parts) or 1.0
        return parts[0] / whole, parts[1] / whole, parts[2] / whole

    def of_run(self, cycles: int, *, one_database: bool) -> Interval | None:
        """Of the median of so many cycles after a start of the server, on a database that is there or on a new one;
        ``None`` where that level was not repeated."""
        databases, starts, own = self.shape
        squares = self.squares
        median = median_factor(cycles) / cycles
        if (starts if one_database else databases) < 2:
            return None
        if starts < 2:
            parts = [(squares[0], 1 / own, databases - 1), (squares[2], median - 1 / own, databases * (own - 1))]
        else:
            within = databases * (starts - 1)
            parts = [(squares[1], 1 / own, within), (squares[2], median - 1 / own, within * own)]
            if not one_database and squares[0] > squares[1]:
                each = starts * own
                parts += [(squares[0], 1 / each, databases - 1), (squares[1], -1 / each, within)]
        least = squares[2] * median
        return _root_of(parts, least)


def median_factor(cycles: int) -> float:
    """Variance of the median of so many normal values over that of their mean."""
    return _MEDIANS[cycles - 1] if cycles <= len(_MEDIANS) else pi / 2


def _root_of(parts: Sequence[tuple[float, float, int]], least: float) -> Interval:
    """The root of a sum of mean squares times factors, after Satterthwaite (Biometrics Bulletin 2, 1946)."""
    known = [(square, factor, freedom) for square, factor, freedom in parts if freedom > 0]
    variance = max(sum(square * factor for square, factor, _ in known), least)
    if not variance > 0:
        return Interval(0.0, 0.0, 0.0, LEVEL)
    freedom = variance**2 / sum((square * factor) ** 2 / freedom for square, factor, freedom in known)
    low, high = (sqrt(variance * freedom / float(special.chdtri(freedom, tail)))
                 for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))  # fmt: skip
    return Interval(sqrt(variance), low, high, LEVEL)


def scatter(rates: Floats) -> Scatter:
    """The levels of ``rates``: tps above 0 in the shape (databases, starts, cycles), with two cycles or more.

    Raises ``ValueError`` where that is not so, or nothing but cycles is repeated.
    """
    databases, starts, cycles = rates.shape
    if cycles < 2 or databases * starts < 2 or not (rates > 0).all():
        raise ValueError("two cycles of two runs with a rate above 0 are the least")
    logs = np.log(rates)
    runs, places = logs.mean(axis=2), logs.mean(axis=(1, 2))
    free = databases - 1, databases * (starts - 1), databases * starts * (cycles - 1)
    sums = (cycles * starts * float(np.square(places - places.mean()).sum()),
            cycles * float(np.square(runs - places[:, None]).sum()), float(np.square(logs - runs[..., None]).sum()))
    of_database, of_start, of_cycle = (one / many if many else nan for one, many in zip(sums, free, strict=True))
    below, freedom = (of_start, free[1]) if starts > 1 else (of_cycle, free[2])
    return Scatter(
        (databases, starts, cycles),
        (of_database, of_start, of_cycle),
        _component(of_database, below, free[0], freedom, cycles * starts),
        _component(of_start, of_cycle, free[1], free[2], cycles),
        _root_of([(of_cycle, 1.0, free[2])], 0.0),
    )


def _component(over: float, under: float, of_over: int, of_under: int, times: int) -> Interval:
    """The root of (``over`` - ``under``) / ``times``, two mean squares with their degrees of freedom."""
    if not over >= 0:
        return Interval(nan, nan, nan, LEVEL)
    tail = (1 - LEVEL) / 2
    upper, lower = float(special.fdtri(of_over, of_under, 1 - tail)), float(special.fdtri(of_over, of_under, tail))
    (g1, h1), (g2, h2) = (
        (1 - free / float(special.chdtri(free, tail)), free / float(special.chdtri(free, 1 - tail)) - 1)
        for free in (of_over, of_under)
    )
    g12 = ((upper - 1) ** 2 - g1**2 * upper**2 - h2**2) / upper
    h12 = ((1 - lower) ** 2 - h1**2 * lower**2 - g2**2) / lower
    below = g1**2 * over**2 + h2**2 * under**2 + g12 * over * under
    above = h1**2 * over**2 + g2**2 * under**2 + h12 * over * under
    value = over - under
    ends = (value, value - sqrt(max(below, 0.0)), value + sqrt(max(above, 0.0)))
    middle, low, high = (sqrt(max(one, 0.0) / times) for one in ends)
    return Interval(middle, low, high, LEVEL)


def visible(of_run: float, blocks: int) -> float:
    """The ratio of two rates that ``FOUND`` of the comparisons by ``ab`` find within ``blocks``, 3 or more, for a
    scatter of ln rate between runs."""
    return exp(_times(blocks) * of_run)


def limit_of_pairs(variance: float, freedom: float) -> float:
    """The ratio below which ``LEVEL`` of pairs of equal runs differ, whose ln rate has a ``variance`` that is known
    with so many degrees of ``freedom``: a prediction interval of Student's."""
    return exp(student(LEVEL, freedom) * sqrt(2 * variance))


def _times(blocks: int) -> float:
    numbers = list(_WITHIN)
    if blocks >= numbers[-1]:
        return _WITHIN[numbers[-1]] * sqrt(numbers[-1] / blocks)
    return exp(float(np.interp(log(blocks), np.log(numbers), np.log(list(_WITHIN.values())))))


def blocks_for(of_run: float, difference: float) -> int | None:
    """The fewest blocks within which ``FOUND`` of the comparisons find a ``difference`` (share above 0); ``None`` above
    ``MOST_BLOCKS``."""
    wanted = log(1 + difference)
    return next((n for n in range(FEWEST_BLOCKS, MOST_BLOCKS + 1) if _times(n) * of_run <= wanted), None)


@dataclass(frozen=True)
class Costs:
    """Seconds that a repetition takes at each level, without those within it."""

    database: float
    start: float
    cycle: float


@dataclass(frozen=True)
class Design:
    """A comparison that finds a difference."""

    difference: float
    cycles: int
    one_database: bool
    blocks: int
    seconds: float


def designs(found: Scatter, costs: Costs, difference: float) -> Iterator[Design]:
    """The comparisons by ``ab`` that find a ``difference`` (share above 0), by their cycles and databases."""
    for one_database, cycles in product((False, True), range(1, _MOST_CYCLES + 1)):
        of_run = found.of_run(cycles, one_database=one_database)
        if of_run is None or (blocks := blocks_for(of_run.value, difference)) is None:
            continue
        load = cycles * costs.cycle
        # What makes a database starts a server, too.
        seconds = (costs.database + 4 * (costs.start + load) if one_database else
                   4 * (max(costs.database, costs.start) + load))  # fmt: skip
        yield Design(difference, cycles, one_database, blocks, blocks * seconds)


def best_design(found: Scatter, costs: Costs, difference: float) -> Design | None:
    """The shortest of ``designs``; ``None`` where none has ``MOST_BLOCKS`` or fewer."""
    return min(designs(found, costs, difference), key=lambda one: one.seconds, default=None)


@dataclass(frozen=True)
class GoesWith:
    """What rises or falls with the rate."""

    what: str
    correlation: float
    p_value: float
    """For all that were looked at together (Holm)."""

    @property
    def share(self) -> float:
        """Of the variance within the groups."""
        return self.correlation**2


def goes_with(logs: Floats, causes: Mapping[str, Floats], groups: Sequence[object]) -> list[GoesWith]:
    """Which of the ``causes`` go with ``logs`` within their groups, at 5% for all together, the strongest first.

    Each has a value for each of ``logs``. Their order within the groups is shuffled 2,000 times (a permutation test).
    """
    names = {one: number for number, one in enumerate(dict.fromkeys(groups))}
    group = np.array([names[one] for one in groups])
    rng = np.random.default_rng(1)
    shuffles = np.stack([np.lexsort((rng.random(group.size), group)) for _ in range(_SHUFFLES)])
    ordered = np.argsort(group, kind="stable")
    values = _within(logs, group)
    found = []
    for name, cause in causes.items():
        if not np.isfinite(cause).all():
            continue
        own = _within(cause, group)
        if not (own @ own > 0 and values @ values > 0):
            continue
        size = sqrt(float(own @ own) * float(values @ values))
        seen = float(own @ values) / size
        drawn = own[shuffles] @ values[ordered] / size
        found.append((name, seen, (1 + int((np.abs(drawn) >= abs(seen) - 1e-9).sum())) / (_SHUFFLES + 1)))
    sure, least = [], 0.0
    for place, (name, seen, p_value) in enumerate(sorted(found, key=lambda one: one[2])):
        least = max(least, min(1.0, p_value * (len(found) - place)))
        if least < 1 - LEVEL:
            sure.append(GoesWith(name, seen, least))
    return sorted(sure, key=lambda one: -one.share)


def _within(values: Floats, group: Floats) -> Floats:
    """``values`` without the means of their groups."""
    means = np.bincount(group, weights=values) / np.bincount(group)
    result: Floats = values - means[group]
    return result


