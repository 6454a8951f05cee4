"""What makes a TPC-C run one: shares of the mix, limits of response times, NOPM and what terminals can reach.

Facts of the TPC-C specification, revision 5.11: clauses 5.2.3 (shares), 5.2.4 (deck), 5.2.5 (times).
NOPM counts committed New-Orders per minute. It is no tpmC: that needs an audited run by all the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dsbench.analysis.values import Doubt, Floats

WORKLOAD = "tpcc"
NEW_ORDER = "new_order"
LEAST_SHARES: Mapping[str, float] = {"payment": 0.43, "order_status": 0.04, "delivery": 0.04, "stock_level": 0.04}
LIMITS_S: Mapping[str, float] = {
    "new_order": 5.0, "payment": 5.0, "order_status": 5.0, "delivery": 5.0, "stock_level": 20.0,
}  # fmt: skip
"""Of 90 % of the response times. The limit of a Delivery is that of its answer, for which the terminal waits."""
DEFERRED_S: Final = 80.0
"""The limit of a Delivery that a terminal only queued (clause 2.7.2), from queueing to its end."""
KEYING_AND_THINK_S: Mapping[str, float] = {
    "new_order": 18.0 + 12.0, "payment": 3.0 + 12.0, "order_status": 2.0 + 10.0, "delivery": 2.0 + 5.0,
    "stock_level": 2.0 + 5.0,
}  # fmt: skip
"""Keying time and mean think time (clause 5.2.5.7) around a transaction, in the order of the deck. Cutting
the think time at ten means takes 0.005 % off its mean."""
DECK = (10, 10, 1, 1, 1)
"""Cards of each kind when the setting ``mix`` says nothing."""


@dataclass(frozen=True)
class Nopm:
    """New-Orders per minute at one scale."""

    label: str
    """"NOPM", "NOPM, unpaced" without keying and thinking times, either with "mix not met" where that is so."""
    median: float
    """Over the cycles: the rate of the scale."""
    minimum: float
    maximum: float
    per_warehouse: float
    """Median by the number of warehouses."""
    terminals_per_warehouse: float | None
    """``None`` when nobody keys in and thinks."""
    ceiling: float | None
    """New-Orders per minute and warehouse that these terminals enter on average when the database answers at
    once, those that are rolled back on purpose (1 %) included; ``None`` without terminals."""


def nopm(
    new_orders: Floats,
    duration_s: float,
    scale: int,
    *,
    deck: Sequence[int] = DECK,
    terminals: int | None = None,
    mix_met: bool = True,
) -> Nopm:
    """NOPM of a scale out of the committed New-Orders of each cycle.

    ``terminals`` are those of all warehouses together, ``None`` without keying and thinking times.
    """
    rates = new_orders / duration_s * 60
    middle, least, most = (float(pick(rates)) if rates.size else np.nan for pick in (np.median, np.min, np.max))
    words = ["NOPM", "" if terminals else "unpaced", "" if mix_met else "mix not met"]
    label = ", ".join(word for word in words if word)
    if terminals is None:
        return Nopm(label, middle, least, most, middle / scale, None, None)
    ceiling = ceiling_per_minute(deck, terminals) / scale
    return Nopm(label, middle, least, most, middle / scale, terminals / scale, ceiling)


def ceiling_per_minute(deck: Sequence[int], terminals: int) -> float:
    """New-Orders per minute of ``terminals`` that never wait: 60 T n_0 / sum over k of n_k (keying_k + mean think_k).

    n_k is the number of cards of kind k in ``deck``.
    """
    pass_s = sum(cards * time_s for cards, time_s in zip(deck, KEYING_AND_THINK_S.values(), strict=True))
    return 60 * terminals * deck[0] / pass_s


def limits_of(settings: Mapping[str, str]) -> Mapping[str, float]:
    """Limits in s of 90 % of the response times, by kind, under these settings of the workload."""
    return {**LIMITS_S, "delivery": DEFERRED_S} if settings.get("delivery") == "deferred" else LIMITS_S


def deck_of(settings: Mapping[str, str]) -> tuple[int, ...]:
    """The deck that the settings of the workload ask for; the core has refused what is none."""
    mix = settings.get("mix")
    return tuple(int(cards) for cards in mix.split(",")) if mix else DECK


def size_doubts(settings: Mapping[str, str]) -> list[Doubt]:
    """That only a part of the specification's rows was there, by the setting ``size``."""
    part = float(settings.get("size", 1))
    if part == 1:
        return []
    message = f"the database holds {part:.0%} of the rows of TPC-C: the figures are not TPC-C-like"
    return [Doubt("size", message, "leave --set size out; a part of the rows is for trying out")]
