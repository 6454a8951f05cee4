"""The ratio of two rates out of interleaved blocks, looked at after each of them.

Whoever looks after each block and stops at the first difference finds one sooner or later. The interval here holds the
ratio at all numbers of blocks at once with its level: that of the t-test whose martingale is a mixture over the size of
the effect, (mean / standard deviation) ~ N(0, g). Its Bayes factor is, with t of n - 1 = v degrees,

    B = (1 + n g)^(-1/2) ((1 + t^2 / v) / (1 + t^2 / (v (1 + n g))))^(n / 2)

(Gönen, Johnson, Lu and Westfall, The Bayesian Two-Sample t Test, American Statistician 59, 2005), and is a martingale
where there is no effect, so that it exceeds 1 / alpha at any time with a probability of at most alpha (Ville; Lai, On
Confidence Sequences, Annals of Statistics 4, 1976; Wang and Ramdas, Anytime-Valid t-Tests and Confidence Sequences,
Sequential Analysis 44, 2025). It supposes blocks that do not depend on each other. A block A B B A, or B A A B, takes a
drift that goes straight on out of itself. What comes back in every block, such as a slow first run, favours one side in
A B B A and the other in B A A B: so each four blocks have two of each, in an order that is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, isfinite, sqrt
from random import Random

import numpy as np

from dsbench.read.stats.values import Floats, Interval

LEVEL = 0.95
EFFECT = 10.0
"""g: variance of the effect in the mixture. A large one decides large differences after three blocks."""


ORDERS = ("ABBA", "BAAB")
_OF_FOUR = ((0, 0, 1, 1), (1, 1, 0, 0), (0, 1, 1, 0), (1, 0, 0, 1))
"""What repeats itself every block, and what changes sides from block to block, cancel within each of these fours."""


def order_of(seed: int, block: int) -> str:
    """The order of the runs of ``block``, from 1: one of ``ORDERS``, drawn with ``seed``."""
    four, place = divmod(block - 1, 4)
    return ORDERS[Random(f"{seed} {four}").choice(_OF_FOUR)[place]]


class Verdict(StrEnum):
    """What can be said of B against A."""

    FASTER = "faster"
    SLOWER = "slower"
    ALIKE = "no difference"
    OPEN = "undecided"


@dataclass(frozen=True)
class Ratio:
    """B over A after some blocks."""

    interval: Interval
    """Of the rate of B over that of A: at ``LEVEL`` for all numbers of blocks at once."""
    verdict: Verdict

    @property
    def most(self) -> float:
        """The largest difference, as a share of the rate of A or of B, that the interval leaves open."""
        return max(self.interval.high - 1, 1 / self.interval.low - 1) if self.interval.low > 0 else inf


def of_block(rates: Floats, order: str) -> float:
    """ln(B / A) of the rates of one block, made in ``order``; -inf, inf or nan with a rate of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rates)
    of_b = np.array([side == "B" for side in order])
    return float(logs[of_b].mean() - logs[~of_b].mean())


def interval(blocks: Floats, level: float = LEVEL) -> Interval:
    """exp(mean of ``blocks``, each ln(B / A)) with bounds as above; 0 and inf where nothing is known yet."""
    n = blocks.size
    value = float(np.exp(blocks.mean())) if n else np.nan
    if n < 2 or not np.isfinite(blocks).all():
        return Interval(value, 0.0, inf, level)
    wide = 1 + n * EFFECT
    base = (sqrt(wide) / (1 - level)) ** (2 / n)
    if base >= wide:
        return Interval(value, 0.0, inf, level)
    t = sqrt((n - 1) * (base - 1) / (1 - base / wide))
    half = t * float(blocks.std(ddof=1)) / sqrt(n)
    return Interval(value, value * exp(-half), value * exp(half), level)


def ratio(blocks: Floats, wanted: float) -> Ratio:
    """What the ``blocks`` say; they may end unless the verdict is ``OPEN``.

    ``wanted``: the difference (share 0-1) below which rates count as equal.
    """
    found = interval(blocks)
    if not (isfinite(found.value) and found.value > 0):
        return Ratio(found, Verdict.OPEN)
    if found.low > 1 or found.high < 1:
        return Ratio(found, Verdict.FASTER if found.low > 1 else Verdict.SLOWER)
    narrow = found.low > 0 and max(found.high - 1, 1 / found.low - 1) <= wanted
    return Ratio(found, Verdict.ALIKE if narrow else Verdict.OPEN)
