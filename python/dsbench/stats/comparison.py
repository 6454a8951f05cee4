"""Several runs side by side: relative rates (the paper, section 4.9.6 and figures 36 and 37) and what differs.

A curve is divided by that of the first, scale by scale. Where the paper shows the quotients as they are, each comes
here with an interval. Where runs were repeated, it is that of their spread. Where each was made once, it is that of
their cycles, which speaks of repeating the cycles of both runs, not of repeating the runs: it is too narrow.

All intervals at one scale hold together with their level: with k quotients each is one at 1 - (1 - level) / k
(Bonferroni). So of many runs that do the same, rarely any looks different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from math import exp, hypot, inf, isfinite, log, sqrt
from random import Random
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dsbench.dataclass import dataclass
from dsbench.stats.index import dsi, weights
from dsbench.stats.precision import LEVEL, MedianSpread, reach, spread, student
from dsbench.stats.values import Floats, Interval


@dataclass(frozen=True)
class Compared:
    """Runs of one kind beside those of the first."""

    medians: Mapping[int, float]
    """Scale to the median of T_i (eq. 7); of several runs the geometric mean of theirs."""
    relative: Mapping[int, Interval]
    """Scale to rate / rate of the first, for the scales of both; 1 for the first itself."""
    overall: Interval | None
    """The mean of the relative rate over lg X of all scales of both (see ``overall``)."""
    repeated: bool = False
    """Whether the intervals are those of the spread between runs; else of the cycles of one run each."""


Run = Mapping[int, Floats]
"""Scale to T_i (eq. 7)."""


def compare(kinds: Sequence[Sequence[Run]], *, level: float = LEVEL) -> list[Compared]:
    """Kinds of runs beside the first of them; runs of one kind repeat each other. A scale without cycles is left out.

    As soon as one kind has several runs, the intervals are those of ``repeated``; else those of the cycles. Those of
    one scale hold together at ``level`` (0-1).
    """
    used = [[{scale: rates for scale, rates in sorted(run.items()) if rates.size} for run in runs] for runs in kinds]
    each = 1 - (1 - level) / max(len(kinds) - 1, 1)
    if any(len(runs) > 1 for runs in used):
        return [_together(one, level) for one in repeated(used, level=each)]
    alone = [runs[0] if runs else {} for runs in used]
    found = [
        Compared(
            {scale: float(np.median(rates)) for scale, rates in run.items()},
            {scale: relative(run[scale], alone[0][scale], level=each) for scale in run if scale in alone[0]},
            overall(run, alone[0], level=each),
        )
        for run in alone
    ]
    return [_together(one, level) for one in found]


Known = Mapping[int, Interval]
"""Scale to a figure with an interval of its own, such as a capacity; bounds that are not known are nan, 0 or inf."""


def compare_known(kinds: Sequence[Sequence[Known]], *, level: float = LEVEL) -> list[Compared]:
    """As ``compare``, of figures with intervals of their own in place of cycles.

    Where runs were repeated, their spread counts and not these intervals. Else a quotient has the interval that both
    come to, as in ``ratio_interval``, and none where one of them is open at an end.
    """
    if any(len(runs) > 1 for runs in kinds):
        return compare([[{x: np.array([one.value]) for x, one in run.items()} for run in runs] for runs in kinds],
                       level=level)  # fmt: skip
    each = 1 - (1 - level) / max(len(kinds) - 1, 1)
    alone = [dict(sorted(runs[0].items())) if runs else {} for runs in kinds]
    found = []
    for number, run in enumerate(alone):
        quotients = {x: _quotient_of_known(one, alone[0][x], each) for x, one in run.items() if x in alone[0]}
        if number == 0:
            quotients = dict.fromkeys(quotients, Interval(1.0, 1.0, 1.0, each))
        found.append(Compared({x: one.value for x, one in run.items()}, quotients, _mean_of_known(quotients, each)))
    return [_together(one, level) for one in found]


def _quotient_of_known(over: Interval, under: Interval, level: float) -> Interval:
    if not all(one.low > 0 and isfinite(one.high) for one in (over, under)):
        return Interval(over.value / under.value if under.value > 0 else np.nan, np.nan, np.nan, level)
    return replace(ratio_interval(*(at_level(one, level) for one in (over, under))), level=level)


def at_level(one: Interval, level: float) -> Interval:
    """``one``, whose ends are above 0, at another ``level`` (0-1), as if the logarithm of its value were normal."""
    wider = NormalDist().inv_cdf((1 + level) / 2) / NormalDist().inv_cdf((1 + one.level) / 2)
    low, high = ((end / one.value) ** wider * one.value for end in (one.low, one.high))
    return Interval(one.value, low, high, level)


def _mean_of_known(quotients: Mapping[int, Interval], level: float) -> Interval | None:
    """The mean along lg scale, as ``overall`` has it: of quotients that are independent."""
    scales = sorted(quotients)
    if len(scales) < 2 or any(not quotients[x].value > 0 for x in scales):
        return None
    shares = [float(one) for one in weights(scales) / weights(scales).sum()]
    parts = [(share, quotients[x]) for share, x in zip(shares, scales, strict=True)]
    value = exp(sum(share * log(one.value) for share, one in parts))
    if not all(one.low > 0 for _, one in parts):
        return Interval(value, np.nan, np.nan, level)
    below = hypot(*(share * log(one.value / one.low) for share, one in parts))
    above = hypot(*(share * log(one.high / one.value) for share, one in parts))
    return Interval(value, value * exp(-below), value * exp(above), level)


def _together(one: Compared, level: float) -> Compared:
    """``one`` with the ``level`` at which its intervals hold together with those of the other columns."""
    whole = one.overall and replace(one.overall, level=level)
    return replace(one, relative={x: replace(found, level=level) for x, found in one.relative.items()}, overall=whole)


def repeated(kinds: Sequence[Sequence[Run]], *, level: float = LEVEL) -> list[Compared]:
    """As ``compare``, with intervals out of the spread between the runs, each at ``level`` (0-1).

    The spread is that of lg of the runs' medians. Where both kinds have several runs, the interval is Welch's: they may
    scatter differently. Where one has a single run, it is Student's with the spread pooled over all kinds, which
    supposes that runs of all scatter by the same percentage. The bounds are nan where no kind was repeated at a scale,
    or a rate is 0.
    """
    logs = {
        scale: [np.array([_lg(run[scale]) for run in runs if scale in run]) for runs in kinds]
        for scale in sorted({scale for runs in kinds for run in runs for scale in run})
    }
    found = []
    for number, runs in enumerate(kinds):
        medians = {x: float(10 ** at[number].mean()) for x, at in logs.items() if at[number].size}
        relative_to = {x: _quotient(at, number, level) for x, at in logs.items() if at[0].size and at[number].size}
        both = [set(run) for run in (*kinds[0], *runs)]
        common = sorted(set.intersection(*both)) if kinds[0] and runs else []
        whole = _mean_quotient(kinds, number, common, level) if len(common) > 1 else None
        found.append(Compared(medians, relative_to, whole, repeated=True))
    return found


def _mean_quotient(kinds: Sequence[Sequence[Run]], number: int, scales: Sequence[int], level: float) -> Interval | None:
    means = [np.array([mean_lg(run, scales) for run in some if set(scales) <= set(run)]) for some in kinds]
    found = _quotient(means, number, level)
    return found if np.isfinite(found.value) else None


def _lg(rates: Floats) -> float:
    median = float(np.median(rates))
    return float(np.log10(median)) if median > 0 else np.nan


def mean_lg(run: Run, scales: Sequence[int]) -> float:
    """Mean of lg T (medians of T_i) along lg X: that of the relative rates is the difference of two of them.

    With one scale that of its rate; nan where a rate is 0, or without scales.
    """
    if len(scales) < 2:
        return _lg(run[scales[0]]) if scales else np.nan
    lg_rates, lg_scales = np.array([_lg(run[x]) for x in scales]), np.log10(scales)
    return float(np.sum((lg_rates[1:] + lg_rates[:-1]) / 2 * np.diff(lg_scales)) / (lg_scales[-1] - lg_scales[0]))


def _quotient(logs: Sequence[Floats], number: int, level: float) -> Interval:
    """10^(mean of the logs of a kind - that of the first) with its interval; the first itself is 1."""
    ours, theirs = logs[number], logs[0]
    difference = float(ours.mean() - theirs.mean())
    if number == 0:
        return Interval(1.0, 1.0, 1.0, level) if np.isfinite(ours).all() else Interval(np.nan, np.nan, np.nan, level)
    half = _reach(ours, theirs, logs, level)
    return Interval(float(10**difference), float(10 ** (difference - half)), float(10 ** (difference + half)), level)


def _reach(ours: Floats, theirs: Floats, logs: Sequence[Floats], level: float) -> float:
    """Half of the interval of the difference of two means; nan where nothing was repeated."""
    if min(ours.size, theirs.size) > 1:
        parts = [MedianSpread(float(some.var(ddof=1)) / some.size, some.size - 1) for some in (ours, theirs)]
        return reach([(1.0, part) for part in parts], level)
    freedom = sum(some.size - 1 for some in logs if some.size)
    if freedom < 1:
        return float(np.nan)
    variance = sum(float(((some - some.mean()) ** 2).sum()) for some in logs if some.size) / freedom
    return student(level, freedom) * float(np.sqrt(variance * (1 / ours.size + 1 / theirs.size)))


def dsi_of_runs(runs: Sequence[Run], *, level: float = LEVEL) -> Interval | None:
    """Mean of the DSI (eq. 12) of runs that repeat each other, with Student's interval out of their spread.

    Each run has a population, a server and cycles of its own, so that all of these are in it. The bounds are nan for
    one run. ``None`` where a run has no DSI or other scales than the first.
    """
    if not runs or any(set(run) != set(runs[0]) for run in runs):
        return None
    values = np.array([dsi(sorted(run), [float(np.median(run[x])) for x in sorted(run)]) for run in runs])
    if np.isnan(values).any():
        return None
    mean = float(values.mean())
    if values.size < 2:
        return Interval(mean, np.nan, np.nan, level)
    half = student(level, values.size - 1) * float(values.std(ddof=1)) / np.sqrt(values.size)
    return Interval(mean, float(mean - half), float(mean + half), level)


def dsi_of_blocks(blocks: Sequence[Sequence[Interval]], *, level: float = LEVEL) -> Interval | None:
    """Mean of the DSI over blocks that repeat each other, each with as many runs.

    Of several blocks with Student's interval out of the spread of their means, whose runs then may differ. Of one with
    what the intervals of its runs, which are independent, come to. ``None`` without a run.
    """
    every = [one for block in blocks for one in block]
    if not every:
        return None
    means = np.array([np.mean([one.value for one in block]) for block in blocks if block])
    mean = float(means.mean())
    if means.size < 2:
        half = float(np.sqrt(sum(((one.high - one.low) / 2) ** 2 for one in every))) / len(every)
    else:
        half = student(level, means.size - 1) * float(means.std(ddof=1)) / float(np.sqrt(means.size))
    return Interval(mean, mean - half, mean + half, level)


def dsi_parts(ours: Mapping[int, float], theirs: Mapping[int, float]) -> dict[int, float]:
    """Scale to its part of DSI - DSI of the other (eq. 12), over the scales of both; the parts add up to it.

    ``ours`` and ``theirs`` are medians of T_i by scale. The DSI is a sum over trapezoids, in which lg T of a scale has
    the weight of half of the lg X up to its neighbours: part = (lg X_next - lg X_before) / 4 * lg(T / T of the other).
    Empty below two scales or where a rate is 0.
    """
    scales = sorted(set(ours) & set(theirs))
    if len(scales) < 2 or not all(ours[x] > 0 and theirs[x] > 0 for x in scales):
        return {}
    return {x: float(w * np.log10(ours[x] / theirs[x])) for x, w in zip(scales, weights(scales), strict=True)}


def relative(rates: Floats, reference: Floats, *, level: float = LEVEL) -> Interval:
    """median(T_i) / median(T_i of the reference) with its interval at ``level`` (0-1), symmetric in lg T.

    The bounds are nan where one of them has too few cycles for an interval of its own; with a reference of 0 the value
    as well.
    """
    below = float(np.median(reference))
    value = float(np.median(rates)) / below if below > 0 else np.nan
    if rates is reference:
        return Interval(1.0, 1.0, 1.0, level) if below > 0 else Interval(np.nan, np.nan, np.nan, level)
    return _around(value, [(1.0, rates), (1.0, reference)], level)


def overall(rates: Mapping[int, Floats], reference: Mapping[int, Floats], *, level: float = LEVEL) -> Interval | None:
    """10^(2 (DSI - DSI of the reference) / (lg X_max - lg X_min)), both DSI (eq. 12) over the scales of both runs.

    The DSI is half the area below lg T over lg X, so this is the geometric mean of the relative rate along lg X:
    one factor for two whole curves. ``None`` for fewer than two common scales or where a rate is 0.
    """
    scales = sorted(set(rates) & set(reference))
    if len(scales) < 2:
        return None
    ours, theirs = ([run[scale] for scale in scales] for run in (rates, reference))
    value = float(10 ** (mean_lg(rates, scales) - mean_lg(reference, scales)))
    if np.isnan(value):
        return None
    if all(a is b for a, b in zip(ours, theirs, strict=True)):
        return Interval(1.0, 1.0, 1.0, level)
    shares = weights(scales) / weights(scales).sum()
    return _around(value, [*zip(shares, ours, strict=True), *zip(shares, theirs, strict=True)], level)


def _around(value: float, parts: Sequence[tuple[float, Floats]], level: float) -> Interval:
    """``value`` with the interval of a product of medians, each to the power of its weight or one over that."""
    known = [(weight, found) for weight, rates in parts if (found := spread(rates)) is not None]
    half = reach(known, level) if len(known) == len(parts) else np.nan
    return Interval(value, value * float(np.exp(-half)), value * float(np.exp(half)), level)


def ratio_interval(over: Interval, under: Interval) -> Interval:
    """``over`` / ``under``, which are independent, with the interval that both of theirs come to at their level: the
    method of variance estimates recovery, of logarithms (Zou and Donner, Statistics in Medicine 27, 2008)."""
    value = over.value / under.value if under.value > 0 else np.nan
    if not min(over.low, under.low) > 0:
        return Interval(value, np.nan, np.nan, over.level)
    below = hypot(log(over.value / over.low), log(under.high / under.value))
    above = hypot(log(over.high / over.value), log(under.value / under.low))
    return Interval(value, value * exp(-below), value * exp(above), over.level)


def differing(described: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Names that do not have the same value everywhere, with the values in order; empty text where there is none."""
    names = list(dict.fromkeys(name for values in described for name in values))
    table = {name: [values.get(name, "") for values in described] for name in names}
    return {name: values for name, values in table.items() if len(set(values)) > 1}


LEVEL = 0.95
EFFECT = 10.0
"""g: variance of the effect in the mixture. A large one decides large differences after three blocks."""


ORDERS = ("ABAB", "ABBA", "BAAB", "BABA")
"""A block is two pairs. Each pair's order is drawn by itself, as any rule meets a disturbance of the same period."""
_DRAWN = (2.4, 2.6)
"""Of three blocks and of more: the first below the 2.449 of six pairs that are all alike, so that three can decide."""
_CALM = 3.0
"""Robust deviations from their median beyond which pairs of runs count as much as those at that distance; more of them
where these are known from few pairs."""
_CLIP = 2.5
"""The same for the draw of the orders, in robust deviations from the ratio that is tried."""
_ROBUST = 1.4826
"""Standard deviation of a normal distribution over its median distance from the middle."""
_FIFTH = 1.2816
"""Distance from the middle, in standard deviations, that a fifth of a normal distribution exceeds."""
_STEPS = np.concatenate([[0.0], np.geomspace(1e-3, 1, 60)])


def order_of(seed: int, block: int) -> str:
    """The order of the runs of ``block``, from 1: one of ``ORDERS``, drawn with ``seed``."""
    return Random(f"{seed} {block}").choice(ORDERS)


class Verdict(StrEnum):
    """What can be said of B against A."""

    FASTER = "faster"
    SLOWER = "slower"
    ALIKE = "no difference"
    OPEN = "undecided"


@dataclass(frozen=True)
class RateRatio:
    """B over A after some blocks."""

    interval: Interval
    """Of the rate of B over that of A: at ``LEVEL`` for all numbers of blocks at once."""
    verdict: Verdict

    @property
    def most(self) -> float:
        """The largest difference, as a share of the rate of A or of B, that the interval leaves open."""
        return max(self.interval.high - 1, 1 / self.interval.low - 1) if self.interval.low > 0 else inf


def of_block(rates: Floats, order: str) -> Floats:
    """ln(B / A) of each of the two pairs of one block, made in ``order``; -inf, inf or nan with a rate of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.diff(np.log(rates).reshape(-1, 2))[:, 0]
    return np.array([one if order[2 * at] == "A" else -one for at, one in enumerate(change)])


def interval(pairs: Floats, level: float = LEVEL) -> Interval:
    """exp(mean of ``pairs``), each ln(B / A), of shape (blocks, 2), with the wider of two intervals; 0 and inf where
    nothing is known yet.

    One is that of the mixture over the blocks, above. The other excludes a ratio only where the draw of the orders is
    an unlikely reason for what was seen: with d the pairs' distances from its logarithm, cut off at ``_CLIP`` robust
    deviations, where |sum of d| exceeds ``_DRAWN`` times the root of the sum of d². That holds whatever disturbed the
    runs, as the order gives each distance its sign (Fisher's randomization, The Design of Experiments, 1935).

    Pairs far from all others are cut off for the mean and the mixture, too (Huber, Robust Statistics, 1981): of single
    runs that lose 40% the mean of all would know little.
    """
    n = len(pairs)
    value = float(pairs.mean()) if n else np.nan
    if n < 2 or not np.isfinite(pairs).all():
        return Interval(float(np.exp(value)), 0.0, inf, level)
    calm = _calm(pairs)
    value = float(calm.mean())
    drawn = _DRAWN[pairs.size > 6]
    wide = 1 + n * EFFECT
    base = (sqrt(wide) / (1 - level)) ** (2 / n)
    if pairs.size <= drawn**2 or base >= wide:
        return Interval(exp(value), 0.0, inf, level)
    t = sqrt((n - 1) * (base - 1) / (1 - base / wide))
    half = t * float(calm.mean(axis=1).std(ddof=1)) / sqrt(n)
    below, above = (max(half, _drawn_apart(pairs.ravel(), value, sign, drawn)) for sign in (-1, 1))
    return Interval(exp(value), exp(value - below), exp(value + above), level)


def _calm(pairs: Floats) -> Floats:
    """``pairs`` without those that are far from all others: they are as far as what is called far.

    What a fifth of them or more do is not far: the distance of four fifths is the measure, and not the median. Else
    the minority would be moved to what most pairs happen to say.
    """
    middle = np.median(pairs)
    scale = float(np.quantile(np.abs(pairs - middle), 0.8)) / _FIFTH
    most = _CALM * (1 + 4 / pairs.size) * scale
    return middle + np.clip(pairs - middle, -most, most) if scale > 0 else pairs


def _drawn_apart(pairs: Floats, value: float, sign: int, drawn: float) -> float:
    """How far beyond ``value``, below it or above it by ``sign``, a logarithm may lie that the draw explains."""

    def explained(away: Floats) -> NDArray[np.bool_]:
        apart = pairs - (value + sign * away)[:, np.newaxis]
        most = _CLIP * _ROBUST * np.median(np.abs(apart), axis=1, keepdims=True)
        cut = np.clip(apart, -most, most)
        return np.asarray(np.abs(cut.sum(axis=1)) <= drawn * np.sqrt((cut**2).sum(axis=1)))

    width = 2 * float(np.ptp(pairs)) * sqrt(pairs.size / (pairs.size - drawn**2)) + 1e-12
    for _ in range(4):
        away = _STEPS * width
        if not (known := explained(away))[-1]:
            break
        width *= 8
    else:
        return inf
    if not known.any():
        return 0.0
    for _ in range(5):
        last = int(np.flatnonzero(known)[-1])
        away = np.linspace(away[last], away[last + 1], 24)
        known = explained(away)
        known[0], known[-1] = True, False
    return float(away[int(np.flatnonzero(known)[-1])])


def ratio(pairs: Floats, wanted: float) -> RateRatio:
    """What the ``pairs`` say, as ``interval`` takes them; they may end unless the verdict is ``OPEN``.

    ``wanted``: the difference (share 0-1) below which rates count as equal.
    """
    found = interval(pairs)
    if not (isfinite(found.value) and found.value > 0):
        return RateRatio(found, Verdict.OPEN)
    if found.low > 1 or found.high < 1:
        return RateRatio(found, Verdict.FASTER if found.low > 1 else Verdict.SLOWER)
    narrow = found.low > 0 and max(found.high - 1, 1 / found.low - 1) <= wanted
    return RateRatio(found, Verdict.ALIKE if narrow else Verdict.OPEN)
