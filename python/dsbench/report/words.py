"""How a run was conducted, in words that tables, diagrams and the page share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def pacing(spec: Mapping[str, Any]) -> str:
    """When the clients start their transactions: ``closed loop``, or what sets the starts; with the ramp-up."""
    if spec.get("pace", "none") == "terminals":
        count = spec.get("terminals")
        how = f"{count:,} paced terminals" if count else "10 paced terminals per scale"
    elif spec.get("rate"):
        how = f"open loop, {spec['rate']:g} starts per second"
    else:
        how = "closed loop"
    return f"{how}, {spec['ramp_up']:g} s ramp-up" if spec.get("ramp_up") else how


def listed(numbers: Iterable[int]) -> str:
    """``10, 20 and 40``."""
    *others, last = [f"{number:,}" for number in numbers]
    return f"{', '.join(others)} and {last}" if others else last
