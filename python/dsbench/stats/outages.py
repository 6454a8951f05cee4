"""How long a service stopped, by what its clients got done: from the last transaction before to the first one after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor, inf, isfinite, nan
from typing import Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.precision import rank
from dsbench.stats.values import Floats, Interval

LEAST_NS: Final = 10_000_000
"""A shorter time without a transaction is none that is told."""
BACK: Final = 0.95
"""Share of the rate before, and of the inverse of the 99% quantile before, at which the service is as before."""
_OVER: Final = 3
"""Seconds over which a rate has to be back."""
_AFTER_NS: Final = 1e9
"""How long after an event is over a gap may begin that is its doing."""
_LEVEL: Final = 0.95


@dataclass(frozen=True)
class Pause:
    """A time in which a client finished no transaction. In ns from the start of the cycle."""

    client: int
    """Its number among all."""
    began_ns: float
    wanted_ns: float
    """Since when it wanted to do one; ``inf``: it wanted none."""
    ended_ns: float
    """``inf``: it finished none any more."""


@dataclass(frozen=True)
class Standstill:
    """A time in which no client finished a transaction though one wanted to, in ns from the start of the cycle."""

    began_ns: float
    """End of the last transaction before or, where later, when a client first wanted the next one."""
    ended_ns: float
    """End of the first one after; ``inf`` where there was none."""
    last_ns: float
    """When the last of the clients that wanted one had finished it; ``inf`` where one did not."""

    @property
    def length_ns(self) -> float:
        return self.ended_ns - self.began_ns


@dataclass(frozen=True)
class Outage:
    """What clients saw of one event in one cycle. Times in ns; ``inf``: not within the cycle, ``nan``: not known."""

    at_ns: float
    """When the event began."""
    gaps: tuple[Standstill, ...]
    """Its gaps, in order; empty where the service did not stop."""
    rate_ns: float
    """From the event until the rate was 95% of that before it; 0 where the service did not stop."""
    p99_ns: float
    """From the event until the 99% quantile was that before it, divided by 95%; 0 where the service did not stop."""
    blind: bool = False
    """Whether pauses of clients are missing, so that a gap may be that is longer than the usual ones."""
    usual_ns: float = LEAST_NS
    """Where the service did not stop: the longest gap that there may have been nevertheless."""

    @property
    def longest(self) -> Standstill | None:
        return max(self.gaps, key=lambda one: one.length_ns, default=None)

    @property
    def length_ns(self) -> float:
        """From the last transaction before to the first one after; 0 where the service did not stop."""
        if self.longest is None:
            return nan if self.blind else 0.0
        return self.longest.length_ns

    @property
    def all_ns(self) -> float:
        """The same to when the last of the clients had finished one."""
        if self.longest is None:
            return self.length_ns
        return self.longest.last_ns - self.longest.began_ns

    @property
    def without_ns(self) -> float:
        """All of its gaps together."""
        return sum(one.length_ns for one in self.gaps)


def find_gaps(pauses: Sequence[Pause], clients: int) -> tuple[Standstill, ...]:
    """The times of 10 ms or more in which all of so many clients had a pause and one wanted none, in order."""
    turns = sorted(
        [(one.began_ns, 1, one) for one in pauses] + [(one.ended_ns, -1, one) for one in pauses],
        key=lambda turn: turn[:2],
    )
    found, under_way, since = list[Standstill](), dict[int, Pause](), nan
    for at, change, pause in turns:
        if change > 0:
            under_way[pause.client] = pause
            since = at if len(under_way) == clients else since
            continue
        if len(under_way) == clients and (gap := _gap(under_way, since, at)) is not None:
            found.append(gap)
        under_way.pop(pause.client, None)
    return tuple(found)


def _gap(under_way: Mapping[int, Pause], since_ns: float, until_ns: float) -> Standstill | None:
    wanting = [one for one in under_way.values() if one.wanted_ns < until_ns]
    began_ns = max(since_ns, min((one.wanted_ns for one in wanting), default=inf))
    if not wanting or until_ns - began_ns < LEAST_NS:
        return None
    return Standstill(began_ns, until_ns, max(one.ended_ns for one in wanting))


def find_outages(
    events_ns: Sequence[tuple[float, float]], pauses: Sequence[Pause], clients: int, course: Floats,
    duration_ns: float, *, blind_ns: float = 0.0, due_tps: float | None = None,
) -> tuple[Outage, ...]:  # fmt: skip
    """What so many clients saw of each of the events, whose begins and ends are ``events_ns``.

    ``course`` has a row for each second of the cycle: transactions, and their 99% quantile in ns (nan without any).
    ``blind_ns``: pauses up to this length are missing where clients had too many of them. ``due_tps``: transactions per
    second that an open loop starts.

    A gap is of the events that begin in it, else of the last one before it where it begins before that is over, or
    within a second after. It is longer than any gap between the start of the cycle and the first event: those are there
    without one.
    """
    every = find_gaps(pauses, clients)
    first_ns = min((at for at, _ in events_ns), default=0.0)
    usual_ns = max((one.length_ns for one in every if one.ended_ns <= first_ns), default=0.0)
    gaps: list[list[Standstill]] = [[] for _ in events_ns]
    for gap in (one for one in every if one.length_ns > usual_ns):
        within = [n for n, (at, _) in enumerate(events_ns) if gap.began_ns <= at < gap.ended_ns]
        before = [n for n, (at, over) in enumerate(events_ns) if at <= gap.began_ns <= max(at, over) + _AFTER_NS]
        for number in within or before[-1:]:
            gaps[number].append(gap)
    nexts = [*(at for at, _ in events_ns[1:]), duration_ns]
    since: float | None = 0.0
    found = []
    for (at, _), end, own in zip(events_ns, nexts, gaps, strict=True):
        if not own:
            most_ns = max(LEAST_NS, usual_ns)
            back_ns = nan if (blind := blind_ns > most_ns) else 0.0
            found.append(Outage(at, (), back_ns, back_ns, blind=blind, usual_ns=most_ns))
            continue
        rate_ns, p99_ns = _backs(course, since, at, max(one.ended_ns for one in own), end, due_tps)
        found.append(Outage(at, tuple(own), rate_ns, p99_ns))
        # What did not recover is no measure of what comes after it.
        since = at + rate_ns if isfinite(rate_ns) and since is not None else None
    return tuple(found)


def _backs(
    course: Floats, since_ns: float | None, at_ns: float, over_ns: float, end_ns: float, due_tps: float | None
) -> tuple[float, float]:
    """How long after ``at_ns`` rate and 99% quantile are as in the whole seconds between ``since_ns`` and it. They are
    looked at from ``over_ns`` on, in whole seconds before ``end_ns``.

    Where an open loop starts ``due_tps``, chance may have drawn more before; and a backlog that was done in the second
    in which the service came back is a rate that is back.
    """
    calm = course[ceil(since_ns / 1e9 - 1e-9) : floor(at_ns / 1e9)] if since_ns is not None else course[:0]
    if not len(calm) or not calm[:, 0].any():
        return nan, nan
    if not isfinite(over_ns):
        return inf, inf
    first = max(ceil(over_ns / 1e9 - 1e-9), floor(at_ns / 1e9))
    rate = min(float(calm[:, 0].mean()), inf if due_tps is None else due_tps)
    p99 = float(np.nanmedian(calm[:, 1])) if np.isfinite(calm[:, 1]).any() else nan
    rates = ((second, some) for second, some in _windows(course, first - (due_tps is not None), end_ns))
    times = ((second, some[:, 1]) for second, some in _windows(course, first, end_ns) if np.isfinite(some[:, 1]).any())
    if first + _OVER > floor(end_ns / 1e9 + 1e-9):
        return nan, nan
    back = next((second for second, some in rates if some[:, 0].mean() >= BACK * rate), None)
    quick = next((second for second, some in times if np.nanmean(some) <= p99 / BACK), None)
    return _after(back, at_ns, over_ns), _after(quick, at_ns, over_ns)


def _windows(course: Floats, first: int, end_ns: float) -> Iterator[tuple[int, Floats]]:
    """Every three seconds in a row from the second ``first`` on, with the number of the first of them."""
    for second in range(first, floor(end_ns / 1e9 + 1e-9) - _OVER + 1):
        yield second, course[second : second + _OVER]


def _after(second: int | None, at_ns: float, over_ns: float) -> float:
    return inf if second is None else max(0.0, second * 1e9 - at_ns, over_ns - at_ns)


def median_of(values: Sequence[float]) -> Interval:
    """The median of what equal events did, with the interval that order statistics give at 95%; bounds nan below six
    values, which do not hold it so often. ``inf`` may be among them."""
    ordered = sorted(values)
    if not ordered:
        return Interval(nan, nan, nan, _LEVEL)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    at = rank(len(ordered), _LEVEL)
    low, high = (ordered[at - 1], ordered[-at]) if at else (nan, nan)
    return Interval(median, low, high, _LEVEL)
