"""Whether times have one shape: from the intended starts as well, and by second as in the whole cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from dsbench.commons.audit.rows import CYCLE, ENOUGH, KIND, Rows, where
from dsbench.commons.audit.times import begins_of, summed
from dsbench.stats.values import Floats, Ints

_OPEN: Final = ("poisson", "constant")
_WITHIN: Final = 1.07
"""How far a quantile of a second may be off: the course has 16 buckets for each doubling, and tells their middle."""
_FINEST: Final = 256
"""Nanoseconds below which the course does not tell times apart."""


def responses(run: Rows) -> Iterator[str]:
    """From its intended start nothing takes less time than from its first attempt, and as many ended."""
    pacing = {tuple(row[key] for key in (*CYCLE, "group")): row["pacing"] for row in run.tables["groups"].to_pylist()}
    told = run.add_up("cycles", KIND, "committed", "rolled_back", "residence_ns", "response_ns")
    found = summed(run, "response")
    for key, (committed, rolled_back, residence, response) in told.items():
        count, here = committed + rolled_back, found.get(key)
        if response is None or not count:
            continue
        paced = pacing.get((*key[:3], key[5]), "")
        if response < residence:
            yield f"{where(key)}, {key[-1]}: from their intended starts {count:,} took less time than they took"
        if paced in ("closed", "in-step") and response != residence:
            yield f"{where(key)}, {key[-1]}: in the closed loop nothing has an intended start of its own"
        if paced in _OPEN and count >= ENOUGH and response == residence:
            yield f"{where(key)}, {key[-1]}: not one of {count:,} starts was late by a nanosecond"
        if here is None and paced in _OPEN and run.run.spec.driver == "own":
            yield f"{where(key)}, {key[-1]}: there is no histogram of its times from the intended starts"
        if here is not None and here["count_sum"] != count:
            yield f"{where(key)}: {count:,} {key[-1]} ended, and {here['count_sum']:,} by their response times"
        elif here is not None and not here["floor_sum"] * 0.999999 <= response <= here["roof_sum"] * 1.000001:
            yield f"{where(key)}, {key[-1]}: its times from intended starts add up to others than its clients'"
    yield from _later(run)


def _later(run: Rows) -> Iterator[str]:
    """At no time have more responses ended than transactions: each takes at least as long from its intended start."""
    curves = dict(run.lists("buckets", ("measure", *KIND), "low_ns", "count"))
    for (measure, *key), (low, count) in curves.items():
        mine = curves.get(("residence", *key))
        if measure != "response" or mine is None:
            continue
        response, residence = begins_of(low)[0], begins_of(mine[0])[0]
        at = np.unique(np.concatenate([response, residence]))
        if (_ended(response, count, at) > _ended(residence, mine[1], at)).any():
            yield f"{where(tuple(key))}, {key[-1]}: some took less time from their intended starts than they took"


def _ended(begin: Ints, count: Ints, at: Ints) -> Ints:
    """How many lie in buckets that begin at or before each of ``at``."""
    order = np.argsort(begin, kind="stable")
    sums = np.concatenate([[0], np.cumsum(count[order])])
    return np.asarray(sums[np.searchsorted(begin[order], at, side="right")])


def quantiles(run: Rows) -> Iterator[str]:
    """A histogram has as many short and as many long times as the seconds of its cycle have together.

    Of a second with n transactions at least n/2 took no longer than its median, 0.99 n no longer than its 99%
    quantile, and all no longer than its greatest time. Added up over the seconds that is a floor below the histogram;
    that at most as many took less is a ceiling above it. In an open loop both have times from the intended starts.
    """
    curves = dict(run.lists("buckets", ("measure", *KIND), "low_ns", "high_ns", "count"))
    for key, (count, p50, p99, most) in run.lists("seconds", KIND, "count", "p50_ns", "p99_ns", "max_ns"):
        there = curves.get(("response", *key), curves.get(("residence", *key)))
        if there is None:
            continue
        low, high, inside = there
        some = count > 0
        count, p50, p99, most = count[some], p50[some], p99[some], most[some]
        slack = abs(int(inside.sum()) - int(count.sum())) + 1
        if _above(low, inside, _floor(count, p50, p99, most), slack):
            yield f"{where(key)}, {key[-1]}: its histogram has longer times than its seconds have"
        if _below(high, inside, count, p50, p99, slack):
            yield f"{where(key)}, {key[-1]}: its histogram has shorter times than its seconds have"


def _floor(count: Ints, p50: Ints, p99: Ints, most: Ints) -> tuple[Floats, Floats]:
    """Times, rising, and how many took no longer at least."""
    at = np.concatenate([p50 * _WITHIN, p99 * _WITHIN, np.maximum(most, np.maximum(p50, p99) * _WITHIN)])
    at = np.maximum(at, _FINEST)
    more = np.concatenate([0.5 * count, 0.49 * count, 0.01 * count])
    order = np.argsort(at, kind="stable")
    return at[order], np.cumsum(more[order])


def _above(low: Ints, inside: Ints, floor: tuple[Floats, Floats], slack: int) -> bool:
    order = np.argsort(low, kind="stable")
    sums = np.concatenate([[0], np.cumsum(inside[order])])
    at, least = floor
    return bool((sums[np.searchsorted(low[order], at, side="right")] + slack < least).any())


def _below(high: Ints, inside: Ints, count: Ints, p50: Ints, p99: Ints, slack: int) -> bool:
    fine = (np.where(one < _FINEST, 0, one / _WITHIN) for one in (p50, p99))
    at = np.concatenate(list(fine))
    kept = np.concatenate([0.49 * count, 0.01 * count])
    order = np.argsort(at, kind="stable")
    at, kept = at[order], kept[order]
    # Of a time all are below it but the shares of those seconds whose quantiles are not.
    left = np.cumsum(kept[::-1])[::-1]
    most = count.sum() - left
    ends = np.sort(high)
    sums = np.concatenate([[0], np.cumsum(inside[np.argsort(high, kind="stable")])])
    return bool((sums[np.searchsorted(ends, at, side="left")] > most + slack).any())
