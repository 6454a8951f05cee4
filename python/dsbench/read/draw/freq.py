"""Inverse cumulative frequency of the residence times (the paper, section 4.1.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.draw.axes import ValueAxis, title
from dsbench.read.draw.theme import (
    GREY,
    HEIGHT,
    HUES,
    ORDERED,
    Row,
    finish,
    legend_columns,
    log_domain,
    log_ticks,
    number_labels,
    spread,
)
from dsbench.read.draw.vega import Chart, Spec, channel, constant
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.stats.values import Floats, Frequency, percent

_POINTS = 300         # per curve, at most
_EXACT_TAIL = 80      # slowest buckets of a curve, all of which are kept
_LABEL_GAP = 11       # pixels between the labels of neighbouring levels


def freq(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """Share of transactions that take longer than x, one curve per scale, on two log axes."""
    curves = {scale: found
        for scale, found in sorted(evaluation.of(LatencyResult).frequency.items()) if drawable(found)}
    if not curves:
        return None
    responses = {scale: found
        for scale, found in sorted(evaluation.of(LatencyResult).response.items()) if drawable(found)}
    rows = [row for scale, found in curves.items() for row in _rows(scale, "latency", found)]
    rows += [row for scale, found in responses.items() for row in _rows(scale, "response", found)]
    rarest = min(row["longer"] for row in rows)
    y = ValueAxis("share of transactions that take longer", min(10 ** math.floor(math.log10(rarest)), 0.1), 1.0, True)
    levels = _level_rows([q for q in evaluation.levels if 1 - q >= y.low], y)
    notes = ["solid: latency; dashed: response time, from the intended start"] if responses else []
    layers = [*_level_layers(), *_curve_layers(list(curves), rows, y, dashed=bool(responses))]
    return finish(
        layers, name="freq", archive=evaluation.name, data={"curves": rows, "levels": levels},
        title=title(f"{subject(run)}: cumulative frequency of latencies", evaluation, run, notes),
        description="Share of transactions whose latency is longer than x. Horizontal lines: confidence "
        "levels. A curve ends at its slowest transaction, drawn at 1 / number of transactions.",
    )


def drawable(found: Frequency) -> bool:
    """Whether a log axis has a place for it."""
    return found.count > 0 and bool(np.any(found.residence_ns > 0))


def _rows(scale: int, measure: str, found: Frequency) -> list[Row]:
    times_ns, longer = curve(found)
    return [
        {"scale": scale, "measure": measure, "ms": float(t) / 1e6, "longer": float(share)}
        for t, share in zip(times_ns, longer, strict=True)
    ]


def curve(found: Frequency) -> tuple[Floats, Floats]:
    """At most 300 points of a distribution: the start at 1, an even choice of the body, the tail as it is.

    The share longer than the slowest is 0, which a log axis has no place for: the curve ends at the exact
    maximum with 1 / count, the share of transactions that take at least as long.
    """
    known = (found.residence_ns > 0) & (found.longer > 0)
    body_ns, share = found.residence_ns[known], found.longer[known]
    first = float(found.residence_ns[found.residence_ns > 0][0])
    slowest = found.quantiles_ns.get(1.0, 0.0) or float(found.residence_ns[-1])
    times_ns = np.concatenate([[min(first, slowest)], body_ns, [slowest]])
    shares = np.concatenate([[1.0], share, [1.0 / found.count]])
    chosen = _chosen(np.log10(times_ns), np.log10(shares))
    return times_ns[chosen], shares[chosen]


def _chosen(u: Floats, w: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Indexes of the points to keep: all of the tail, and points of even distance along the curve before it."""
    size = len(u)
    if size <= _POINTS:
        return np.arange(size)
    head = size - _EXACT_TAIL
    span_u, span_w = max(float(np.ptp(u)), 1e-12), max(float(np.ptp(w)), 1e-12)
    steps = np.hypot(np.diff(u[:head]) / span_u, np.diff(w[:head]) / span_w)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    even = np.searchsorted(along, np.linspace(0.0, along[-1], _POINTS - _EXACT_TAIL))
    return np.unique(np.concatenate([[0], np.minimum(even, head - 1), np.arange(head, size)]))


def _level_rows(levels: Sequence[float], y: ValueAxis) -> list[Row]:
    per_decade = HEIGHT / math.log10(y.high / y.low)
    shares = sorted(1 - q for q in levels)
    gap = min(_LABEL_GAP, HEIGHT / max(len(levels), 1))
    labels = spread([math.log10(share) for share in shares], gap / per_decade)
    return [
        {"share": share, "label_share": 10**label, "label": f"{percent(level)}%"}
        for share, label, level in zip(shares, labels, sorted(levels, reverse=True), strict=True)
    ]


def _level_layers() -> list[Chart]:
    base = Chart("levels")
    look: dict[str, Any] = {"align": "left", "baseline": "middle", "dx": 5, "color": GREY}
    return [
        base.mark("rule", color=GREY, strokeWidth=1, strokeDash=[2, 2]).encode(y="share:Q"),
        base.mark("text", **look).encode(x=constant("width"), y="label_share:Q", text="label:N"),
    ]


def _curve_layers(scales: Sequence[int], rows: Sequence[Row], y: ValueAxis, *, dashed: bool) -> list[Chart]:
    measured = "latency or response time" if dashed else "latency"
    low, high = log_domain((row["ms"] for row in rows), margin=1.15)
    x = channel(
        "ms:Q", scale=dict(type="log", domain=[low, high], nice=False),
        axis=dict(values=log_ticks(low, high), labelExpr=number_labels(), title=f"{measured} [ms], log scale"),
    )
    # The labels of the levels stand between plot and legend.
    legend = dict(title="scale", orient="right", offset=52, columns=legend_columns(len(scales)), symbolLimit=0)
    colour = channel("scale:O", sort=None, scale=dict(domain=list(scales), scheme=ORDERED), legend=legend)
    line = {
        "x": x, "y": y.y("longer"), "color": colour, "order": channel("ms:Q"),
        "tooltip": [
            channel("scale:Q", format="d"), "measure:N", channel("ms:Q", title="time [ms]", format=",.4~r"),
            channel("longer:Q", title="share that takes longer", format=".3~g"),
        ],
    }
    if dashed:
        measures = dict(domain=["latency", "response"], range=[[1, 0], [5, 3]])
        line["strokeDash"] = channel("measure:N", scale=measures, legend=None)
    # Between two buckets nothing was measured: the share holds until the next one.
    return [Chart("curves").mark("line", strokeWidth=1.6, interpolate="step-after").encode(**line)]


def kinds(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """Share of transactions that take longer than x, one curve per kind, at the largest scale; two log axes."""
    scale = max((x for x, found in evaluation.of(KindsResult).kind_frequency.items() if found), default=None)
    if scale is None:
        return None
    waits = evaluation.of(KindsResult).kind_response.get(scale, {})
    rows = _kind_rows("latency", evaluation.of(KindsResult).kind_frequency[scale]) + _kind_rows("response", waits)
    if not rows:
        return None
    rarest = min(row["longer"] for row in rows)
    y = ValueAxis("share of transactions that take longer", min(10 ** math.floor(math.log10(rarest)), 0.1), 1.0, True)
    notes = [f"scale {scale}"]
    if waits:
        notes[0] += "; solid: latency; dashed: response time, from the intended start"
    return finish(
        _layers(rows, y, dashed=bool(waits)), name="kinds", archive=evaluation.name, data={"kinds": rows},
        title=title(f"{subject(run)}: cumulative frequency of latencies by kind", evaluation, run, notes),
        description="Share of the transactions of each kind whose latency is longer than x. A curve ends at its "
        "slowest transaction, drawn at 1 / number of transactions.",
    )


def _kind_rows(measure: str, curves: Mapping[str, Frequency]) -> list[Row]:
    return [
        {"kind": kind, "measure": measure, "ms": float(time_ns) / 1e6, "longer": float(share)}
        for kind, values in curves.items()
        if drawable(values)
        for time_ns, share in zip(*curve(values), strict=True)
    ]


def _layers(rows: Sequence[Row], y: ValueAxis, *, dashed: bool) -> list[Chart]:
    names = list(dict.fromkeys(row["kind"] for row in rows))
    measured = "latency or response time" if dashed else "latency"
    low, high = log_domain((row["ms"] for row in rows), margin=1.15)
    x = channel(
        "ms:Q", scale=dict(type="log", domain=[low, high], nice=False),
        axis=dict(values=log_ticks(low, high), labelExpr=number_labels(), title=f"{measured} [ms], log scale"),
    )
    colours = dict(domain=names, range=[HUES[i % len(HUES)] for i in range(len(names))])
    line = {
        "x": x, "y": y.y("longer"), "order": channel("ms:Q"),
        "color": channel("kind:N", sort=names, scale=colours, legend=dict(title="kind", orient="right")),
        "tooltip": [
            "kind:N", "measure:N", channel("ms:Q", title="time [ms]", format=",.4~r"),
            channel("longer:Q", title="share that takes longer", format=".3~g"),
        ],
    }
    if dashed:
        measures = dict(domain=["latency", "response"], range=[[1, 0], [5, 3]])
        line["strokeDash"] = channel("measure:N", scale=measures, legend=None)
    return [Chart("kinds").mark("line", strokeWidth=1.6, interpolate="step-after").encode(**line)]
