"""Transaction rate and time over the scale (the paper, section 4.1.1)."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from dsbench.archive import RunRecord
from dsbench.format import counted
from dsbench.read.draw import vega
from dsbench.read.draw.axes import Form, ScaleAxis, ValueAxis, index_note, index_text, mark_layers, mark_rows, title
from dsbench.read.draw.curves import Span, compared
from dsbench.read.draw.theme import (
    GREEN,
    GREY,
    HUES,
    ORDERED,
    RED,
    SHAPES,
    WIDTH,
    Row,
    assembled,
    finish,
    legend_columns,
    log_domain,
    log_ticks,
    number_labels,
    positive,
    spans_decades,
)
from dsbench.read.draw.vega import Chart, Spec, channel, datum, layer
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.models import ModelsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.fits import FITS, Fit
from dsbench.stats.values import ScaleResult, percent


class Look(NamedTuple):
    """How one quantity is drawn."""

    colour: str
    shape: str


_MEDIAN, _MEAN, _RANGE = "median", "mean ± standard deviation", "minimum to maximum"
_RATES: Final = {_MEDIAN: Look(RED, "stroke"), _MEAN: Look(RED, "circle"), _RANGE: Look(GREEN, "square")}
_TIMES: Final = {
    "populate": Look(HUES[0], "square"),
    "primary key": Look(HUES[3], "triangle-up"),
    "foreign key": Look(HUES[4], "diamond"),
    "cleanup": Look(GREY, "triangle-down"),
    "drop": Look(HUES[6], "cross"),
}
_NEGLIGIBLE = 0.01     # share of the population time up to which cleanup and drop are left out


def rate(evaluation: Evaluation, run: RunRecord, form: Form | None = None) -> Spec | None:
    """Median, mean with standard deviation, minimum to maximum; times on the right; sizes of memory as marks.

    Of several numbers of clients each is a curve of its medians (the paper, figures 8 to 10).
    """
    if len(by_clients := evaluation.by_clients) > 1:
        return _by_clients(by_clients, evaluation, run, form)
    rows = [r for r in evaluation.of(RateResult).scales if math.isfinite(r.rate_median_tps)]
    if not rows:
        return None
    x = ScaleAxis.of(evaluation)
    y = ValueAxis.of_rates(
        "transaction rate [tps]", [v for r in rows for v in (r.rate_median_tps, r.rate_min_tps, _mean_high(r))]
        + [r.rate_max_tps for r in rows], form,
    )
    index = evaluation.of(RateResult).index
    headline, notes = f"{subject(run)}: {index_text(index)}", [index_note(index, searched=run.spec.searches)]
    if evaluation.staged:
        headline, notes = f"{subject(run)}: stage {evaluation.stage}", []
    times = _time_rows(evaluation.of(RateResult).scales)
    # With one scale the longest time would stand where the rate does.
    margin = 1.25 if len(rows) > 1 else 3.0
    seconds = ValueAxis.logarithmic("time [s]", [row["seconds"] for row in times], side="right", margin=margin)
    drawn = [(x.pixel(r.scale), y.pixel(r.rate_median_tps)) for r in rows]
    drawn += [(x.pixel(row["scale"]), seconds.pixel(row["seconds"])) for row in times]
    phases = [phase for phase in _TIMES if any(row["phase"] == phase for row in times)]
    rates = [*_rate_layers(x, y, single=len(rows) == 1), *_flag_layers(x), _legend(x, phases)]
    groups = [_time_layers(x, seconds), rates] if times else [rates]
    return finish(
        [*mark_layers(x), *groups], name="rate", independent_y=True, archive=evaluation.name,
        title=title(headline, evaluation, run, notes),
        data={
            "rates": [_rate_row(r, y) for r in rows], "times": times,
            "marks": mark_rows(x, run.marks, drawn),
            "flags": _flag_rows(rows, evaluation.of(RateResult).void_scales, y), "legend": [],
        },
        description="Transaction rate over the scale: median, mean with standard deviation and range of the cycles' "
        "rates. On the right the time for population and keys, and for cleanup and drop where they matter.",
    )


def _by_clients(
    parts: Mapping[int, Evaluation], evaluation: Evaluation, run: RunRecord, form: Form | None
) -> Spec | None:
    labels = {clients: counted(clients, "client") for clients in parts}
    curves: list[dict[int, Span]] = [
        {r.scale: (r.rate_median_tps, r.rate_min_tps, r.rate_max_tps)
         for r in part.of(RateResult).scales if r.scale not in part.of(RateResult).void_scales}
        for part in parts.values()
    ]  # fmt: skip
    staged = evaluation.staged
    what = f"stage {evaluation.stage}" if staged else "transaction rate by clients"
    indices = {labels[clients]: index_text(part.of(RateResult).index) for clients, part in parts.items() if not staged}
    last = [*parts.values()][-1]
    notes = ["lines: median of the cycles; bars: minimum to maximum; marks of one scale stand side by side"]
    notes += [] if staged else [index_note(last.of(RateResult).index)]
    heading = title(f"{subject(run)}: {what}", evaluation, run, notes)
    return compared(
        [*labels.values()], curves, heading["text"], heading["subtitle"], form=form, more=indices,
        sizes_gb={r.scale: r.database_size_gb for part in parts.values() for r in part.of(RateResult).scales},
        marks=run.marks, name="rate", archive=evaluation.name,
    )  # fmt: skip


def _mean_high(r: ScaleResult) -> float:
    return r.rate_mean_tps + (r.rate_stddev_tps if math.isfinite(r.rate_stddev_tps) else 0.0)


def _rate_row(r: ScaleResult, y: ValueAxis) -> Row:
    shown = {"median": r.rate_median_tps, "mean": r.rate_mean_tps}
    return {
        "scale": r.scale, "size_gb": r.database_size_gb,
        **{name: value if value >= y.low else math.nan for name, value in shown.items()},
        "stddev": r.rate_stddev_tps, "min": r.rate_min_tps, "max": r.rate_max_tps,
        "mean_low": y.shown(2 * r.rate_mean_tps - _mean_high(r)), "mean_high": y.shown(_mean_high(r)),
        "range_low": y.shown(r.rate_min_tps), "range_high": y.shown(r.rate_max_tps),
    }


def _rate_layers(x: ScaleAxis, y: ValueAxis, *, single: bool) -> list[Chart]:
    base = Chart("rates")
    tips = [
        channel("scale:Q", format="d"), channel("size_gb:Q", title="size [GB]", format=".3~g"),
        *(channel(f"{name}:Q", title=f"{name} [tps]", format=",.4~r")
          for name in ("median", "mean", "stddev", "min", "max")),
    ]
    # One scale alone spans no area and no line: a broad bar and a tick stand for them.
    band = base.mark("bar", size=16, opacity=0.3) if single else base.mark("area", opacity=0.3)
    tick = base.mark("tick", size=28, thickness=2.2, orient="horizontal", opacity=1)
    median = tick if single else base.mark("line", strokeWidth=2.2)
    return [
        band.encode(x=x.x("below"), y=y.y("range_low"), y2="range_high:Q", color=datum(_RANGE)),
        base.mark("rule", strokeWidth=1.4).encode(x=x.x(), y="mean_low:Q", y2="mean_high:Q", color=datum(_MEAN)),
        median.encode(x=x.x(), y="median:Q", color=datum(_MEDIAN)),
        base.mark("point", filled=True, size=36, opacity=1).encode(
            x=x.x(), y="mean:Q", color=datum(_MEAN), tooltip=tips
        ),
    ]


def _legend(x: ScaleAxis, phases: Sequence[str]) -> Chart:
    """A layer that draws no data: it sets the colours of all layers, and carries the sizes above the plot."""
    looks = {**_RATES, **{phase: _TIMES[phase] for phase in phases}}
    legend = dict(orient="bottom", columns=3, title=None)
    names = list(looks)
    colours = dict(domain=names, range=[look.colour for look in looks.values()])
    shapes = dict(domain=names, range=[look.shape for look in looks.values()])
    return Chart("legend").mark("point", filled=True).encode(
        x=x.x("above"), color=channel("quantity:N", scale=colours, legend=legend),
        shape=channel("quantity:N", scale=shapes, legend=legend),
    )


def _time_rows(scales: Sequence[ScaleResult]) -> list[Row]:
    rows: list[Row] = []
    populate_s = sum(positive(r.populate_s for r in scales))
    for phase in _TIMES:
        values = [float(getattr(r, f"{phase.replace(' ', '_')}_s")) for r in scales]
        if phase in {"cleanup", "drop"} and sum(positive(values)) <= _NEGLIGIBLE * populate_s:
            continue
        rows += [{"scale": r.scale, "phase": phase, "seconds": v} for r, v in zip(scales, values, strict=True) if v > 0]
    return rows


def _time_layers(x: ScaleAxis, y: ValueAxis) -> list[Chart]:
    base = Chart("times")
    tips = ["phase:N", channel("scale:Q", format="d"), channel("seconds:Q", title="time [s]", format=",.3~r")]
    line = base.mark("line", strokeWidth=1, strokeDash=[3, 2]).encode(
        x=x.x(), y=y.y("seconds"), color=channel("phase:N")
    )
    points = base.mark("point", filled=True, size=38, opacity=1).encode(
        x=x.x(), y="seconds:Q", color=channel("phase:N"),
        shape=channel("phase:N"), tooltip=tips,
    )
    return [line, points]


def _flag_rows(rows: Sequence[ScaleResult], void: frozenset[int], y: ValueAxis) -> list[Row]:
    """Scales whose figures must not be used, and scales at which nothing was done."""
    flags = []
    for r in rows:
        texts = ["check failed"] if r.scale in void else []
        texts += ["0 tps"] if r.rate_median_tps == 0 else []
        if texts:
            flags.append({"scale": r.scale, "rate": y.shown(r.rate_median_tps), "text": ", ".join(texts)})
    return flags


def _flag_layers(x: ScaleAxis) -> list[Chart]:
    base = Chart("flags")
    look = {"shape": "cross", "angle": 45, "size": 260, "strokeWidth": 1.2, "filled": False, "color": "black"}
    cross = base.mark("point", **look, opacity=1)
    bold: dict[str, Any] = {"dy": -15, "fontSize": 10.5, "fontWeight": "bold"}
    place = {"x": x.x(), "y": "rate:Q", "text": "text:N"}
    return [
        cross.encode(x=x.x(), y="rate:Q"),
        base.mark("text", **bold, stroke="white", strokeWidth=4).encode(**place),
        base.mark("text", **bold, color="black").encode(**place),
    ]


_NOTE = "percentiles as rates (f / quantile of the latency), not confidence intervals"


def conf(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """f / quantile (eq. 11) for each level: what the slowest per cent of transactions do to the rate."""
    names = [f"{percent(q)}%" for q in evaluation.levels]
    rows = [row for r in evaluation.of(RateResult).scales for row in _rows(r)]
    if not rows:
        return None
    x = ScaleAxis.of(evaluation)
    y = ValueAxis.logarithmic("transaction rate [tps]", [row["rate"] for row in rows])
    return finish(
        _layers(x, y, names), name="conf", archive=evaluation.name, data={"levels": rows},
        title=title(f"{subject(run)}: transaction rate by confidence level", evaluation, run, [_NOTE]),
        description="Transaction rate f / quantile of the latencies over the scale, one curve per level: at 95% "
        "this share of the transactions is fast enough for the rate shown.",
    )


def _rows(result: ScaleResult) -> list[Row]:
    return [
        {"scale": result.scale, "size_gb": result.database_size_gb, "level": f"{percent(level)}%", "rate": rate}
        for level, rate in result.rates_at.items() if math.isfinite(rate) and rate > 0
    ]


def _layers(x: ScaleAxis, y: ValueAxis, names: Sequence[str]) -> list[Chart]:
    base = Chart("levels")
    legend = dict(
        title=["confidence", "level"], orient="right", columns=legend_columns(len(names)), symbolLimit=0
    )
    colours = dict(domain=list(names), scheme=ORDERED)
    shapes = dict(domain=list(names), range=[SHAPES[i % len(SHAPES)] for i in range(len(names))])
    tips = [
        channel("level:N"), channel("scale:Q", format="d"),
        channel("rate:Q", title="rate [tps]", format=",.4~r"),
    ]
    colour = channel("level:N", sort=list(names), scale=colours, legend=legend)
    return [
        base.mark("line").encode(x=x.x("below"), y=y.y("rate"), color=colour),
        base.mark("point", filled=True, size=40, opacity=1).encode(
            x=x.x(), y="rate:Q", color=colour, tooltip=tips,
            shape=channel("level:N", sort=list(names), scale=shapes, legend=legend),
        ),
        base.mark("point", opacity=0).encode(x=x.x("above")),
    ]


_LINE = 96
_HEIGHT, _BELOW = 230, 80
"""Pixels of the plot and of that of the residuals."""


def _model(name: str, evaluation: Evaluation, run: RunRecord) -> Spec | None:
    fit = next((one for one in evaluation.of(ModelsResult).models if one.model == name), None)
    return _drawn(fit, evaluation, run) if fit is not None else None


scalability = partial(_model, "scalability")
memory = partial(_model, "memory")
collisions = partial(_model, "collisions")


def _drawn(fit: Fit, evaluation: Evaluation, run: RunRecord) -> Spec:
    points: list[Row] = [
        {"at": float(x), "measured": float(y), "model": float(m), "residual": 100 * float(r)}
        for x, y, m, r in zip(fit.at, fit.measured, fit.modelled, fit.residuals, strict=True)
    ]
    curve: list[Row] = [{"at": float(x), "model": float(y)} for x, y in zip(*fit.curve, strict=True)]
    notes = textwrap.wrap(fit.conclusion, _LINE)
    body = {
        "vconcat": [_above(fit), _below(fit, points)],
        "spacing": 8,
        "resolve": {"axis": {"x": "independent"}},
    }
    return assembled(
        body, name=fit.model, archive=evaluation.name, data={"points": points, "curve": curve},
        title=vega.title(f"{subject(run)}: model of {fit.model}", subtitle=notes),
        description=f"{fit.of} over {fit.over}: measured points, the curve of the model, and the residuals below.",
    )  # fmt: skip


def _above(fit: Fit) -> Spec:
    values = [float(y) for y in (*fit.measured, *fit.curve[1])]
    if spans_decades(values, 1.0):
        low, high = log_domain(values)
        scale = dict(type="log", domain=[low, high], nice=False)
        y_axis = dict(values=log_ticks(low, high), labelExpr=number_labels(), title=f"{fit.of}, log scale")
    else:
        scale = dict(domain=[0, max(values) * 1.08], nice=False)
        y_axis = dict(labelExpr=number_labels(), title=fit.of)
    colour = HUES[0] if fit.fits else GREY
    line = Chart("curve").mark("line", color=colour, strokeDash=[1, 0] if fit.fits else [5, 3])
    tips = [channel(f"{name}:Q", format=",.4~r") for name in ("at", "measured", "model", "residual")]
    marks = Chart("points").mark("point", filled=True, size=46, color=RED, opacity=1)
    shared = channel("at:Q", scale=_across(fit), axis=None)
    return layer(
        line.encode(x=shared, y=channel("model:Q", scale=scale, axis=y_axis)),
        marks.encode(x=shared, y="measured:Q", tooltip=tips), width=WIDTH, height=_HEIGHT,
    )  # fmt: skip


def _below(fit: Fit, points: list[Row]) -> Spec:
    most = max(100 * FITS, *(abs(row["residual"]) for row in points)) * 1.15
    axis = dict(values=[float(x) for x in fit.at], title=f"{fit.over}, log scale", labelExpr=number_labels())
    y = channel("residual:Q", title="residual [%]", scale=dict(domain=[-most, most], nice=False),
              axis=dict(tickCount=5))  # fmt: skip
    base = Chart("points")
    x = channel("at:Q", scale=_across(fit), axis=axis)
    zero = Chart("points").mark("rule", color=GREY).encode(y=datum(0))
    return layer(
        base.mark("rule", color=RED, strokeWidth=1.5).encode(x=x, y=y, y2=datum(0)),
        base.mark("point", filled=True, size=36, color=RED, opacity=1).encode(x=x, y="residual:Q"), zero,
        width=WIDTH, height=_BELOW,
    )  # fmt: skip


def _across(fit: Fit) -> Spec:
    margin = (float(fit.at[-1]) / float(fit.at[0])) ** 0.04
    return dict(type="log", domain=[float(fit.at[0]) / margin, float(fit.at[-1]) * margin], nice=False)
