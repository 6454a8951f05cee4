"""Rate and response time over the number of connections (the talk), for runs at several numbers of clients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read.draw.axes import ValueAxis, title
from dsbench.read.draw.theme import (
    HUES,
    ORDERED,
    RED,
    SHAPES,
    Row,
    finish,
    legend_columns,
    log_ticks,
    number_labels,
    spans_decades,
)
from dsbench.read.draw.vega import Chart, Spec, channel
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.histogram import quantile_interval
from dsbench.stats.kinds import ALL, KindResult

_MEAN, _MAXIMUM = "mean", "maximum"
_DASHES: Final = {_MEAN: [1, 0], _MAXIMUM: [5, 3]}


def connections(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """Median and range of the cycles' NOPM, or rate, one curve per scale; ``None`` with one number of clients."""
    rows = [row for part in _apart(evaluation) for row in _rate_rows(part)]
    if not rows:
        return None
    label = next((found.label for found in evaluation.of(KindsResult).nopm.values()), "")
    what = f"New-Orders per minute ({label})" if label else "transaction rate [tps]"
    y = ValueAxis.linear(what, [row["max"] for row in rows])
    what_by = f"{label}," if "," in label else label or "rate"
    notes = ["lines: median of the cycles; bars: minimum to maximum"]
    return finish(
        _rate_layers(rows, y), name="connections", archive=evaluation.name, data={"connections": rows},
        title=title(f"{subject(run)}: {what_by} by connections", evaluation, run, notes),
        description="Rate over the number of connections, one curve per scale: where it stops to rise the server, or "
        "what the transactions wait for, is at its limit.",
    )


def response(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """Mean and maximum of the response times by kind, at the largest scale; ``None`` with one number of clients."""
    scale = max((x for part in _apart(evaluation) for x in part.of(KindsResult).kinds), default=0)
    rows = [row for part in _apart(evaluation) for row in _time_rows(part, scale)]
    if not rows:
        return None
    y = ValueAxis.logarithmic("response time [ms]", [row["ms"] for row in rows])
    notes = [f"scale {scale}; solid: mean, dashed: maximum over all cycles"]
    return finish(
        _time_layers(rows, y), name="response", archive=evaluation.name, data={"times": rows},
        title=title(f"{subject(run)}: response time by connections", evaluation, run, notes),
        description="Mean and maximum of the response times over the number of connections, one colour per kind.",
    )


def latency(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """p50 and p99 over the number of clients, of several scales p99 of each; ``None`` with one number of clients, and
    where no number has enough transactions to know its p99."""
    scales = sorted({row.scale for part in _apart(evaluation) for row in part.of(RateResult).scales})
    rows = [row for part in _apart(evaluation) for scale in scales
            for row in _quantile_rows(part, scale, alone=len(scales) == 1)]  # fmt: skip
    if len({row["clients"] for row in rows}) < 2:
        return None
    names = list(dict.fromkeys(row["of"] for row in rows))
    limits = [one.limit_ns / 1e6 for one in run.spec.objectives if one.limit_ns and not one.kind]
    y = ValueAxis.of_rates("latency [ms]", [row[end] for row in rows for end in ("ms", "high")] + limits)
    notes = ["latency; bars: 95% intervals, where they are known" + "; dashed: the limit" * bool(limits)]
    return finish(
        _quantile_layers(rows, names, y), name="latency", archive=evaluation.name,
        data={"quantiles": rows, "limits": [{"ms": one} for one in limits]},
        title=title(f"{subject(run)}: latency by clients", evaluation, run, notes),
        description="Latencies that 50% and 99% of the transactions keep, over the number of clients.",
    )


def _quantile_rows(part: Evaluation, scale: int, *, alone: bool) -> list[Row]:
    curve = part.of(LatencyResult).curve(scale)
    found = []
    for quantile, name in ((0.99, "p99"), (0.5, "p50"))[: 2 if alone else 1]:
        value_ns = curve.told(quantile) if curve else math.nan
        if curve is not None and math.isfinite(value_ns) and value_ns > 0:
            within = quantile_interval(curve, quantile)
            low_ns, high_ns = (end if math.isfinite(end) else value_ns for end in (within.low, within.high))
            of = name if alone else f"p99, scale {scale:,}"
            found.append({"of": of, "clients": part.clients, "ms": value_ns / 1e6, "low": low_ns / 1e6,
                          "high": high_ns / 1e6})  # fmt: skip
    return found


def _quantile_layers(rows: Sequence[Row], names: Sequence[str], y: ValueAxis) -> list[Chart]:
    numbers = sorted({row["clients"] for row in rows})
    x = channel("clients:Q", scale=dict(type="log", domain=[numbers[0] / 1.06, numbers[-1] * 1.06], nice=False),
                axis=dict(values=numbers, format=",d", title="clients", grid=False))  # fmt: skip
    bare = channel("clients:Q", axis=None)
    few = len(names) <= len(HUES)
    colours = dict(domain=names, range=list(HUES[: len(names)])) if few else dict(domain=names, scheme=ORDERED)
    legend = dict(title=None, orient="top", columns=6)
    colour = channel("of:N", sort=names, scale=colours, legend=legend)
    tips = ["of:N", channel("clients:Q", format=",d"),
            *(channel(f"{name}:Q", title=f"{said} [ms]", format=",.4~r")
              for name, said in (("ms", "latency"), ("low", "from"), ("high", "to")))]  # fmt: skip
    base = Chart("quantiles")
    return [
        Chart("limits").mark("rule", color=RED, strokeDash=[5, 4], strokeWidth=1.5).encode(y=y.y("ms")),
        base.mark("rule", strokeWidth=1.2).encode(x=x, y="low:Q", y2="high:Q", color=colour),
        base.mark("line", strokeWidth=2.5).encode(x=bare, y="ms:Q", color=colour),
        base.mark("point", filled=True, size=50, opacity=1).encode(x=bare, y="ms:Q", color=colour, tooltip=tips),
    ]


def _apart(evaluation: Evaluation) -> list[Evaluation]:
    """The series of the stage that the whole shows: others do something else with their connections."""
    return [part for key, part in evaluation.series.items() if key.stage == evaluation.stage]


def _rate_rows(part: Evaluation) -> list[Row]:
    if part.of(KindsResult).nopm:
        figures = [(x, found.median, found.minimum, found.maximum)
            for x, found in sorted(part.of(KindsResult).nopm.items())]
    else:
        figures = [(r.scale, r.rate_median_tps, r.rate_min_tps, r.rate_max_tps) for r in part.of(RateResult).scales]
    return [
        {"scale": x, "connections": part.of(RateResult).connections, "median": median, "min": low, "max": high}
        for x, median, low, high in figures
        if math.isfinite(median)
    ]


def _time_rows(part: Evaluation, scale: int) -> list[Row]:
    kinds = part.of(KindsResult).kinds.get(scale, ())
    return [row for kind in kinds if kind.kind != ALL for row in _times_of(part.of(RateResult).connections, kind)]


def _times_of(count: int, kind: KindResult) -> list[Row]:
    times_ns = {_MEAN: kind.response_mean_ns, _MAXIMUM: kind.longest_ns}
    return [
        {"kind": kind.kind, "connections": count, "measure": measure, "ms": float(time_ns) / 1e6}
        for measure, time_ns in times_ns.items()
        if math.isfinite(time_ns) and time_ns > 0
    ]


def across(rows: Sequence[Row], field: str = "connections") -> Spec:
    """The x channel on ``field``: linear from 0, logarithmic when the numbers span more than two decades."""
    counts = sorted({int(row[field]) for row in rows})
    low, high = counts[0], counts[-1]
    if spans_decades(counts):
        scale = dict(type="log", domain=[low / 1.15, high * 1.15], nice=False)
        values, note = log_ticks(low, high), ", log scale"
    else:
        scale = dict(domain=[0, high * 1.06], nice=False)
        values, note = [float(count) for count in counts], ""
    axis = dict(values=values, labelExpr=number_labels(), title=f"{field}{note}")
    return channel(f"{field}:Q", scale=scale, axis=axis)


def _rate_layers(rows: Sequence[Row], y: ValueAxis) -> list[Chart]:
    scales = sorted({row["scale"] for row in rows})
    base = Chart("connections")
    legend = dict(title="scale", orient="right", columns=legend_columns(len(scales)), symbolLimit=0)
    colour = channel("scale:O", sort=None, scale=dict(domain=scales, scheme=ORDERED), legend=legend)
    tips = [
        channel("scale:Q", format="d"), channel("connections:Q", format="d"),
        *(channel(f"{name}:Q", format=",.4~r") for name in ("median", "min", "max")),
    ]
    return [
        base.mark("rule", strokeWidth=1.2).encode(x=across(rows), y=y.y("min"), y2="max:Q", color=colour),
        base.mark("line").encode(x=_plain_x(), y="median:Q", color=colour),
        base.mark("point", filled=True, size=38, opacity=1).encode(
            x=_plain_x(), y="median:Q", color=colour, tooltip=tips
        ),
    ]


def _time_layers(rows: Sequence[Row], y: ValueAxis) -> list[Chart]:
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    base = Chart("times")
    legend = dict(title="kind", orient="right")
    colours = dict(domain=kinds, range=[HUES[i % len(HUES)] for i in range(len(kinds))])
    shapes = dict(domain=kinds, range=[SHAPES[i % len(SHAPES)] for i in range(len(kinds))])
    colour = channel("kind:N", sort=kinds, scale=colours, legend=legend)
    dash = channel(
        "measure:N", scale=dict(domain=list(_DASHES), range=list(_DASHES.values())), legend=None
    )
    tips = ["kind:N", "measure:N", channel("connections:Q", format="d"),
            channel("ms:Q", title="time [ms]", format=",.4~r")]
    return [
        base.mark("line").encode(x=across(rows), y=y.y("ms"), color=colour, strokeDash=dash),
        base.mark("point", filled=True, size=38, opacity=1).encode(
            x=_plain_x(), y="ms:Q", color=colour, shape=channel("kind:N", sort=kinds, scale=shapes, legend=legend),
            tooltip=tips,
        ),
    ]


def _plain_x() -> Spec:
    return channel("connections:Q", axis=None)
