"""The number of clients with the greatest rate: how to find it in few cycles, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, isnan, nan

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.precision import LEVEL, reach, spread
from dsbench.stats.values import Floats, Interval

_BELOW = 0.85
"""A rate that is this far below the greatest, relatively, may lie beyond the peak."""
_LEAST_CYCLES = 3
"""Of the best and its neighbours, before their intervals may end the search."""
_FRESH = 3
"""Cycles of the best that follow the search: those by which it was chosen are the lucky ones among others."""


@dataclass(frozen=True)
class Peak:
    """The best of several numbers of clients, and its ratios to the numbers tried next to it."""

    clients: int
    rate_tps: float
    """Median of its ``fresh`` cycles, or of all of them where there are none."""
    neighbours: tuple[tuple[int, Interval], ...]
    """Number of clients, with ``rate_tps`` / rate there; its bounds are nan where one has fewer than five cycles."""
    at_the_end: bool
    """Whether it is the greatest number that was tried, so that the peak may lie beyond."""
    fresh: int = 0
    """Of a search its last cycles, by which it was not chosen: their median is no best of several."""

    @property
    def sure(self) -> bool:
        """Whether both neighbours are below it in more than chance."""
        return not self.at_the_end and all(ratio.low > 1 for _, ratio in self.neighbours)


def peak(rates: Mapping[int, Sequence[float]], *, searched: bool) -> Peak | None:
    """The peak of ``rates``: by number of clients, those of its cycles in tps. ``None`` with fewer than two numbers.

    ``searched``: by ``next_number``. Other runs chose no number, and all cycles count.
    """
    known = {clients: np.array(found) for clients, found in sorted(rates.items()) if len(found)}
    if len(known) < 2:
        return None
    numbers = list(known)
    best = _best(known) if searched else max(known, key=lambda n: float(np.median(known[n])))
    fresh = known[best][_chosen_by(known) :] if searched else known[best][:0]
    told = fresh if fresh.size else known[best]
    at = numbers.index(best)
    beside = [numbers[n] for n in (at - 1, at + 1) if 0 <= n < len(numbers)]
    ratios = tuple((clients, _ratio(told, known[best], known[clients])) for clients in beside)
    return Peak(best, float(np.median(told)), ratios, at == len(numbers) - 1, fresh.size)


def _ratio(told: Floats, every: Floats, reference: Floats) -> Interval:
    """median(``told``) / median(``reference``) with its interval. What ``told`` scatters is that of ``every`` cycle of
    this number of clients: of themselves they are too few to tell."""
    below = float(np.median(reference))
    value = float(np.median(told)) / below if below > 0 else nan
    ours, theirs = spread(every), spread(reference)
    if ours is None or theirs is None:
        return Interval(value, nan, nan, LEVEL)
    half = reach([(1.0, replace(ours, variance=ours.variance * every.size / told.size)), (1.0, theirs)])
    return Interval(value, value * exp(-half), value * exp(half), LEVEL)


def next_number(numbers: Sequence[int], rates: Mapping[int, Sequence[float]], cycles: int) -> int | None:
    """The number of clients of the next cycle, out of ``numbers`` (rising); ``None`` when the search is over.

    It climbs by every second number until two rates in a row are far below the greatest, tries those next to the
    best, and then repeats the best and its neighbours, up to ``cycles`` each or until their intervals are apart. At the
    end the best has a few cycles more than any other, by which it was not chosen.
    """
    tried = [n for n in numbers if rates.get(n)]
    median = {n: float(np.median(rates[n])) for n in tried}
    best = _best({n: rates[n] for n in tried}) if tried else None
    coarse = [n for at, n in enumerate(numbers) if at % 2 == 0 or at == len(numbers) - 1]
    climbed = [n for n in coarse if n in median]
    beyond = best is not None and len([n for n in climbed[-2:] if median[n] < _BELOW * median[best]]) == 2
    if len(climbed) < len(coarse) and not beyond:
        return coarse[len(climbed)]
    if best is None:
        return None
    at = numbers.index(best)
    trio = [numbers[n] for n in (at, at - 1, at + 1) if 0 <= n < len(numbers)]
    for n in trio:
        if n not in median:
            return n
    fewest = min(trio, key=lambda n: len(rates[n]))
    enough = len(rates[fewest]) >= cycles
    if not enough and not (len(rates[fewest]) >= _LEAST_CYCLES and _apart(rates, trio)):
        return fewest
    fresh = len(rates[best]) - _chosen_by({n: rates[n] for n in tried})
    return best if len(trio) > 1 and fresh < min(_FRESH, cycles) else None


def _best(rates: Mapping[int, Sequence[float] | Floats]) -> int:
    """That of the highest median; cycles that no other number has do not count, so that fresh ones change nothing."""
    most = _chosen_by(rates)
    return max(rates, key=lambda n: float(np.median(rates[n][:most])))


def _chosen_by(rates: Mapping[int, Sequence[float] | Floats]) -> int:
    """How many cycles of each number count in the choice, from the first: as many as two numbers have."""
    return sorted(len(found) for found in rates.values())[-2:][0]


def _apart(rates: Mapping[int, Sequence[float]], trio: Sequence[int]) -> bool:
    """Whether the first of ``trio`` is above the others in more than chance."""
    best, *beside = (np.array(rates[n]) for n in trio)
    return bool(beside) and all(_ratio(best, best, one).low > 1 for one in beside)


def _short(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def in_words(found: Peak, *, told: bool = False) -> str:
    """One line: ``peak 1,234 tps at 8 clients: 1.10 [1.05, 1.14] times the rate at 6 …``; ``told``: what the highest of
    several medians is stands elsewhere."""
    parts = []
    for clients, ratio in found.neighbours:
        within = "" if isnan(ratio.low) else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
        parts.append(f"{ratio.value:.2f}{within} times the rate at {clients:,}")
    plural = "s" * (found.clients != 1)
    words = f"{_short(found.rate_tps)} tps at {found.clients:,} client{plural}: {', '.join(parts)}"
    # Its fresh cycles may be worse than those by which it was chosen.
    if as_good := [clients for clients, ratio in found.neighbours if ratio.value < 1]:
        numbers = " or ".join(f"{one:,}" for one in sorted({found.clients, *as_good}))
        words = f"the peak is at {numbers} clients: {words}"
    else:
        words = f"peak {words}"
    if not found.fresh and not told:
        words += "; as the highest of several medians, it tends to be too high"
    if found.at_the_end:
        return f"{words}; the peak may be at more clients"
    return words if found.sure else f"{words}; this may be chance: neighbouring numbers of clients may be as good"
