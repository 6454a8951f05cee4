"""The course of each scale: transactions and residence times per second, over all of its cycles."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import altair as alt
import numpy as np

from dsbench.read.draw.theme import GREY, HUES, RED, WHOLE, Spec, config
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import Html, number, section, tag
from dsbench.read.stats.values import Floats

_POINTS: Final = 1500        # of a course, at most; longer ones are shown in steps of some seconds
_BOUNDARIES: Final = 120     # cycles, at most, whose boundaries are drawn
_WIDTH: Final = 860
_TIMES: Final = {"p50": "median", "p99": "99 % quantile", "max": "slowest"}


def courses(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """Scale, as text, to the columns of its course: lists of equal length, times in ms, ``null`` where none ended."""
    measured = ((x, found) for x, found in sorted(evaluation.seconds.items()) if len(found))
    return {str(x): _columns(found, evaluation.durations_s.get(x, np.empty(0))) for x, found in measured}


def _columns(seconds: Floats, durations_s: Floats) -> dict[str, Any]:
    """Steps of several seconds show the mean rate, the worst p50 and p99 and the maximum of their seconds."""
    whole = np.ceil(durations_s)
    ends = np.cumsum(whole).astype(int)
    lengths = np.ones(len(seconds))
    # The last second of a cycle may be a part of one: its rate is that of this part.
    lengths[ends - 1] = durations_s - (whole - 1)
    step = math.ceil(len(seconds) / _POINTS)
    starts = np.arange(0, len(seconds), step)
    widths = np.diff(np.append(starts, len(seconds)))
    counts = np.nan_to_num(seconds[:, :2])
    times_ms = np.nan_to_num(seconds[:, 2:], nan=-1.0) / 1e6
    sums = np.add.reduceat(counts, starts, axis=0) / np.add.reduceat(lengths, starts)[:, None]
    worst = np.maximum.reduceat(times_ms, starts, axis=0)
    # The last step is closed by a point at its end, which has no times.
    columns: dict[str, Any] = {"second": [*starts.tolist(), len(seconds)]}
    columns["middle"] = [*(starts + widths / 2).tolist(), None]
    for i, name in enumerate(("count", "failed")):
        columns[name] = [_short(v) for v in (*sums[:, i], sums[-1, i])]
    columns |= {name: [*(_short(v) if v > 0 else None for v in worst[:, i]), None] for i, name in enumerate(_TIMES)}
    between = ends[:-1].tolist()
    return {"step": step, "columns": columns, "boundaries": between if len(between) < _BOUNDARIES else []}


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def spec() -> Spec:
    """The diagram of a course as Vega-Lite; the page fills in ``seconds`` and ``boundaries`` for each scale."""
    seconds, boundaries = alt.Chart(alt.NamedData("seconds")), alt.Chart(alt.NamedData("boundaries"))
    axis = alt.Axis(title="second of all cycles in order", tickMinStep=1, format="d", labelExpr=WHOLE)
    x = alt.X("second:Q", scale=alt.Scale(nice=False), axis=axis)
    middle = alt.X("middle:Q", axis=axis)
    rule = boundaries.mark_rule(color=GREY, strokeDash=[2, 2], strokeWidth=0.8, clip=True).encode(x=x)
    tips = [
        alt.Tooltip(f"{field}:Q", title=title, format=",.4~r")
        for field, title in (("second", "second"), ("count", "transactions/s"), ("failed", "failed/s"),
                             ("p50", "median [ms]"), ("p99", "99 % [ms]"), ("max", "slowest [ms]"))
    ]  # fmt: skip
    zoom = alt.selection_interval(name="zoom", encodings=["x"], bind="scales", zoom="wheel![event.shiftKey]")
    y = alt.Y("count:Q", title="per second", scale=alt.Scale(zero=True))
    rates = alt.layer(
        rule,
        seconds.mark_line(color=HUES[0], strokeWidth=1.2, interpolate="step-after", clip=True).encode(x=x, y=y),
        seconds.mark_line(color=RED, strokeWidth=1.2, strokeDash=[4, 2], interpolate="step-after", clip=True).encode(
            x=x, y="failed:Q"
        ),
        seconds.mark_point(opacity=0, size=60, clip=True).encode(x=middle, y=y, tooltip=tips).add_params(zoom),
    ).properties(width=_WIDTH, height=150, title="transactions (line) and failed attempts (dashed) per second")
    names = list(_TIMES)
    label = f"({json.dumps(_TIMES)})[datum.label]"
    legend = alt.Legend(title=None, orient="top", labelExpr=label)
    points = seconds.transform_fold([*names], as_=["quantity", "ms"]).transform_filter("isValid(datum.ms)").mark_point(
        filled=True, size=16, opacity=0.9, clip=True
    ).encode(
        x=middle,
        y=alt.Y("ms:Q", title="residence time [ms], log scale", scale=alt.Scale(type="log", nice=False, padding=8)),
        color=alt.Color("quantity:N", scale=alt.Scale(domain=names, range=[HUES[2], HUES[3], GREY]), legend=legend),
        shape=alt.Shape("quantity:N", scale=alt.Scale(domain=names, range=["circle", "triangle-up", "cross"]),
                        legend=legend),
        tooltip=tips,
    )  # fmt: skip
    times = alt.layer(rule, points).properties(width=_WIDTH, height=130)
    body = alt.vconcat(rates, times).resolve_scale(x="shared").to_dict()
    return {**body, "config": {**config(), "background": "white"}}


def section_of_courses(evaluation: Evaluation) -> Html:
    """One closed part per scale; the first is open. The page draws a course when its part is opened."""
    found = courses(evaluation)
    if not found:
        return section("Course per second", tag("p", "No second was recorded."), key="course")
    rates = {str(r.scale): r.rate_median_tps for r in evaluation.scales}
    parts = []
    for i, (scale, course) in enumerate(found.items()):
        step = f", points of {course['step']} s: mean rate, worst times" if course["step"] > 1 else ""
        title = f"scale {scale}: median {number(rates.get(scale, math.nan))} tps{step}"
        inner = tag("div", cls="chart", data_course=scale)
        parts.append(tag("details", tag("summary", title), inner, open=i == 0))
    note = tag("p", "Dashed vertical lines: a new cycle begins. Shift and wheel zooms, dragging moves.", cls="note")
    return section("Course per second", note, *parts, key="course")
