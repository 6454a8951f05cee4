"""Whether clients that do the same got the same: the slowest and the fastest of them, and what chance explains."""

from __future__ import annotations

from math import exp, log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dsbench.dataclass import dataclass
from dsbench.stats.values import Floats, Frequency, Ints

UNEVEN: Final = 0.8
"""A client with less than this share of the mean rate was treated otherwise than the rest."""
LONGEST: Final = 10.0
"""Medians of the residence times, beyond which a time is no scatter but a wait."""
CHANCE: Final = 0.001
"""Probability below which chance is no explanation."""


@dataclass(frozen=True)
class Evenness:
    """How evenly the clients of one group got their transactions at one scale; arrays have one value for each cycle.
    nan in a cycle in which nothing was committed."""

    cycles: Ints
    """Their numbers."""
    clients: int
    """Most in a cycle."""
    least: Floats
    """Rate of the slowest client by the mean of all."""
    largest: Floats
    """That of the fastest."""
    uneven: tuple[int, ...]
    """Cycles in which the slowest has less than ``UNEVEN`` and chance does not explain it."""


def evenness(cycles: Ints, counts: Ints, present: NDArray[np.bool_], irregularity: float) -> Evenness | None:
    """``counts``: committed transactions, shape (cycles, nodes, clients); ``present``: nodes that took part, shape
    (cycles, nodes); ``irregularity`` as in ``by_chance``. ``None`` where there is only one client.

    Each cycle is tested at ``CHANCE`` by the number of cycles, so that all of them together are.
    """
    clients = int(present.sum(axis=1).max(initial=0)) * counts.shape[2]
    if clients < 2:
        return None
    least, largest, uneven = np.full(cycles.size, np.nan), np.full(cycles.size, np.nan), []
    for at, cycle in enumerate(cycles.tolist()):
        of = counts[at][present[at]].reshape(-1)
        mean = float(of.mean()) if of.size else 0.0
        if mean == 0.0:
            continue
        least[at], largest[at] = of.min() / mean, of.max() / mean
        if least[at] < UNEVEN and by_chance(mean, float(of.min()), of.size, irregularity) < CHANCE / cycles.size:
            uneven.append(cycle)
    return Evenness(cycles, clients, least, largest, tuple(uneven))


def irregularity(curve: Frequency | None) -> float:
    """c²: variance of the residence times of ``curve`` by the square of their mean; 1 where there is none.

    No time counts as more than ``LONGEST`` medians: waits by which a client starves must not excuse that it does.
    """
    if curve is None or not curve.residence_ns.size:
        return 1.0
    share = -np.diff(curve.longer, prepend=1.0)
    median = float(curve.residence_ns[np.argmax(curve.longer <= 0.5)])
    times = np.minimum(curve.residence_ns, LONGEST * median)
    mean = float((share * times).sum())
    return float((share * (times - mean) ** 2).sum()) / mean**2 if mean > 0 else 1.0


def by_chance(mean: float, found: float, clients: int, irregularity: float = 1.0) -> float:
    """An upper bound (0-1) of the probability that the slowest of ``clients`` equal ones has at most ``found``
    transactions where they have ``mean`` on average.

    A Poisson number X of mean μ is at most x = rμ < μ with a probability of at most e^(-μ) (eμ/x)^x =
    exp(-μ (1 - r + r ln r)) (Mitzenmacher and Upfal, "Probability and Computing", theorem 5.4: Chernoff's bound);
    any of several with at most the sum of theirs (Boole). Clients of a closed loop make a renewal process instead:
    its number has the variance μ c², c being the residence times' standard deviation by their mean (Cox, "Renewal
    Theory", 1962, 3.3).
    ``irregularity`` is c²: above 1 the bound is that of μ/c² and x/c²; below 1, where numbers are steadier than
    Poisson's, it is not made sharper.
    """
    if found >= mean:
        return 1.0
    ratio = found / mean
    exponent = 1 - ratio + (ratio * log(ratio) if ratio else 0.0)
    return min(1.0, clients * exp(-mean / max(1.0, irregularity) * exponent))
