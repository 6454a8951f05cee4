"""Several runs side by side: relative rates (the paper, section 4.9.6 and figures 36 and 37) and what differs.

A curve is divided by that of the first run, scale by scale. Where the paper shows the quotients as they are,
each comes here with a bootstrap interval over the cycles: it speaks of repeating the cycles of both runs, not
of repeating the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dsbench.analysis.index import LEVEL, REPLICATES, SEED, dsi_many
from dsbench.analysis.values import Floats, Interval


@dataclass(frozen=True)
class Compared:
    """One run beside the first."""

    medians: Mapping[int, float]
    """Scale to the median of T_i (eq. 7)."""
    relative: Mapping[int, Interval]
    """Scale to rate / rate of the first run, for the scales of both; 1 for the first run itself."""
    overall: Interval | None
    """The mean of the relative rate over lg X of all scales of both runs (see ``overall``)."""


def compare(runs: Sequence[Mapping[int, Floats]]) -> list[Compared]:
    """All runs, given as T_i by scale, beside the first of them. A scale without cycles is left out."""
    used = [{scale: rates for scale, rates in sorted(run.items()) if rates.size} for run in runs]
    return [
        Compared(
            {scale: float(np.median(rates)) for scale, rates in run.items()},
            {scale: relative(run[scale], used[0][scale]) for scale in run if scale in used[0]},
            overall(run, used[0]),
        )
        for run in used
    ]


def relative(
    rates: Floats, reference: Floats, *, replicates: int = REPLICATES, level: float = LEVEL, seed: int = SEED
) -> Interval:
    """median(T_i) / median(T_i of the reference) with a percentile bootstrap interval at ``level`` (0-1).

    Each replicate draws the cycles of both runs anew with replacement, independently of each other. With
    a single cycle on either side the bounds are nan, with a reference of 0 the value as well.
    """
    below = float(np.median(reference))
    value = float(np.median(rates)) / below if below > 0 else np.nan
    if rates is reference:
        return Interval(1.0, 1.0, 1.0, level) if below > 0 else Interval(np.nan, np.nan, np.nan, level)
    if min(rates.size, reference.size) < 2 or np.isnan(value):
        return Interval(value, np.nan, np.nan, level)
    random = np.random.default_rng(seed)
    above, under = _medians(random, rates, replicates), _medians(random, reference, replicates)
    return _interval(value, np.divide(above, under, out=np.full(replicates, np.nan), where=under > 0), level)


def overall(
    rates: Mapping[int, Floats], reference: Mapping[int, Floats], *,
    replicates: int = REPLICATES, level: float = LEVEL, seed: int = SEED,
) -> Interval | None:
    """10^(2 (DSI - DSI of the reference) / (lg X_max - lg X_min)), both DSI (eq. 12) over the scales of both runs.

    The DSI is half the area below lg T over lg X, so this is the geometric mean of the relative rate along lg X:
    one factor for two whole curves. ``None`` for fewer than two common scales or where a rate is 0.
    """  # fmt: skip
    scales = np.array(sorted(set(rates) & set(reference)), dtype=float)
    if scales.size < 2:
        return None
    ours, theirs = ([run[int(scale)] for scale in scales] for run in (rates, reference))
    value = _factor(scales, *(np.array([[np.median(values)] for values in run]) for run in (ours, theirs)))
    if np.isnan(value[0]):
        return None
    if all(a is b for a, b in zip(ours, theirs, strict=True)):
        return Interval(1.0, 1.0, 1.0, level)
    if min(values.size for values in (*ours, *theirs)) < 2:
        return Interval(float(value[0]), np.nan, np.nan, level)
    random = np.random.default_rng(seed)
    drawn = [np.stack([_medians(random, values, replicates) for values in run]) for run in (ours, theirs)]
    return _interval(float(value[0]), _factor(scales, *drawn), level)


def _factor(scales: Floats, ours: Floats, theirs: Floats) -> Floats:
    span = np.log10(scales[-1] / scales[0])
    return np.asarray(10 ** (2 * (dsi_many(scales, ours) - dsi_many(scales, theirs)) / span), dtype=float)


def _medians(random: np.random.Generator, rates: Floats, replicates: int) -> Floats:
    return np.asarray(np.median(random.choice(rates, (rates.size, replicates)), axis=0), dtype=float)


def _interval(value: float, drawn: Floats, level: float) -> Interval:
    if np.isnan(drawn).any():
        # Cycles without any transaction: some replicates have no quotient, so neither has the interval an end.
        return Interval(value, np.nan, np.nan, level)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level)


def differing(described: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Names that do not have the same value everywhere, with the values in order; empty text where there is none."""
    names = list(dict.fromkeys(name for values in described for name in values))
    table = {name: [values.get(name, "") for values in described] for name in names}
    return {name: values for name, values in table.items() if len(set(values)) > 1}
