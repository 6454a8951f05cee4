"""NOPM, and what terminals can reach of it.

NOPM counts committed New-Orders per minute. It is no tpmC: that needs an audited run by all the rules. The kind that
counts, the deck and the times of people at terminals are the workload's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.values import Doubt, Floats
from dsbench.workloads import Entry, Kind

_Z = 3.0
"""Three standard deviations of a normal distribution: a run has many windows, and one in twenty would be
missed by chance at the usual 95%."""
_LINES_VARIANCE = 10.0
"""Of the lines of an order, uniform in 5 to 15: (11^2 - 1) / 12."""
"""Of a warehouse: a Delivery visits each of them."""
MOST_SKIPPED = 0.01


@dataclass(frozen=True)
class Window:
    """A measured property of the inputs, with what a valid run may show."""

    name: str
    value: float
    """The share (0-1) or the mean that was measured; nan when there was nothing to measure."""
    low: float
    high: float
    """The window, both ends included."""
    least: float
    most: float
    """Interval of the property that the sample stands for, at 99.73%."""
    count: int
    """Size of the sample: of ``unit``."""
    unit: str
    percent: bool
    """Whether the value is a share."""
    note: str = ""
    """Why it cannot be judged; empty when it can."""

    @property
    def met(self) -> bool:
        """Whether the measured value lies in the window."""
        return self.low <= self.value <= self.high

    @property
    def decided(self) -> bool:
        """Whether the sample is large enough to say so: its interval lies wholly inside or wholly outside."""
        inside = self.low <= self.least and self.most <= self.high
        return inside or self.most < self.low or self.least > self.high

    @property
    def missed(self) -> bool:
        """Whether it is missed, and not by chance."""
        return not self.note and self.count > 0 and self.decided and not self.met

    @property
    def verdict(self) -> str:
        if self.note:
            return self.note
        if self.count == 0:
            return f"no {self.unit}"
        word = "met" if self.met else "missed"
        return word if self.decided else f"{word}, but the sample is too small to decide"


def binomial_interval(successes: int, count: int) -> tuple[float, float]:
    """Score interval of a share at 99.73% (Wilson, JASA 1927): good for rare events too; nan for none."""
    if count == 0:
        return np.nan, np.nan
    share, z2 = successes / count, _Z * _Z / count
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z / (1 + z2) * sqrt(share * (1 - share) / count + z2 / (4 * count))
    # At the ends rounding must not push the share out of its interval.
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


def windows(sums: Mapping[str, int], scale: int) -> tuple[Window, ...]:
    """The windows of a run at ``scale`` warehouses, out of what its clients added up (names of the core).

    New-Orders that were rolled back count with their lines: they are inputs as any other. 1% of the Deliveries, or one,
    whichever is more, may find a district without an order (clause 2.7.4.2).
    """

    def get(name: str) -> int:
        return int(sums.get(name, 0))

    alone = "one warehouse has no other" if scale == 1 else ""
    orders, lines, payments = get("new_orders"), get("order_lines"), get("payments")
    deliveries = get("delivery_transactions")
    skipped = max(MOST_SKIPPED, 1 / deliveries if deliveries else 0.0)
    return (
        _share("New-Orders rolled back", get("new_orders_rolled_back"), orders, "New-Orders", 0.009, 0.011),
        _lines(lines, orders),
        _share("order lines of another warehouse", get("remote_lines"), lines, "order lines", 0.0095, 0.0105, alone),
        _share("Payments of another warehouse's customer", get("remote_payments"), payments, "Payments", 0.14, 0.16,
               alone),
        _share("Payments by last name", get("payments_by_name"), payments, "Payments", 0.57, 0.63),
        _share("Order-Status by last name", get("order_statuses_by_name"), get("order_statuses"), "Order-Status", 0.57,
               0.63),
        _share("Deliveries that skipped a district", get("deliveries_with_skip"), deliveries, "Deliveries", 0.0,
               skipped),
    )  # fmt: skip


def _share(name: str, part: int, whole: int, unit: str, low: float, high: float, note: str = "") -> Window:
    least, most = binomial_interval(part, whole)
    return Window(name, part / whole if whole else np.nan, low, high, least, most, whole, unit, True, note)


def _lines(lines: int, orders: int) -> Window:
    mean = lines / orders if orders else np.nan
    half = _Z * sqrt(_LINES_VARIANCE / orders) if orders else np.nan
    return Window("lines of an order", mean, 9.5, 10.5, mean - half, mean + half, orders, "New-Orders", False)


def window_doubts(found: Mapping[int, tuple[Window, ...]]) -> list[Doubt]:
    """Doubts about windows that were missed for certain."""
    return [
        Doubt(
            "window",
            f"{shown(window, window.value)} {window.name} ({window.count:,} {window.unit}), required are "
            f"{shown(window, window.low)} to {shown(window, window.high)}",
            "do not compare it with other TPC-C-like runs; check whether transactions of one kind fail",
            scale,
        )
        for scale, row in sorted(found.items())
        for window in row
        if window.missed
    ]


def shown(window: Window, value: float) -> str:
    """A value of a window in its unit."""
    return f"{value:.2%}" if window.percent else f"{value:.2f}"


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
    once, those that are rolled back on purpose (1%) included; ``None`` without terminals."""
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
    think time at ten means takes 0.005% off its mean. nan where a kind says nothing of its times or cards.
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
    message = f"the database has {part:.0%} of the rows of TPC-C: the figures are not TPC-C-like"
    return [Doubt("size", message, "omit --set size; it is for trials only")]


_TERMINALS: Final = 10
"""Of a warehouse: one for each district (clause 2.8.1.1)."""


def home_doubts(settings: Mapping[str, str], clients: Mapping[int, Sequence[int]]) -> list[Doubt]:
    """That clients share a district, or warehouses have one client more than others.

    ``clients`` are those of all nodes together by scale, or the terminals, at each number of clients. Client i is at
    home in warehouse i mod scale, unless the setting ``affinity`` is off.
    """
    if settings.get("affinity", "on") == "off":
        return []
    shared = [x for x, numbers in clients.items() if any(n > _TERMINALS * x for n in numbers)]
    uneven = [x for x, numbers in clients.items() if any(n > x and n % x for n in numbers)]
    kinds = (
        (shared, "more than ten clients per warehouse: some share a district in Stock-Level (clause 2.8.1.1)",
         "use fewer --clients or terminals, a larger scale, or --set affinity=off"),
        (uneven, "the number of clients is not a multiple of the warehouses: some have one client more than others",
         "use a multiple, or --set affinity=off"),
    )  # fmt: skip
    return [
        Doubt("homes", f"{what}, at scale {', '.join(map(str, where))}", remedy)
        for where, what, remedy in kinds
        if where
    ]
