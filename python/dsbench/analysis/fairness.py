"""Whether clients that do the same got the same: the slowest and the fastest of them, and what chance explains."""

from __future__ import annotations

from math import exp, log
from typing import Final

UNEVEN: Final = 0.8
"""A client with less than this share of the mean rate was treated otherwise than the rest."""
CHANCE: Final = 0.001
"""Probability below which chance is no explanation."""


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
