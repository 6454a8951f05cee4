"""A load that changes: what was reached in each of its legs, and how soon response times were back after a peak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.format import format_number
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.series import each_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.rate import RateResult
from dsbench.spec.legs import Leg
from dsbench.stats.values import Floats

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_STAYS: Final = 3
"""Seconds in a row in which response times have to be as before, to be called back."""


@dataclass(frozen=True)
class LegResult:
    """What was reached in a leg at one scale; ``nan``: not known."""

    number: int
    leg: Leg
    demanded: float
    """Starts per second on average."""
    achieved: float
    """Transactions that ended, per second: mean over the whole seconds of all cycles."""
    failed_share: float
    """Of the attempts, 0-1."""
    p50_ms: float
    """Median over its seconds, of all cycles, of the median response time of a second."""
    p99_ms: float
    """The same of the 99% quantile of a second."""
    worst_p99_ms: float
    """The greatest of these quantiles; ``inf`` with a second in which none completed beside one in flight for all of
    it."""
    longest_ms: float
    """In flight or not."""
    like: int
    """Number of the leg before the peak that it is compared with; 0 where it follows no peak."""
    back_s: float
    """Seconds from its beginning until response times were as in that leg: median over the cycles; ``inf`` where they
    were not within it, in half of the cycles or more."""
    back_within_s: tuple[float, float]
    """The least and the greatest of the cycles."""


def highest_leg(found: Sequence[LegResult]) -> LegResult:
    """The one that asks for most."""
    return max(found, key=lambda one: one.demanded)


def shortest_leg(found: Sequence[LegResult]) -> LegResult:
    """The one that comes shortest of what it asks for; the highest where all was reached."""
    known = [one for one in found if one.demanded > 0 and isfinite(one.achieved)] or list(found)
    return min(known, key=lambda one: (min(one.achieved / one.demanded, 1.0) if one.demanded else 1.0, -one.demanded))


def _before_peak(legs: Sequence[Leg], at: int) -> int | None:
    """Index of the last leg before the peak that leg ``at`` follows; ``None`` where it follows none."""
    if at == 0 or legs[at].mean >= legs[at - 1].mean:
        return None
    calm = [n for n in range(at - 1) if legs[n].mean < legs[at - 1].mean and legs[n].mean > 0]
    return calm[-1] if calm else None


def _seconds(leg: Leg, length: int) -> slice:
    """The whole seconds that lie in the leg."""
    return slice(min(ceil(leg.begin_s - 1e-9), length), min(floor(leg.end_s + 1e-9), length))


def back_after(p99: Floats, calm: slice, leg: slice) -> float:
    """Seconds from the first whole one of ``leg`` until no 99% quantile of 3 seconds in a row, or of all that are
    left, is above the greatest of ``calm``; ``inf`` where that does not come, ``nan`` where nothing is known of
    ``calm``.

    ``p99``: one value for each second of a cycle; nan where nothing ended.
    """
    before, after = p99[calm], p99[leg]
    if not np.isfinite(before).any() or not after.size:
        return nan
    fine = after <= np.nanmax(before)
    for at in range(after.size):
        if fine[at : at + _STAYS].all():
            return float(at)
    return inf


def _read_legs(evaluation: Evaluation) -> dict[int, tuple[LegResult, ...]]:
    """By scale, in their order; empty without a load that changes."""
    legs = evaluation.run.spec.legs
    if not legs or not evaluation.has_clients:
        return {}
    found = {}
    for scale, course in evaluation.of(CourseResult).seconds.items():
        lengths = np.ceil(evaluation.of(RateResult).durations_s[scale]).astype(int)
        cycles = np.split(course, np.cumsum(lengths)[:-1])
        found[scale] = tuple(read_leg(legs, at, cycles) for at in range(len(legs)))
    return found


def read_leg(legs: Sequence[Leg], at: int, cycles: Sequence[Floats]) -> LegResult:
    """What was reached in leg number ``at``, from 0; ``cycles``: the course of each."""
    leg, calm = legs[at], _before_peak(legs, at)
    rows = np.concatenate([cycle[_seconds(leg, len(cycle))] for cycle in cycles])
    count, failed = float(np.nansum(rows[:, 0])), float(np.nansum(rows[:, 1]))
    times = rows[:, 2:] / 1e6
    known = times[np.isfinite(times[:, 1])]
    p50, p99 = (float(np.median(known[:, n])) if len(known) else nan for n in (0, 1))
    stalled = np.isnan(times[:, 1]) & np.isfinite(times[:, 2])
    worst = inf if stalled.any() else float(known[:, 1].max()) if len(known) else nan
    longest = float(np.nanmax(times[:, 2])) if np.isfinite(times[:, 2]).any() else nan
    back: list[float] = []
    if calm is not None:
        shared_s = max(round(ceil(leg.begin_s - 1e-9) - leg.begin_s, 9), 0.0)
        back = [back_after(one[:, 3], _seconds(legs[calm], len(one)), _seconds(leg, len(one))) for one in cycles]
        back = [shared_s + one for one in back if not isnan(one)]
    achieved, share = count / len(rows) if len(rows) else nan, failed / (count + failed) if count + failed else 0.0
    return LegResult(
        at + 1, leg, leg.mean, achieved, share,
        p50, p99, worst, longest, 0 if calm is None else calm + 1, sorted(back)[len(back) // 2] if back else nan,
        (min(back), max(back)) if back else (nan, nan),
    )  # fmt: skip


_COLUMNS: Final = (
    Column("leg"), Column("from", "s", spare=True), Column("demanded", left=True), Column("reached", "/s"),
    Column("p50", "ms"), Column("p99", "ms"), Column("worst p99", "ms"), Column("longest", "ms", spare=True),
    Column("failed", form=".1%", spare=True), Column("back after", left=True),
)  # fmt: skip
_NOTE: Final = (
    "p50 and p99: medians over the seconds of the leg in which a transaction completed; response times count from the "
    "intended start; worst: the maximum of a second; none completed: in a second for all of which one was in flight. "
    "Longest: in flight or not. Back: the first second after a peak from which p99 stays for 3 seconds at or below the "
    "maximum of the leg before the peak. Seconds that span two legs do not count."
)  # fmt: skip


def say_back(one: LegResult) -> str:
    """How soon, as in a table: ``2 s (1 to 4), as leg 2``; empty for a leg that follows no peak."""
    if not one.like or isnan(one.back_s):
        return ""
    if one.back_s == inf:
        return f"not within {one.leg.duration_s:g} s"
    low, high = one.back_within_s
    ends = "" if low == high else f" ({low:g} to {f'{high:g}' if isfinite(high) else 'never'})"
    return f"{one.back_s:g} s{ends}, as leg {one.like}"


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    told = False
    for heading, part in each_series(evaluation):
        for scale, found in part.of(LegsResult).legs.items():
            told = True
            where = ", ".join(word
                for word in (heading, f"scale {scale:,}" if len(part.of(LegsResult).legs) > 1 else "") if word)
            for one in found:
                if one.like and not isnan(one.back_s):
                    yield Sentence(f"{f'{where}: ' if where else ''}{_say_recovery(one, found)}", "lead")
            rows = [(one.number, one.leg.begin_s, one.leg.words, one.achieved, one.p50_ms, one.p99_ms,
                     "none completed" if one.worst_p99_ms == inf else one.worst_p99_ms, one.longest_ms,
                     one.failed_share, say_back(one)) for one in found]  # fmt: skip
            yield Table(f"The load, leg by leg{f', {where}' if where else ''}", _COLUMNS, rows)
    if told:
        yield Sentence(_NOTE, "note")


def _say_recovery(one: LegResult, found: Sequence[LegResult]) -> str:
    peak, calm = found[one.number - 2], found[one.like - 1]
    most = f"p99 at most {format_number(calm.worst_p99_ms)} ms, as" if isfinite(calm.worst_p99_ms) else "p99 as"
    level = f"{most} at {calm.leg.words} before"
    if one.back_s == inf:
        return f"After {peak.leg.words} response times had not recovered within {one.leg.duration_s:g} s ({level})."
    soon = "at once" if one.back_s == 0 else f"after {one.back_s:g} s"
    return f"After {peak.leg.words} response times had recovered {soon} ({level})."


def _read_recovery(part: Evaluation) -> dict[int, float]:
    """The longest of all legs that follow a peak."""
    return {scale: max(known) for scale, found in part.of(LegsResult).legs.items()
            if (known := [one.back_s for one in found if one.like and not isnan(one.back_s)])}  # fmt: skip


class LegsResult(Result):
    legs = computed(_read_legs)
    """By scale: what was reached in each leg of a load that changes; empty without one."""


SUBJECT: Final = Subject(
    "legs", "Changing load", LegsResult, tell=_tell,
    nothing="The load did not change (--load).",
    measures=(
        Measure("recovery", "s", "time until response times have recovered after a peak of --load", _read_recovery,
                more=False, geometric=False, needs="run with --load and a peak in it",
                possible=lambda spec: bool(spec.load)),
    ),
)  # fmt: skip
