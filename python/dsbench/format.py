"""How numbers are shown, in every medium."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, Final

NONE: Final = "–"
"""What stands where nothing was measured."""
UNIT: Final = re.compile(r"(?<=\d) (?=%|[µm]?s\b|[kMGT]i?B\b|tps\b)")
"""The space before a unit, at which no line ends."""
UP, DOWN, FAILED = "▲", "▼", "SLA!"
"""Signs behind a figure that is better or worse than what it is compared with, and that missed its target."""


def counted(count: int, noun: str) -> str:
    """``1 cycle``, ``10 cycles``, ``2 numbers of clients``."""
    head, of, rest = noun.partition(" of ")
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {head}s{of}{rest}"


def format_number(value: Any, times: float = 1.0, digits: int = 3, form: str = "") -> str:
    """A number as people read it: thousands with commas, no exponent in the usual range, a dash for none."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return NONE
    if form:
        return format(value * times, form)
    if isinstance(value, int) and times == 1:
        return f"{value:,}"
    value = float(value) * times
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:,.{digits}g}" if abs(value) >= 1e-4 else f"{value:.{digits - 1}e}"


def with_unit(figure: str, unit: str) -> str:
    """``3.1 ms``; per cent follow at once."""
    return f"{figure}{unit}" if unit in ("", "%") else f"{figure} {unit}"


def say_time(ns: float) -> str:
    """A time with the unit that fits: ``1.2 s``, ``0.43 ms``, ``38 µs``."""
    if ns >= 1e9:
        return f"{format_number(ns / 1e9)} s"
    return f"{format_number(ns / 1e6)} ms" if ns >= 1e5 else f"{format_number(ns / 1e3)} µs"


def format_share(share: float) -> str:
    """In per cent, and never 0 for what is more than nothing."""
    return f"{share:.1%}" if share == 0 or share >= 0.0005 else "under 0.1%"


def tone(cell: str) -> str:
    """``slower`` or ``faster`` by the sign of a cell; empty without."""
    return "slower" if DOWN in cell or FAILED in cell else "faster" if UP in cell else ""


def shorten(value: str, longest: int) -> str:
    """``value``, or its beginning where it is longer."""
    return value if len(value) <= longest else value[: longest - 1] + "…"


def finite(value: float | None) -> float | None:
    """For JSON, which has no other number."""
    return value if value is not None and isfinite(value) else None
