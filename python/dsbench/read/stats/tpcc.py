"""NOPM, and what terminals can reach of it.

NOPM counts committed New-Orders per minute. It is no tpmC: that needs an audited run by all the rules. The kind that
counts, the deck and the times of people at terminals are the workload's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dsbench.read.stats.values import Doubt, Floats
from dsbench.workloads import Entry, Kind


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
    """``None`` without keying and thinking times."""
    ceiling: float | None
    """New-Orders per minute and warehouse that these terminals enter on average when the database answers at
    once, those that are rolled back on purpose (1 %) included; ``None`` without terminals."""
    by_cycle: tuple[float, ...] = ()
    """Of each cycle, in order."""


def nopm(
    new_orders: Floats,
    duration_s: float | Floats,
    scale: int,
    workload: Entry,
    *,
    terminals: int | None = None,
    mix_met: bool = True,
) -> Nopm:
    """NOPM of a scale out of the committed transactions of each cycle that the headline of ``workload`` counts.

    The duration is one for all cycles, or for each its own.

    ``terminals`` are those of all warehouses together, ``None`` without keying and thinking times.
    """
    headline = workload.headline
    rates = new_orders / duration_s * headline.per_s
    middle, least, most = (float(pick(rates)) if rates.size else np.nan for pick in (np.median, np.min, np.max))
    each = tuple(rates.tolist())
    words = [headline.label, "" if terminals else "unpaced", "" if mix_met else "mix not met"]
    label = ", ".join(word for word in words if word)
    if terminals is None:
        return Nopm(label, middle, least, most, middle / scale, None, None, each)
    ceiling = ceiling_of(workload.kinds, headline.kind, terminals, headline.per_s) / scale
    return Nopm(label, middle, least, most, middle / scale, terminals / scale, ceiling, each)


def ceiling_of(kinds: Sequence[Kind], counted: str | None, terminals: int, per_s: float = 60) -> float:
    """Transactions of the kind ``counted`` per ``per_s`` seconds of ``terminals`` that never wait.

    That is per_s T n_c / sum over k of n_k (keying_k + mean think_k), with n_k cards of kind k in the deck. Cutting the
    think time at ten means takes 0.005 % off its mean. nan where a kind says nothing of its times or cards.
    """
    round_s = sum((one.cards or 0) * _around_s(one) for one in kinds)
    cards = sum(one.cards or 0 for one in kinds if one.name == counted)
    return per_s * terminals * cards / round_s if round_s else np.nan


def _around_s(kind: Kind) -> float:
    if kind.keying_s is None or kind.mean_think_s is None:
        return np.nan
    return kind.keying_s + kind.mean_think_s


def size_doubts(settings: Mapping[str, str]) -> list[Doubt]:
    """That only a part of the specification's rows was there, by the setting ``size``."""
    part = float(settings.get("size", 1))
    if part == 1:
        return []
    message = f"the database holds {part:.0%} of the rows of TPC-C: the figures are not TPC-C-like"
    return [Doubt("size", message, "leave --set size out; a part of the rows is for trying out")]


_TERMINALS: Final = 10
"""Of a warehouse: one for each district (clause 2.8.1.1)."""


def home_doubts(settings: Mapping[str, str], clients: Mapping[int, Sequence[int]]) -> list[Doubt]:
    """That clients share a district, or warehouses have one client more than others.

    ``clients`` are those of all nodes together by scale, or the terminals, at each number of threads. Client i is at
    home in warehouse i mod scale, unless the setting ``affinity`` is off.
    """
    if settings.get("affinity", "on") == "off":
        return []
    shared = [x for x, numbers in clients.items() if any(n > _TERMINALS * x for n in numbers)]
    uneven = [x for x, numbers in clients.items() if any(n > x and n % x for n in numbers)]
    kinds = (
        (shared, "more than ten clients for each warehouse: some ask Stock-Level of one district (clause 2.8.1.1)",
         "use fewer --threads or terminals, a larger scale, or --set affinity=off"),
        (uneven, "clients are no multiple of the warehouses: some of these have one more than others",
         "use a multiple, or --set affinity=off"),
    )  # fmt: skip
    return [
        Doubt("homes", f"{what}, at scale {', '.join(map(str, where))}", remedy)
        for where, what, remedy in kinds
        if where
    ]
