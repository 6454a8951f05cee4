"""What a rate has to keep: ``p99=20ms``, ``new_order.p90=5s``, ``failed=0.1%``."""

from __future__ import annotations

import re
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.spec.words import Unfit, number, seconds

_ONE: Final = re.compile(
    r"(?:(?P<kind>[\w-]+)\.)?(?:p(?P<percent>\d{1,2}(?:\.\d{1,3})?)|(?P<failed>failed))=(?P<limit>\S+)"
)
_HOW: Final = "write p99=20ms, p99.9=1s, KIND.p90=5s or failed=0.1%; separate several by commas"
_LONGEST_S: Final = 3600.0
SEARCH_DURATIONS: Final = 30
"""Durations of a cycle that all cycles of a search take at most, at each scale."""
ROUNDS: Final = 2
"""How often the cycles after a search are made at most: once more, lower, where most of the first ones miss."""

GRADES = (100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 0)
"""Levels of a graduated load, in per cent of the capacity, in their order: those of SPECpower_ssj2008."""

TRIALS = 3
"""Closed loops before a graduated load, of which the first is left out."""


@dataclass(frozen=True)
class Objective:
    """One condition on the transactions that were due."""

    text: str
    """As it is written: ``p99=20ms``."""
    allowed: float
    """Share of the transactions, 0-1, that may miss it."""
    limit_ns: int = 0
    """Longest response time from the intended start; 0 where it is about failures."""
    kind: str = ""
    """The only kind of transaction that it is about; empty: all of them."""

    @property
    def of_failures(self) -> bool:
        return self.limit_ns == 0

    @property
    def words(self) -> str:
        """``99% below 20 ms``, ``90% of new_order below 5 s``, ``at most 0.1% failed``."""
        of_kind = f" of {self.kind}" if self.kind else ""
        if self.of_failures:
            return f"at most {100 * self.allowed:g}%{of_kind} failed"
        per_unit, unit = next(pair for pair in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if self.limit_ns >= pair[0])
        return f"{round(100 * (1 - self.allowed), 6):g}%{of_kind} below {self.limit_ns / per_unit:g} {unit}"


def objectives(text: str) -> tuple[Objective, ...]:
    """Those that ``text`` names, each once; none of an empty one. ``ValueError`` for what is none."""
    found = [_objective(word.strip()) for word in text.split(",")] if text.strip() else []
    if len({(one.kind, one.allowed if not one.of_failures else -1.0) for one in found}) < len(found):
        raise Unfit("has the same percentile of the same transactions twice", "specify it once")
    return tuple(found)


def _objective(word: str) -> Objective:
    found = _ONE.fullmatch(word)
    if found is None:
        raise Unfit(f"cannot read {word[:60]!r}", _HOW)
    kind, limit = found["kind"] or "", found["limit"]
    if found["failed"]:
        share = number(limit.removesuffix("%")) / 100
        if not limit.endswith("%") or not 0 < share < 1:
            raise Unfit(f"cannot read {word[:60]!r}", "write a share between 0% and 100%, such as failed=0.1%")
        return Objective(word, share, kind=kind)
    quantile = float(found["percent"]) / 100
    spans = {unit: limit.removesuffix(unit) for unit in ("us", "µs") if limit.endswith(unit)}
    limit_s = number(next(iter(spans.values()))) / 1e6 if spans else number(str(seconds(limit)))
    if not limit[-1:].isalpha() or not 1e-6 <= limit_s <= _LONGEST_S:
        raise Unfit(f"cannot read {word[:60]!r}", "write the time with its unit, such as p99=20ms, 500us or 1s")
    if not 0.1 <= quantile <= 0.9999:
        raise Unfit(f"cannot read {word[:60]!r}", "use a percentile between p10 and p99.99")
    return Objective(word, round(1 - quantile, 8), round(limit_s * 1e9), kind)
