"""What makes a TPC-C run one: shares of the mix, limits of response times, windows of the inputs, NOPM.

Facts of the TPC-C specification, revision 5.11: clauses 5.2.3 (shares), 5.2.5 (times), 5.5.1.5 (windows).
NOPM counts committed New-Orders per minute. It is no tpmC: that needs an audited run by all the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from dsbench.analysis.values import Doubt, Floats

WORKLOAD = "tpcc"
NEW_ORDER = "new_order"
LEAST_SHARES: Mapping[str, float] = {"payment": 0.43, "order_status": 0.04, "delivery": 0.04, "stock_level": 0.04}
LIMITS_S: Mapping[str, float] = {
    "new_order": 5.0, "payment": 5.0, "order_status": 5.0, "delivery": 5.0, "stock_level": 20.0,
}  # fmt: skip
"""Of 90 % of the response times. A delivery is run at once, not queued, so that the limit of its answer
(5 s) holds for all of it, not the 80 s that a queued one may take."""
CEILING_NOPM = 12.86
"""New-Orders per minute and warehouse that ten terminals with keying and thinking times can reach."""
LEVEL = 0.9973
_Z = 3.0
"""Three standard deviations of a normal distribution: a run has many windows, and one in twenty would be
missed by chance at the usual 95 %."""
_LINES_VARIANCE = 10.0
"""Of the lines of an order, uniform in 5 to 15: (11^2 - 1) / 12."""


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
    """Interval of the property that the sample stands for, at ``LEVEL``."""
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
    def verdict(self) -> str:
        """In words."""
        if self.note:
            return self.note
        if self.count == 0:
            return f"no {self.unit}"
        word = "met" if self.met else "missed"
        return word if self.decided else f"{word}, but the sample is too small to decide"


@dataclass(frozen=True)
class Nopm:
    """New-Orders per minute at one scale."""

    label: str
    """"NOPM", or "NOPM, unpaced" without keying and thinking times."""
    median: float
    """Over the cycles: the rate of the scale."""
    minimum: float
    maximum: float
    per_warehouse: float
    """Median by the number of warehouses."""
    paced: bool

    @property
    def ceiling(self) -> float | None:
        """What terminals can reach per warehouse; ``None`` without them."""
        return CEILING_NOPM if self.paced else None


def nopm(new_orders: Floats, duration_s: float, scale: int, *, paced: bool) -> Nopm:
    """NOPM of a scale out of the committed New-Orders of each cycle."""
    rates = new_orders / duration_s * 60
    middle, least, most = (float(pick(rates)) if rates.size else np.nan for pick in (np.median, np.min, np.max))
    return Nopm("NOPM" if paced else "NOPM, unpaced", middle, least, most, middle / scale, paced)


def binomial_interval(successes: int, count: int) -> tuple[float, float]:
    """Score interval of a share at ``LEVEL`` (Wilson, JASA 1927): good for rare events too; nan for none."""
    if count == 0:
        return np.nan, np.nan
    share, z2 = successes / count, _Z * _Z / count
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z / (1 + z2) * sqrt(share * (1 - share) / count + z2 / (4 * count))
    # At the ends rounding must not push the share out of its own interval.
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


def windows(sums: Mapping[str, int], scale: int) -> tuple[Window, ...]:
    """The windows of a run at ``scale`` warehouses, out of what its clients added up (names of the core).

    New-Orders that were rolled back count with their lines: they are inputs as any other.
    """

    def get(name: str) -> int:
        return int(sums.get(name, 0))

    alone = "one warehouse has no other" if scale == 1 else ""
    orders, lines, payments = get("new_orders"), get("order_lines"), get("payments")
    skipped = get("districts_skipped")
    return (
        _share("New-Orders rolled back", get("new_orders_rolled_back"), orders, "New-Orders", 0.009, 0.011),
        _lines(lines, orders),
        _share("order lines of another warehouse", get("remote_lines"), lines, "order lines", 0.0095, 0.0105, alone),
        _share("Payments of another warehouse's customer", get("remote_payments"), payments, "Payments", 0.14, 0.16,
               alone),
        _share("customers chosen by name", get("by_name"), get("by_name_of"), "choices of a customer", 0.57, 0.63),
        _share("deliveries skipped, as a district had no order", skipped, get("deliveries") + skipped,
               "districts visited", 0.0, 0.01),
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
            f"{shown(window, window.value)} {window.name} ({window.count:,} {window.unit}), a valid run has "
            f"{shown(window, window.low)} to {shown(window, window.high)}",
            "do not compare it with other TPC-C-like runs; look for transactions of one kind that fail",
            scale,
        )
        for scale, row in sorted(found.items())
        for window in row
        if not window.note and window.count and window.decided and not window.met
    ]


def shown(window: Window, value: float) -> str:
    """A value of a window in its unit."""
    return f"{value:.2%}" if window.percent else f"{value:.2f}"
