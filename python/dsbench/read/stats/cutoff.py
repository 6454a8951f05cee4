"""Between which scales the rate falls most (the paper, section 4.7.2), and which scale would tell more."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt

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
