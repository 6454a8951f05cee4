"""A demanded rate that changes: ``0s:100, 60s:500..2000, 90s:sine 100..900/10s, 120s:50x8, 180s:end``."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.spec.words import Unfit, seconds

_NUMBER: Final = r"\d+(?:\.\d+)?"
_ONE: Final = re.compile(
    rf"(?P<at>[\w.]+)\s*:\s*(?:(?P<end>end)|(?P<sine>sine\s+)?(?P<first>{_NUMBER})(?:\s*\.\.\s*(?P<last>{_NUMBER}))?"
    rf"(?:\s*/\s*(?P<period>[\w.]+))?(?:\s*x\s*(?P<sessions>\d{{1,6}}))?)"
)
_HOW: Final = (
    "write TIME:RATE such as 0s:100, 60s:500..2000 (a ramp), 90s:sine 100..900/10s, 120s:50x8 (8 sessions, the others "
    "idle), 180s:end"
)
_MOST: Final = 1000
_HIGHEST: Final = 10_000_000.0
_LONGEST_S: Final = 604_800.0


@dataclass(frozen=True)
class Leg:
    """A stretch of the load, with a rate of its own."""

    begin_s: float
    duration_s: float
    first: float
    """Starts per second of all clients together at its beginning; of a sine the lowest."""
    last: float
    """At its end, to which the rate goes in a line; of a sine the greatest."""
    period_s: float = 0.0
    """Of a sine; 0 for a line."""
    sessions: int = 0
    """Clients that take part; 0 for all."""

    @property
    def end_s(self) -> float:
        return self.begin_s + self.duration_s

    def rate(self, at_s: float) -> float:
        """Starts per second, so long after the leg began."""
        if self.period_s:
            swing = math.cos(math.tau * at_s / self.period_s)
            return (self.first + self.last) / 2 - (self.last - self.first) / 2 * swing
        return self.first + (self.last - self.first) * at_s / self.duration_s

    def due(self, at_s: float) -> float:
        """Starts until then: the integral of the rate."""
        if self.period_s:
            turn = math.tau / self.period_s
            return (self.first + self.last) / 2 * at_s - (self.last - self.first) / 2 / turn * math.sin(turn * at_s)
        return self.first * at_s + (self.last - self.first) * at_s**2 / (2 * self.duration_s)

    @property
    def mean(self) -> float:
        """Starts per second over all of it."""
        return self.due(self.duration_s) / self.duration_s

    @property
    def words(self) -> str:
        """``500/s``, ``500 to 2,000/s``, ``100 to 900/s, a sine of 10 s``, ``50/s in 8 sessions``."""
        what = f"{self.first:,.6g}/s" if self.first == self.last else f"{self.first:,.6g} to {self.last:,.6g}/s"
        what += f", a sine of {self.period_s:g} s" if self.period_s else ""
        return f"{what} in {self.sessions} session{'s' * (self.sessions != 1)}" if self.sessions else what

    @property
    def text(self) -> str:
        """As it is written."""
        rate = f"{self.first:.15g}" if self.first == self.last else f"{self.first:.15g}..{self.last:.15g}"
        rate = f"sine {rate}/{self.period_s:.15g}s" if self.period_s else rate
        return f"{self.begin_s:.15g}s:{rate}" + (f"x{self.sessions}" if self.sessions else "")

    @property
    def duration_ns(self) -> int:
        """As the core takes it: the legs follow each other without a gap."""
        return round(self.end_s * 1e9) - round(self.begin_s * 1e9)

    @property
    def period_ns(self) -> int:
        return round(self.period_s * 1e9)


def legs(text: str) -> tuple[Leg, ...]:
    """Those that ``text`` names, with commas or lines between them; none of an empty one.

    Without ``TIME:end`` the last is as long as the one before it. ``ValueError`` for what is none.
    """
    lines = [line.partition("#")[0] for line in text.splitlines()]
    words = [word.strip() for line in lines for word in line.split(",") if word.strip()]
    if not words:
        return ()
    if len(words) > _MOST:
        raise Unfit(f"has {len(words)} legs", f"use {_MOST} or fewer")
    found, end_s = [], math.nan
    for at, word in enumerate(words):
        leg = _leg(word)
        if leg is None and at + 1 < len(words):
            raise Unfit(f"{word[:60]!r} is the end", "write it last")
        if leg is None:
            end_s = _span(word.partition(":")[0], word)
        else:
            found.append(leg)
    if not found or found[0].begin_s != 0:
        raise Unfit("begins at 0s", "write 0s:100, …")
    if math.isnan(end_s):
        if len(found) == 1 or any(not word[: word.find(":")].strip()[-1:].isalpha() for word in words[1:]):
            raise Unfit("has no end", f"add its end, such as {words[0]}, 60s:end")
        end_s = 2 * found[-1].begin_s - found[-2].begin_s
    return _joined(found, end_s)


def _joined(found: list[Leg], end_s: float) -> tuple[Leg, ...]:
    ends = [*(leg.begin_s for leg in found[1:]), end_s]
    for leg, end in zip(found, ends, strict=True):
        if end - leg.begin_s < 1e-3:
            raise Unfit(f"there is no time between {leg.begin_s:g} s and {end:g} s", "write legs in order of time")
    if end_s > _LONGEST_S:
        raise Unfit(f"lasts {end_s:g} s", "use a week or less")
    if not any(leg.first or leg.last for leg in found):
        raise Unfit("has no transactions", "write a rate above 0")
    return tuple(replace(leg, duration_s=end - leg.begin_s) for leg, end in zip(found, ends, strict=True))


def _leg(word: str) -> Leg | None:
    """Without its duration, which the next one says; ``None`` for the end."""
    found = _ONE.fullmatch(word)
    if found is None:
        raise Unfit(f"cannot read {word[:60]!r}", _HOW)
    if found["end"]:
        return None
    first, last = float(found["first"]), float(found["last"] or found["first"])
    period_s = _span(found["period"], word) if found["period"] else 0.0
    if bool(found["sine"]) != bool(period_s) or (found["sine"] and not (found["last"] and first <= last)):
        how = "write a sine from its lowest to its highest rate with a period, such as sine 100..900/10s"
        raise Unfit(f"cannot read {word[:60]!r}", how)
    if max(first, last) > _HIGHEST:
        raise Unfit(f"cannot read {word[:60]!r}", f"use a rate of {_HIGHEST:,.0f} per second or less")
    if found["sessions"] and not int(found["sessions"]):
        raise Unfit(f"cannot read {word[:60]!r}", "write the rate 0 instead of 0 sessions")
    return Leg(_span(found["at"], word), 0.0, first, last, period_s, int(found["sessions"] or 0))


def _span(text: str, word: str) -> float:
    found = seconds(text.strip() if text.strip()[-1:].isalpha() else f"{text.strip()}s")
    if not isinstance(found, int | float):
        raise Unfit(f"cannot read the time of {word[:60]!r}", _HOW)
    return float(found)


def write_legs(found: tuple[Leg, ...]) -> str:
    """One line that ``legs`` reads as the same."""
    return ", ".join([*(leg.text for leg in found), f"{found[-1].end_s:.15g}s:end"]) if found else ""
