"""Rank correlation: whether one figure rises with another, however they do it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dsbench.read.stats.values import Floats


class RankCorrelation(NamedTuple):
    """Spearman's rho of two figures over the same trials."""

    rho: float
    """-1 to 1; nan where fewer than three pairs are known, or one figure is the same in all of them."""
    p: float
    """Chance of a rho so far from 0 where neither figure tells anything of the other, from permutations of the ranks;
    nan as rho."""
    pairs: int


def spearman(first: Floats, second: Floats, *, seed: int = 1, draws: int = 5000) -> RankCorrelation:
    """Rank correlation of two figures of equal length, ties at their mean rank; pairs with a nan are left out.

    Spearman (1904). The chance is that of ``draws`` random orders, the observed one included, which holds for the few
    trials of a study as well, where tables of large samples do not.
    """
    known = np.isfinite(first) & np.isfinite(second)
    pairs = int(known.sum())
    if pairs < 3 or np.ptp(first[known]) == 0 or np.ptp(second[known]) == 0:
        return RankCorrelation(float("nan"), float("nan"), pairs)
    from scipy import stats  # Late: it takes most of a second.

    one, other = (stats.rankdata(values[known]) for values in (first, second))
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one**2).sum() * (other**2).sum()))
    rho = float(one @ other) / scale
    random = np.random.default_rng(seed)
    drawn = np.abs(random.permuted(np.tile(other, (draws, 1)), axis=1) @ one) / scale
    return RankCorrelation(rho, float((1 + (drawn >= abs(rho) - 1e-12).sum()) / (1 + draws)), pairs)
