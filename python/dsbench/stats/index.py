"""The performance index DSI (the paper, eq. 12) and the rating by TPC-B clause 4.1.

The DSI breaks at a rate of 0, depends on the range of scales and comes without an error bar in the
paper. Here it is defined for rates above 0 only, travels with its range and has an interval.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import pairwise
from math import hypot, isfinite, log, log10, sqrt

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.precision import LEVEL, reach, spread
from dsbench.stats.values import Doubt, Floats, Index, Interval

COMPARABLE_CYCLES = 10
COMPARABLE_DURATION_S = 60.0


def weights(scales: Sequence[float] | Floats) -> Floats:
    """The share of lg T_s in the DSI (eq. 12), by scale: (lg X_next - lg X_before) / 4, at the ends half of a width.

    ``scales`` rise. They add up to (lg X_max - lg X_min) / 2, so that the DSI over this sum is the mean of lg T along
    lg X.
    """
    widths = np.diff(np.log10(np.asarray(scales, dtype=float)))
    return np.asarray((np.append(widths, 0.0) + np.insert(widths, 0, 0.0)) / 4, dtype=float)


def dsi(scales: Sequence[float] | Floats, rates: Sequence[float] | Floats) -> float:
    """DSI (eq. 12) = 0.5 * sum over s >= 2 of (lg T_s + lg T_{s-1}) / 2 * (lg X_s - lg X_{s-1}).

    nan for fewer than two scales or a rate of 0: there is no area under such a curve.
    """
    values = np.asarray(rates, dtype=float)
    if values.size < 2 or not (values > 0).all():
        return np.nan
    return float(weights(scales) @ np.log10(values))


def interval(rates: Mapping[int, Floats], level: float = LEVEL) -> Interval | None:
    """The DSI of the median rates with its interval at ``level`` (0-1); ``None`` where it is not defined.

    ``rates`` gives T_i (eq. 7) by scale. The DSI is a weighted sum of lg T_s, so that the variances of these medians
    add up (see ``precision.reach``). The cycles of one scale share one population of the database, so the interval
    speaks of repeating the cycles, not of repeating the run. The bounds are nan where a scale has too few cycles for
    an interval of its own rate, or one without a transaction.
    """
    scales = sorted(scale for scale in rates if rates[scale].size)
    value = dsi(scales, [float(np.median(rates[scale])) for scale in scales])
    if np.isnan(value):
        return None
    known = [spread(rates[scale]) for scale in scales]
    if any(one is None for one in known):
        return Interval(value, np.nan, np.nan, level)
    half = reach([(w / np.log(10), one) for w, one in zip(weights(scales), known, strict=True) if one], level)
    return Interval(value, value - half, value + half, level)


def interval_of_known(known: Mapping[int, Interval], level: float = LEVEL) -> Interval | None:
    """The DSI of figures with intervals of their own at ``level`` (0-1), by scale, which are independent: capacities.
    The bounds are nan where one of theirs is open; ``None`` where the DSI is not defined."""
    scales = sorted(known)
    value = dsi(scales, [known[x].value for x in scales])
    if np.isnan(value):
        return None
    parts = [(float(w), known[x]) for w, x in zip(weights(scales), scales, strict=True)]
    if not all(one.low > 0 and isfinite(one.high) for _, one in parts):
        return Interval(value, np.nan, np.nan, level)
    below = hypot(*(w * log10(one.value / one.low) for w, one in parts))
    above = hypot(*(w * log10(one.high / one.value) for w, one in parts))
    return Interval(value, value - below, value + above, level)


def share(precision: float, scales: Sequence[int], scale: int) -> float:
    """How precisely (share 0-1) the rate of ``scale`` has to be known for ``precision`` of the mean rate along lg X.

    With weights w_s of sum W, half widths h sqrt(W / w_s) of ln T_s add up to h of ln of that mean, as independent
    errors do, and need fewer cycles than any other shares of it where all scales vary alike. ``scales`` are those of
    the index, rising; another one, which does not count there, gets what the least of them gets. One alone has all of
    it.
    """
    if len(scales) < 2:
        return precision
    parts = dict(zip(scales, weights(scales), strict=True))
    return float(np.expm1(np.log1p(precision) * np.sqrt(sum(parts.values()) / parts.get(scale, min(parts.values())))))


def imprecise(found: Index, wanted: float) -> Iterator[Doubt]:
    """The cycles ended before the mean rate along lg X was known within ``wanted`` (share 0-1)."""
    if found.dsi is None or not np.isfinite(found.dsi.high):
        return
    whole = np.log10(found.highest_scale / found.lowest_scale) / 2
    known = float(10 ** ((found.dsi.high - found.dsi.value) / whole) - 1)
    if known > wanted:
        words = f"the mean rate of all scales is known to within ±{min(known, 10):.1%}, requested was ±{wanted:.1%}"
        yield Doubt("imprecise", words, "use longer cycles, or more of them: --duration, --max-cycles")


def crossing(scales: Sequence[int], rates: Sequence[float]) -> tuple[float | None, str]:
    """(X where T(X) = X, note): TPC-B clause 4.1 forbids to report more tps than the configured scale.

    Between two scales lg T is taken as linear in lg X. Of several crossings the highest counts. When
    there is none, the note says on which side the curve stays; it is empty otherwise.
    """
    points = [(scale, rate) for scale, rate in zip(scales, rates, strict=True) if rate > 0]
    if not points:
        return None, "no scale with a transaction rate above 0"
    x = np.log10([scale for scale, _ in points])
    above = np.log10([rate for _, rate in points]) - x
    if above[-1] > 0:
        return None, f"above T = X up to scale {points[-1][0]}: larger scales needed"
    if above[-1] == 0:
        return float(points[-1][0]), ""
    falls = np.flatnonzero((above[:-1] >= 0) & (above[1:] < 0))
    if falls.size == 0:
        return None, f"below T = X from scale {points[0][0]} on: fewer tps than the smallest scale has branches"
    at = int(falls[-1])
    share = above[at] / (above[at] - above[at + 1])
    return float(10 ** (x[at] + share * (x[at + 1] - x[at]))), ""


def index(
    rates: Mapping[int, Floats], *, begun: Iterable[int], void: Set[int], ladder: Sequence[int], duration_s: float,
    conduct: bool, capacities: Mapping[int, Interval] | None = None,
) -> Index:
    """The index of one run.

    ``rates`` gives T_i (eq. 7) by scale, ``begun`` all scales of the run, ``void`` those whose check failed, which are
    left out, ``ladder`` the scales of the profile whose figures are comparable, ``duration_s`` D; ``conduct`` tells
    whether clients, isolation and the like are those of that profile. ``capacities``: of a search those that it found,
    on which the index rests in place of ``rates``. T_s is the median of the T_i, the official rate
    of the scale (the paper, section 2.4) and the curve of its section 4.1.1. The index is
    comparable when it rests on that very ladder and conduct, with at least 10 cycles of 60 s each.
    """
    given = rates if capacities is None else {x: np.array([one.value]) for x, one in capacities.items()}
    used = {scale: values for scale, values in sorted(given.items()) if values.size and scale not in void}
    scales = list(used)
    crosses, note = crossing(scales, [float(np.median(values)) for values in used.values()])
    comparable = (
        conduct
        and capacities is None
        and scales == list(ladder)
        and all(values.size >= COMPARABLE_CYCLES for values in used.values())
        and duration_s >= COMPARABLE_DURATION_S
    )
    found = interval(used) if capacities is None else interval_of_known({x: capacities[x] for x in used})
    lacking = "no cycle was finished" if capacities is None else "no capacity is known"
    return Index(
        dsi=found,
        lowest_scale=min(scales, default=0),
        highest_scale=max(scales, default=0),
        comparable=comparable and found is not None,
        crossing=crosses,
        crossing_note=note,
        left_out={
            x: "its check failed" if x in void else lacking for x in sorted(begun) if x not in used
        },
    )


STEEP = 2.0
"""Factor of the fall between two scales of the ladder below which there is no cut-off to look for."""
NARROW = 1.1
"""Quotient of two scales between which no further one is put."""
MOST = 8
"""Scales that are put in between at most: enough for ten between neighbours, which 1-2-5 does not have."""


@dataclass(frozen=True)
class Fall:
    """Where the rate falls most."""

    low: int
    high: int
    """Scales that follow each other."""
    before_tps: float
    after_tps: float

    @property
    def factor(self) -> float:
        """By which the rate falls."""
        return self.before_tps / self.after_tps

    @property
    def slope(self) -> float:
        """The same by the distance: lg T over lg X."""
        return log(self.factor) / log(self.high / self.low)


def falls(rates: Mapping[int, float]) -> list[Fall]:
    """Neighbouring scales of ``rates`` (tps, above 0) between which they fall."""
    pairs = pairwise(sorted((x, rate) for x, rate in rates.items() if rate > 0))
    return [Fall(low, high, before, after) for (low, before), (high, after) in pairs if after < before]


def between(rates: Mapping[int, float], ladder: Collection[int]) -> int | None:
    """The scale that halves, in lg X, the steepest fall of ``rates``, which are of the ``ladder`` and of scales within.

    ``None`` where the ladder has no fall of ``STEEP``, the scales are as near as ``NARROW``, or ``MOST`` were made.
    """
    coarse = max(falls({x: rate for x, rate in rates.items() if x in ladder}), key=_factor, default=None)
    if coarse is None or coarse.factor < STEEP or len(set(rates) - set(ladder)) >= MOST:
        return None
    # It stays near: the halves of a fall may be smaller than another one of the ladder. Below its lower scale the fall
    # may have begun.
    first = max((x for x in ladder if x < coarse.low), default=coarse.low)
    found = max(falls({x: rate for x, rate in rates.items() if first <= x <= coarse.high}), key=_factor, default=None)
    if found is None or found.high <= NARROW * found.low:
        return None
    middle = round(sqrt(found.low * found.high))
    return middle if found.low < middle < found.high else None


def _factor(fall: Fall) -> float:
    return fall.factor
