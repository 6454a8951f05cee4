"""A model beside what was measured: its curve, the points, and below the residuals."""

from __future__ import annotations

import textwrap
from functools import partial

import altair as alt

from dsbench.archive import RunRecord
from dsbench.read.draw.theme import (
    GREY,
    HUES,
    RED,
    WIDTH,
    Row,
    Spec,
    assembled,
    log_domain,
    log_ticks,
    number_labels,
    spans_decades,
)
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.stats.fits import FITS, Fit

_LINE = 96
_HEIGHT, _BELOW = 230, 80
"""Pixels of the plot and of that of the residuals."""


def _model(name: str, evaluation: Evaluation, run: RunRecord) -> Spec | None:
    fit = next((one for one in evaluation.models if one.model == name), None)
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
        "vconcat": [_plain(_above(fit)), _plain(_below(fit, points))],
        "spacing": 8,
        "resolve": {"axis": {"x": "independent"}},
    }
    return assembled(
        body, name=fit.model, archive=evaluation.name, data={"points": points, "curve": curve},
        title=alt.TitleParams(text=f"{subject(run)}: model of {fit.model}", subtitle=notes),
        description=f"{fit.of} over {fit.over}: measured points, the curve of the model, and the residuals below.",
    )  # fmt: skip


def _plain(chart: alt.LayerChart) -> Spec:
    return {key: part for key, part in chart.to_dict(validate=False).items() if key not in ("$schema", "config")}


def _above(fit: Fit) -> alt.LayerChart:
    values = [float(y) for y in (*fit.measured, *fit.curve[1])]
    if spans_decades(values, 1.0):
        low, high = log_domain(values)
        scale = alt.Scale(type="log", domain=[low, high], nice=False)
        y_axis = alt.Axis(values=log_ticks(low, high), labelExpr=number_labels(), title=f"{fit.of}, log scale")
    else:
        scale = alt.Scale(domain=[0, max(values) * 1.08], nice=False)
        y_axis = alt.Axis(labelExpr=number_labels(), title=fit.of)
    colour = HUES[0] if fit.fits else GREY
    line = alt.Chart(alt.NamedData("curve")).mark_line(color=colour, strokeDash=[1, 0] if fit.fits else [5, 3])
    tips = [alt.Tooltip(f"{name}:Q", format=",.4~r") for name in ("at", "measured", "model", "residual")]
    marks = alt.Chart(alt.NamedData("points")).mark_point(filled=True, size=46, color=RED, opacity=1)
    shared = alt.X("at:Q", scale=_across(fit), axis=None)
    return alt.LayerChart(
        layer=[line.encode(x=shared, y=alt.Y("model:Q", scale=scale, axis=y_axis)),
               marks.encode(x=shared, y="measured:Q", tooltip=tips)], width=WIDTH, height=_HEIGHT,
    )  # fmt: skip


def _below(fit: Fit, points: list[Row]) -> alt.LayerChart:
    most = max(100 * FITS, *(abs(row["residual"]) for row in points)) * 1.15
    axis = alt.Axis(values=[float(x) for x in fit.at], title=f"{fit.over}, log scale", labelExpr=number_labels())
    y = alt.Y("residual:Q", title="residual [%]", scale=alt.Scale(domain=[-most, most], nice=False),
              axis=alt.Axis(tickCount=5))  # fmt: skip
    base = alt.Chart(alt.NamedData("points"))
    x = alt.X("at:Q", scale=_across(fit), axis=axis)
    zero = alt.Chart(alt.NamedData("points")).mark_rule(color=GREY).encode(y=alt.datum(0))
    return alt.LayerChart(
        layer=[base.mark_rule(color=RED, strokeWidth=1.5).encode(x=x, y=y, y2=alt.datum(0)),
               base.mark_point(filled=True, size=36, color=RED, opacity=1).encode(x=x, y="residual:Q"), zero],
        width=WIDTH, height=_BELOW,
    )  # fmt: skip


def _across(fit: Fit) -> alt.Scale:
    margin = (float(fit.at[-1]) / float(fit.at[0])) ** 0.04
    return alt.Scale(type="log", domain=[float(fit.at[0]) / margin, float(fit.at[-1]) * margin], nice=False)
