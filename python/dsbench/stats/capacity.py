"""The highest rate at which an objective holds: where to look for it, and how sure it is.

An open loop at a rate x has a share f(x) of transactions that miss the objective; the capacity is the rate where f is
the share that it allows, q. Near it logit f is close to a straight line in x: the waiting time of a queue with
exponential times has an exponential tail, P(W > t) = C exp(-(c mu - x) t) (Kleinrock, Queueing Systems I, 3.5). The
curve of a server that stalls now and then is bent more: about 1 / (1 - x / (c mu)). So steps far away do not count.

Misses come in clusters, those of one congestion, so that counts scatter more than binomial ones. They are taken for
negative binomial with variance phi times the mean, phi estimated with the rest; the interval is that of the profile
likelihood. A congestion lasts as long as the queue remembers, about (c mu - x)^-2 near saturation (Kleinrock, 3.5),
so that clusters grow with the rate: d ln phi / dx = 2 / (c mu - x), beside d ln f / dx = t, and as
t (c mu - x) = ln(C / q) at the capacity, phi grows there as f to the power of 2 / ln(1 / q). Taken for constant, the
steps above the capacity would count too much, and pull the line flat and the capacity down by 1.5%.
Decision 032 has the simulation of what all this promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log, sqrt
from typing import Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.values import Floats

LEAST: Final = 8
"""Whole steps before a search may end."""
CLUSTERS: Final = 15
"""Clusters of misses that were expected near the capacity before a search may end."""
SHORT: Final = 0.2
"""Length of a step that looks for the region, relatively to a whole one."""
_POINTS: Final = 97
"""Rates at which the profile is computed."""
_WINDOWS: Final = (1, 3)
"""Widths of the range in which the ends of the interval are looked for, the second where the first has none."""
_FARTHEST: Final = 1.6
"""Of ln rate: ends of an interval that lie farther are not known."""
_LEAST_FREE: Final = 1.0
"""Degrees of freedom of the interval, at least."""
_CUT: Final = 0.98
"""Level of the profile likelihood. A search ends when its interval is narrow, which makes it too narrow: this level
covers the capacity in 95% of simulated searches and more."""
_NEAR: Final = 2.5
"""Steps whose expected logit is so near to that of the allowed share count for the fit."""
_BESIDE: Final = 0.1
"""But those within this of ln rate always: where cycles differ by more than their rates, few of them make any slope."""
_BAND: Final = 0.5
"""And of ln rate: beyond it the line does not hold."""
_SPREAD: Final = 1.5
"""Standard deviation of ln slope around its expectation."""
_FAR: Final = 4.0
"""Steps whose logit of misses lies as far above that of the allowed share are of a server that is overloaded: there the
line does not hold."""
_WIDEST: Final = 0.4
"""Of ln rate: how far from the capacity a step lies at most, where the share of misses hardly grows with the rate."""
_MOST_TOGETHER: Final = 1e4
"""Misses that come together at most, so that a step far off does not hide the others."""
_CLIMB: Final = 1.3
_LOOKS: Final = 14
"""Short steps after which no further one looks for the region: 1.3 to the 14th is 39."""
_FEW: Final = 3.0
"""Misses that a short step at the capacity should expect, at least."""
_MOST_STRETCH: Final = 4.0
_TAIL_FEW: Final = 1.5
"""Clusters in a step below which the next one is longer."""


@dataclass(frozen=True)
class Step:
    """A stretch of load at one rate."""

    rate: float
    """Demanded starts per second."""
    seconds: float
    count: float
    """Transactions that were due."""
    missed: float
    """Those that missed the objective."""
    whole: bool = True
    """Whether it counts for the capacity, and does not only look for the region."""
    spoilt: bool = False
    """Whether what made the load stood still: then its misses are not the server's, and it counts for nothing."""


@dataclass(frozen=True)
class Capacity:
    """The estimate from some steps."""

    rate: float
    """Per second."""
    low: float
    """Bounds of its 95% interval; 0 and inf where the steps do not tell."""
    high: float
    slope: float
    """Of logit f over ln rate there."""
    dispersion: float
    """phi there: how many misses come together."""
    steps: int
    """Those near the capacity."""
    clusters: float
    """Clusters of misses that these lead to expect."""

    @property
    def reach(self) -> float:
        """Half the width of the interval, relatively."""
        return (self.high / self.low - 1) / 2 if self.low > 0 else inf


def estimate(steps: Sequence[Step], allowed: float, limit_s: float = 0.0) -> Capacity | None:
    """The capacity by ``steps``, of which a share ``allowed`` (0-1) may miss the objective; ``None`` where it lies
    beyond all of them.

    ``limit_s``: the longest time of the objective, from which the slope is expected; 0 for other objectives.
    """
    known = [step for step in steps if step.count and not step.spoilt]
    # Short steps only look for the region: a server that stalls now and then has no stall in most of them.
    whole = [step for step in known if step.whole]
    lowest_miss = min((step.rate for step in whole if step.missed > allowed * step.count), default=inf)
    # Nor do they tell that a rate is kept which a whole one misses: no queue has grown in them yet.
    known = [step for step in known if step.whole or step.rate < lowest_miss]
    known = whole if _bracket(whole, allowed) else known
    in_line = [step for step in known if step.missed < _saturated(allowed) * step.count]
    if not _bracket(in_line, allowed):
        return _fit_line(known, allowed, limit_s)
    found = _fit_line(in_line, allowed, limit_s)
    # An overload where the capacity may lie is one by chance, or tells that it lies lower: most of the steps say which.
    against = [step for step in known if step not in in_line and found and step.rate <= found.high]
    lowest_against = min((step.rate for step in against), default=inf)
    holding = sum(step.rate >= lowest_against and step.missed <= allowed * step.count for step in in_line)
    return _fit_line([*in_line, *against], allowed, limit_s) if len(against) > holding else found


def _fit_line(known: Sequence[Step], allowed: float, limit_s: float) -> Capacity | None:
    """The capacity by the steps of ``known`` that are near it."""
    x = np.log([step.rate for step in known])
    n, b = np.array([step.count for step in known]), np.array([step.missed for step in known])
    if not _bracket(known, allowed):
        return None
    expected = max(float(np.exp(x).mean()) * limit_s, 3.0) if limit_s else 5.0
    centre, slope, phi = _crossing(x, n, b, allowed), expected, 30.0
    for _ in range(4):
        near = _choose_near(x, centre, slope)
        centre, slope, phi = _fit(x[near], n[near], b[near], allowed, (centre, slope, phi), expected)
    near = _choose_near(x, centre, slope)
    return _interval(x[near], n[near], b[near], allowed, (centre, slope, phi), expected)


def _bracket(steps: Sequence[Step], allowed: float) -> bool:
    return len({step.missed <= allowed * step.count for step in steps}) == 2


def _saturated(allowed: float) -> float:
    return float(1 / (1 + exp(-_logit(allowed) - _FAR)))


def _crossing(x: Floats, n: Floats, b: Floats, allowed: float) -> float:
    """ln of the rate at which the isotonic share of misses passes ``allowed``."""
    blocks: list[tuple[float, float, float, float]] = []  # misses, count, first and last x
    for at in np.argsort(x):
        blocks.append((b[at], n[at], x[at], x[at]))
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            later, earlier = blocks.pop(), blocks.pop()
            blocks.append((earlier[0] + later[0], earlier[1] + later[1], earlier[2], later[3]))
    below = [last for misses, count, _, last in blocks if misses <= allowed * count]
    above = [first for misses, count, first, _ in blocks if misses > allowed * count]
    if not below or not above:
        return float(min(x) if not below else max(x))
    return float(max(below) + min(above)) / 2


def _choose_near(x: Floats, centre: float, slope: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which steps count; four at least."""
    distance = np.abs(x - centre)
    near = ((distance * slope <= _NEAR) | (distance <= _BESIDE)) & (distance <= _BAND)
    return np.asarray(near | (distance <= np.sort(distance)[:4][-1]))


_Point = tuple[float, float, float]
"""ln capacity, slope, phi."""


def _fit(x: Floats, n: Floats, b: Floats, allowed: float, start: _Point, expected: float) -> _Point:
    """Quasi-binomial regression of logit f on ln rate, by a grid; phi is Pearson's."""
    centre, _, phi = start
    reach = max(3 / start[1], 0.03)
    centres, slopes = np.linspace(centre - reach, centre + reach, 121), np.geomspace(0.25, 500, 39)
    eta = _logit(allowed) + slopes[:, None] * np.expm1(x - centres[:, None, None])
    lost = 2 * ((n * np.logaddexp(0, eta) - b * eta) / _growth(x, allowed, centre, start[1])).sum(-1)
    deviance = lost + phi * (np.log(slopes / expected) / _SPREAD) ** 2
    row, column = np.unravel_index(int(deviance.argmin()), deviance.shape)
    centre, slope = float(centres[row]), float(slopes[column])
    share = np.clip(_share(x, allowed, centre, slope), 1e-6, 1 - 1e-6)
    variance = n * share * (1 - share) * _growth(x, allowed, centre, slope)
    pearson = float(((b - n * share) ** 2 / variance).sum())
    return centre, slope, min(max(pearson / max(x.size - 1.5, 1), 1.0), _MOST_TOGETHER)


def _interval(x: Floats, n: Floats, b: Floats, allowed: float, start: _Point, expected: float) -> Capacity:
    """The profile of the negative binomial likelihood over the capacity."""
    from scipy import special  # Late: a run without a search needs none of it.

    found = Capacity(exp(start[0]), 0.0, inf, start[1], start[2], x.size, 0.0)
    for wide in _WINDOWS:
        reach = min(wide * max(10 / start[1], 0.1), _FARTHEST)
        centres = np.linspace(start[0] - reach, start[0] + reach, _POINTS)
        profile, best = _profile(x, n, b, allowed, start, expected, centres)
        at = int(profile.argmin())
        slope, together = (float(one) for one in best[at])
        clusters = float((n * np.minimum(_share(x, allowed, centres[at], slope), 0.5)).sum() / together)
        freedom = max(min(x.size - 1.5, clusters - 1), _LEAST_FREE)
        low, high = _ends(centres, profile, profile[at] + float(special.fdtri(1, freedom, _CUT)))
        found = Capacity(exp(_vertex(centres, profile, at)), low, high, slope, together, x.size, clusters)
        if low > 0 and high < inf:
            break
    return found


def _profile(
    x: Floats, n: Floats, b: Floats, allowed: float, start: _Point, expected: float, centres: Floats
) -> tuple[Floats, Floats]:
    """At each of ``centres`` the least deviance, and slope and phi where it is."""
    from scipy import special  # Late, as above.

    slopes = start[1] * np.geomspace(1 / 6, 6, 13)
    phis = max(start[2], 1.2) * np.geomspace(1 / 6, 8, 10)
    constant = special.gammaln(b + 1).sum()
    profile, best = np.empty(centres.size), np.empty((centres.size, 2))
    for at, centre in enumerate(centres):
        mean = np.maximum(n * _share(x, allowed, centre, slopes[:, None]), 1e-9)[:, None, :]
        phi = np.maximum(phis[:, None] * _growth(x, allowed, centre, slopes[:, None])[:, None, :], 1.05)
        size = mean / (phi - 1)
        terms = special.gammaln(b + size) - special.gammaln(size) - size * np.log(phi) + b * np.log1p(-1 / phi)
        deviance = 2 * (constant - terms.sum(-1)) + (np.log(slopes / expected) / _SPREAD)[:, None] ** 2
        row, column = np.unravel_index(int(deviance.argmin()), deviance.shape)
        profile[at], best[at] = deviance[row, column], (slopes[row], phis[column])
    return profile, best


def _ends(centres: Floats, profile: Floats, level: float) -> tuple[float, float]:
    """The rates at which ``profile`` passes ``level`` on either side, on straight lines between its points; 0 and inf
    where it does not."""
    inside = np.flatnonzero(profile <= level)
    first, last = int(inside[0]), int(inside[-1])
    low = np.interp(level, profile[[first, first - 1]], centres[[first, first - 1]]) if first > 0 else -inf
    high = np.interp(level, profile[[last, last + 1]], centres[[last, last + 1]]) if last < centres.size - 1 else inf
    return exp(low), exp(high) if high < inf else inf


def _vertex(centres: Floats, profile: Floats, at: int) -> float:
    """Where the parabola through the least of ``profile`` and its neighbours is least."""
    if not 0 < at < centres.size - 1:
        return float(centres[at])
    before, here, after = profile[at - 1 : at + 2]
    bend = before - 2 * here + after
    return float(centres[at] + (centres[1] - centres[0]) * (before - after) / (2 * bend) if bend > 0 else centres[at])


def _logit(share: float) -> float:
    return log(share / (1 - share))


def _share(x: Floats, allowed: float, centre: float, slope: float | Floats) -> Floats:
    """f at ``x``; ``slope`` is that of logit f over ln rate at ``centre``."""
    return np.asarray(1 / (1 + np.exp(-np.clip(_logit(allowed) + slope * np.expm1(x - centre), -500, 500))))


def _growth(x: Floats, allowed: float, centre: float, slope: float | Floats) -> Floats:
    """phi at each step, relatively to that at the capacity."""
    power = min(2 / log(1 / allowed), 1.0)
    return np.asarray(np.exp(power * np.clip(slope * np.expm1(x - centre), -_NEAR, _NEAR)))


@dataclass(frozen=True)
class Search:
    """What a search for a capacity has to keep to."""

    seconds: float
    """Of a whole step."""
    precision: float
    """Half the relative width of the interval at which it ends."""
    most: int
    """Steps."""
    budget_s: float
    """Of all steps together, with what comes between them."""
    between_s: float = 0.0
    """Around each step: its ramp-up, and what else it takes."""


Judged = tuple[float, float]
"""Of an objective: the allowed share, and its limit in s or 0."""


def next_step(steps: Sequence[Sequence[Step]], wanted: Sequence[Judged], search: Search, start: float) -> Step | None:
    """The rate and the length of the next step; ``None`` when the search is over.

    ``steps``: for each of the objectives ``wanted`` the steps so far, judged by it. ``start``: the first rate.

    Short steps climb or fall by a third until one keeps all objectives and one misses some. Then whole steps lie, in
    turn, above and below the estimate by that at which the share of misses is e times as large, or small: there a step
    tells most of where the line passes (D-optimal designs for a logit lie at 1.0 to 1.5); ``_place`` has the limits.
    They grow longer where a step
    has hardly one cluster of misses.
    """
    least, made = min(allowed for allowed, _ in wanted), len(steps[0])
    spent = sum(step.seconds + search.between_s for step in steps[0])
    start = steps[0][0].rate if steps[0] else start
    # What was spoilt is made again: the next step follows from those before it.
    steps = [[step for step in of if not step.spoilt] for of in steps]
    done = steps[0]

    def short(rate: float) -> Step:
        return Step(rate, max(search.seconds * SHORT, min(_FEW / (least * rate), search.seconds)), 0, 0, whole=False)

    if not made:
        return short(start)
    if made >= search.most or spent + search.seconds + search.between_s > search.budget_s:
        return None
    if not done:
        return short(start)
    good = _judge(steps, wanted)
    kept = [step.rate for step, keeps in zip(done, good, strict=True) if keeps]
    broken = [step.rate for step, keeps in zip(done, good, strict=True) if not keeps]
    if not kept or not broken:
        looked = len(done) < _LOOKS
        return short(max(kept) * _CLIMB if kept else min(broken) / _CLIMB) if looked else None
    whole = [step for step in done if step.whole]
    found = lowest(steps, wanted) if whole else None
    if found is None:
        if whole and max(kept) > min(broken):
            return Step(min(broken) / _CLIMB, search.seconds, 0, 0)
        return Step(sqrt(max(kept) * min(broken)), search.seconds, 0, 0)
    if _is_known(found[1], len(whole), search.precision):
        return None
    step = _place(found, whole, wanted, search, _find_overload(steps, wanted, found[1].rate))
    return step if spent + step.seconds + search.between_s <= search.budget_s else None


def _is_known(capacity: Capacity, whole: int, precision: float) -> bool:
    enough = whole >= LEAST and capacity.steps >= LEAST - 2 and capacity.clusters >= CLUSTERS
    return enough and capacity.reach <= precision


def _find_overload(steps: Sequence[Sequence[Step]], wanted: Sequence[Judged], above: float) -> float:
    """The lowest rate beyond ``above`` that missed by more than the line holds for."""
    rates = (step.rate for of, (allowed, _) in zip(steps, wanted, strict=True) for step in of
             if step.rate > above and step.missed >= _saturated(allowed) * step.count)  # fmt: skip
    return min(rates, default=inf)


def _place(
    found: tuple[int, Capacity], whole: Sequence[Step], wanted: Sequence[Judged], search: Search, overload: float
) -> Step:
    """A whole step beside the capacity, on the other side than the last one; nearer to it than to an ``overload``,
    which tells nothing of the line; but no nearer than the precision that is wanted. Of a server whose cycles differ by
    more than their rates a few of them may make any slope, and steps that believe a steep one all lie at one rate and
    learn nothing of it."""
    at, capacity = found
    side = 1 if len(whole) % 2 else -1
    away = min(max(1 / capacity.slope, search.precision), _WIDEST)
    rate = min(capacity.rate * exp(side * away), sqrt(capacity.rate * overload))
    longest = whole[-1].seconds
    few = len(whole) >= 4 and rate * longest * wanted[at][0] < _TAIL_FEW * capacity.dispersion
    return Step(rate, min(longest * 1.5, search.seconds * _MOST_STRETCH) if few else longest, 0, 0)


def _judge(steps: Sequence[Sequence[Step]], wanted: Sequence[Judged]) -> list[bool]:
    """For each step whether it kept all objectives."""
    return [all(one.missed <= allowed * one.count for one, (allowed, _) in zip(same, wanted, strict=True))
            for same in zip(*steps, strict=True)]  # fmt: skip


def lowest(steps: Sequence[Sequence[Step]], wanted: Sequence[Judged]) -> tuple[int, Capacity] | None:
    """The objective that holds least far, by its number, and its capacity; ``None`` where no step misses any."""
    each = [(at, estimate(of, *judged)) for at, (of, judged) in enumerate(zip(steps, wanted, strict=True)) if of]
    known = [(at, capacity) for at, capacity in each if capacity is not None]
    return min(known, key=lambda one: one[1].rate, default=None)
