"""The performance index DSI (the paper, eq. 12) and the rating by TPC-B clause 4.1.

The DSI breaks at a rate of 0, depends on the range of scales and comes without an error bar in the
paper. Here it is defined for rates above 0 only, travels with its range and has a bootstrap interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from dsbench.analysis.values import Floats, Index, Interval

LEVEL = 0.95
"""Level of the bootstrap interval."""
REPLICATES = 2000
SEED = 0
"""Fixed, so that an archive evaluated twice gives the same digits."""
COMPARABLE_CYCLES = 10
COMPARABLE_DURATION_S = 60.0


def dsi(scales: Sequence[float] | Floats, rates: Sequence[float] | Floats) -> float:
    """DSI (eq. 12) = 0.5 * sum over s >= 2 of (lg T_s + lg T_{s-1}) / 2 * (lg X_s - lg X_{s-1}).

    nan for fewer than two scales or a rate of 0: there is no area under such a curve.
    """
    values = dsi_many(np.asarray(scales, dtype=float), np.asarray(rates, dtype=float)[:, np.newaxis])
    return float(values[0])


def dsi_many(scales: Floats, rates: Floats) -> Floats:
    """``dsi`` of many curves at once: ``rates`` has the shape (scales, curves)."""
    defined = np.all(rates > 0, axis=0) & (scales.size >= 2)
    lg_rates = np.log10(np.where(defined, rates, 1.0))
    widths = np.diff(np.log10(scales))[:, np.newaxis]
    area = np.sum((lg_rates[1:] + lg_rates[:-1]) / 2 * widths, axis=0)
    return np.where(defined, 0.5 * area, np.nan)


def bootstrap(
    rates: Mapping[int, Floats], *, replicates: int = REPLICATES, level: float = LEVEL, seed: int = SEED
) -> Interval | None:
    """The DSI of the median rates with a percentile bootstrap interval; ``None`` where it is not defined.

    ``rates`` gives T_i (eq. 7) by scale. Each replicate draws the cycles of every scale anew with
    replacement and takes their medians. The cycles of one scale share one population of the
    database, so the interval speaks of repeating the cycles, not of repeating the run. With a single
    cycle at some scale there is nothing to draw from and the bounds are nan.
    """
    scales = np.array(sorted(scale for scale in rates if rates[scale].size), dtype=float)
    value = dsi(scales, [float(np.median(rates[int(scale)])) for scale in scales])
    if np.isnan(value):
        return None
    if min(rates[int(scale)].size for scale in scales) < 2:
        return Interval(value, np.nan, np.nan, level)
    random = np.random.default_rng(seed)
    medians = [
        np.median(random.choice(rates[int(scale)], (rates[int(scale)].size, replicates)), axis=0) for scale in scales
    ]
    drawn = dsi_many(scales, np.stack(medians))
    if np.isnan(drawn).any():
        # Cycles without any transaction: some replicates have no index, so neither has the interval an end.
        return Interval(value, np.nan, np.nan, level)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level)


def crossing(scales: Sequence[int], rates: Sequence[float]) -> tuple[float | None, str]:
    """(X where T(X) = X, note): TPC-B clause 4.1 forbids to report more tps than the configured scale.

    Between two scales lg T is taken as linear in lg X. Of several crossings the highest counts. When
    there is none, the note says on which side the curve stays; it is empty otherwise.
    """
    points = [(scale, rate) for scale, rate in zip(scales, rates, strict=True) if rate > 0]
    if not points:
        return None, "no scale with a transaction rate above 0"
    x = np.log10([scale for scale, _ in points])
    above = np.log10([rate for _, rate in points]) - x
    if above[-1] > 0:
        return None, f"above T = X up to scale {points[-1][0]}: larger scales needed"
    if above[-1] == 0:
        return float(points[-1][0]), ""
    falls = np.flatnonzero((above[:-1] >= 0) & (above[1:] < 0))
    if falls.size == 0:
        return None, f"below T = X from scale {points[0][0]} on: fewer tps than the smallest scale has branches"
    at = int(falls[-1])
    share = above[at] / (above[at] - above[at + 1])
    return float(10 ** (x[at] + share * (x[at + 1] - x[at]))), ""


def index(
    rates: Mapping[int, Floats], *, begun: Iterable[int], void: Set[int], ladder: Sequence[int], duration_s: float,
    conduct: bool,
) -> Index:
    """The index of one run.

    ``rates`` gives T_i (eq. 7) by scale, ``begun`` all scales of the run, ``void`` those whose check failed, which are
    left out, ``ladder`` the scales of the profile whose figures are comparable, ``duration_s`` D; ``conduct`` tells
    whether threads, isolation and the like are those of that profile. T_s is the median of the T_i, the official rate
    of the scale (the paper, section 2.4) and the curve of its section 4.1.1. The index is
    comparable when it rests on that very ladder and conduct, with at least 10 cycles of 60 s each.
    """
    used = {scale: values for scale, values in sorted(rates.items()) if values.size and scale not in void}
    scales = list(used)
    crosses, note = crossing(scales, [float(np.median(values)) for values in used.values()])
    comparable = (
        conduct
        and scales == list(ladder)
        and all(values.size >= COMPARABLE_CYCLES for values in used.values())
        and duration_s >= COMPARABLE_DURATION_S
    )
    interval = bootstrap(used)
    return Index(
        dsi=interval,
        lowest_scale=min(scales, default=0),
        highest_scale=max(scales, default=0),
        comparable=comparable and interval is not None,
        crossing=crosses,
        crossing_note=note,
        left_out={
            x: "its check failed" if x in void else "no cycle was finished" for x in sorted(begun) if x not in used
        },
    )
