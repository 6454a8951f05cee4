"""The course of each scale: transactions and residence times per second, over all of its cycles."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.draw.axes import title
from dsbench.read.draw.theme import GREY, HUES, RED, WHOLE, Row, assembled, config, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import SCHEMA_URL, Chart, Spec, channel, layer
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import Html, number, section, tag
from dsbench.read.naming import subject
from dsbench.read.series import headings
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.stages import StagesResult
from dsbench.stats.efficiency import Efficiency
from dsbench.stats.values import Floats

_POINTS: Final = 1500        # of a course, at most; longer ones are shown in steps of some seconds
_BOUNDARIES: Final = 120     # cycles, at most, whose boundaries are drawn
_WIDTH: Final = 860
_TIMES: Final = {"p50": "median", "p99": "99% quantile", "max": "slowest"}


def courses(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """Scale, as text, to the columns of its course: lists of equal length, times in ms, ``null`` where none ended."""
    measured = ((x, found) for x, found in sorted(evaluation.of(CourseResult).seconds.items()) if len(found))
    return {str(x): _columns(found, evaluation.of(RateResult).durations_s.get(x, np.empty(0))) for x, found in measured}


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
    seconds, boundaries = Chart("seconds"), Chart("boundaries")
    axis = dict(title="second of all cycles in order", tickMinStep=1, format="d", labelExpr=WHOLE)
    x = channel("second:Q", scale=dict(nice=False), axis=axis)
    middle = channel("middle:Q", axis=axis)
    rule = boundaries.mark("rule", color=GREY, strokeDash=[2, 2], strokeWidth=0.8, clip=True).encode(x=x)
    tips = [
        channel(f"{field}:Q", title=title, format=",.4~r")
        for field, title in (("second", "second"), ("count", "transactions/s"), ("failed", "failed/s"),
                             ("p50", "median [ms]"), ("p99", "99% [ms]"), ("max", "slowest [ms]"))
    ]  # fmt: skip
    y = channel("count:Q", title="per second", scale=dict(zero=True))
    rates = layer(
        rule,
        seconds.mark("line", color=HUES[0], strokeWidth=1.2, interpolate="step-after", clip=True).encode(x=x, y=y),
        seconds.mark("line", color=RED, strokeWidth=1.2, strokeDash=[4, 2], interpolate="step-after", clip=True).encode(
            x=x, y="failed:Q"
        ),
        seconds.mark("point", opacity=0, size=60, clip=True).encode(x=middle, y=y, tooltip=tips),
        width=_WIDTH, height=150, title="transactions (line) and failed attempts (dashed) per second",
    )  # fmt: skip
    rates["layer"][-1]["name"] = "seconds"
    zoom = {
        "name": "zoom", "select": {"type": "interval", "encodings": ["x"], "zoom": "wheel![event.shiftKey]"},
        "bind": "scales", "views": ["seconds"],
    }  # fmt: skip
    names = list(_TIMES)
    label = f"({json.dumps(_TIMES)})[datum.label]"
    legend = dict(title=None, orient="top", labelExpr=label)
    points = seconds.fold(names, "quantity", "ms").only("isValid(datum.ms)").mark("point",
        filled=True, size=16, opacity=0.9, clip=True
    ).encode(
        x=middle,
        y=channel("ms:Q", title="latency [ms], log scale", scale=dict(type="log", nice=False, padding=8)),
        color=channel("quantity:N", scale=dict(domain=names, range=[HUES[2], HUES[3], GREY]), legend=legend),
        shape=channel("quantity:N", scale=dict(domain=names, range=["circle", "triangle-up", "cross"]),
                        legend=legend),
        tooltip=tips,
    )  # fmt: skip
    times = layer(rule, points, width=_WIDTH, height=130)
    return {
        "$schema": SCHEMA_URL, "vconcat": [rates, times], "params": [zoom], "resolve": {"scale": {"x": "shared"}},
        "config": config(),
    }  # fmt: skip


def section_of_courses(evaluation: Evaluation) -> Html:
    """One closed part per scale; the first is open. The page draws a course when its part is opened."""
    found = courses(evaluation)
    if not found:
        return section("Course per second", tag("p", "No second was recorded."), key="course")
    rates = {str(r.scale): r.rate_median_tps for r in evaluation.of(RateResult).scales}
    parts = []
    for i, (scale, course) in enumerate(found.items()):
        step = f", points of {course['step']} s: mean rate, worst times" if course["step"] > 1 else ""
        title = f"scale {scale}: median {number(rates.get(scale, math.nan))} tps{step}"
        inner = tag("div", cls="chart", data_course=scale)
        parts.append(tag("details", tag("summary", title), inner, open=i == 0))
    note = tag("p", "Dashed vertical lines: a new cycle begins. Shift and wheel zooms, dragging moves.", cls="note")
    return section("Course per second", note, *parts, key="course")


_PANEL_POINTS: Final = 400
"""Of a curve, at most: longer ones are shown in steps of some seconds."""
_PANEL_WIDTH, _PANEL_HEIGHT = 235, 105
_APART: Final = {"scale": {"color": "independent", "strokeDash": "independent"}}
"""Else the plots without a legend would take it from the one that has it."""
_DASHES: Final = ([1, 0], [5, 2], [2, 2], [7, 2, 2, 2])


def stages(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """The courses of all series at the largest scale of each; ``None`` where none lasted for two seconds, and for one
    series of one group, whose cycles another diagram shows."""
    names = headings(evaluation.series)
    parts = [(names[key], part) for key, part in evaluation.series.items()] or [("", evaluation)]
    shown = [(name, part, max(part.of(CourseResult).group_courses))
        for name, part in parts if part.of(CourseResult).group_courses]
    rows = [row for name, part, scale in shown for row in _rows(name, part, scale)]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    if not rows or (len(groups) == len(parts) == 1):
        return None
    there = {row["stage"] for row in rows}
    drawn = [(name, part.of(StagesResult).efficiency[scale]) for name, part, scale in shown if name in there]
    plots = [_row(name, one, rows, groups, legend=at == 0) for at, (name, one) in enumerate(drawn)]
    notes = [
        f"scale {', '.join(str(x) for x in dict.fromkeys(scale for _, _, scale in shown))}; a point: mean "
        "rate and largest response time of the second, or seconds, before it",
    ]  # fmt: skip
    body = {"vconcat": plots, "spacing": 14, "resolve": _APART}
    return assembled(
        body, name="stages", archive=evaluation.name, data={"seconds": rows},
        title=title(f"{subject(run)}: course of the stages", evaluation, run.of_stage(evaluation.stage), notes),
        description="Rate and largest response time of each second, a row of plots for each load stage.",
    )


def _rows(name: str, part: Evaluation, scale: int) -> Iterator[Row]:
    """Points by group; a stage of a single second has no course."""
    measured = part.of(StagesResult).efficiency[scale].measured if scale in part.of(StagesResult).efficiency else ""
    lengths = part.of(RateResult).durations_s.get(scale, np.empty(0))
    for group, course in part.of(CourseResult).group_courses[scale].items():
        if len(course) < 2 or not measured:
            continue
        for second, rate, longest_ns in course_points(course, lengths):
            yield {
                "stage": name, "group": group, "second": second, "rate": rate, "ms": longest_ns / 1e6,
                "measured": group == measured,
            }  # fmt: skip


def course_points(course: Floats, durations_s: Floats) -> Iterator[tuple[int, float, float]]:
    """(end in seconds, mean rate, longest time in ns) of steps.

    The last second of a cycle may be a part of one; less than half of one tells no rate, and is left out at the end.
    """
    lengths = np.ones(len(course))
    whole = np.ceil(durations_s)
    lengths[np.cumsum(whole).astype(int) - 1] = durations_s - (whole - 1)
    if lengths[-1] < 0.5:
        course, lengths = course[:-1], lengths[:-1]
    starts = np.arange(0, len(course), math.ceil(len(course) / _PANEL_POINTS))
    rates = np.add.reduceat(course[:, 0], starts) / np.add.reduceat(lengths, starts)
    longest = np.fmax.reduceat(course[:, 1], starts)
    ends = np.append(starts[1:], len(course))
    yield from zip(ends.tolist(), rates.tolist(), longest.tolist(), strict=True)


def _row(name: str, one: Efficiency, rows: Sequence[Row], groups: Sequence[str], *, legend: bool) -> Spec:
    """The plots of one stage: what is measured, what works beside it, and the largest times of both."""
    here = [row for row in rows if row["stage"] == name]
    beside = list(dict.fromkeys(row["group"] for row in here if not row["measured"]))
    words = name.removeprefix("stage ")
    told = f"{words}: {one.measured}" if words else one.measured
    plots = [course_plot(f"{told} [{one.counted}/s]", "rate", name, groups, "datum.measured")]
    if beside:
        counted = " or ".join(sorted({b.counted for b in one.background} or {"rows"}))
        plots.append(course_plot(f"{', '.join(beside)} [{counted}/s]", "rate", name, groups, "!datum.measured"))
    times = course_plot("largest response time [ms, log scale]", "ms", name, groups, "datum.ms > 0", legend=legend)
    low, high = log_domain([row["ms"] for row in here])
    times["encoding"]["y"]["scale"] = {"type": "log", "domain": [low, high], "nice": False}
    times["encoding"]["y"]["axis"]["values"] = log_ticks(low, high)[:: max(1, len(log_ticks(low, high)) // 5)]
    return {"hconcat": [*plots, times], "spacing": 12, "resolve": _APART}


def course_plot(head: str, field: str, stage: str, groups: Sequence[str], shown: str, *, legend: bool = False) -> Spec:
    """One plot of ``field`` over the seconds of ``stage``, a line for each group, by colour and dashes."""
    x = {"field": "second", "type": "quantitative", "scale": {"zero": True, "nice": False},
         "axis": {"title": "second of the stage", "format": "d", "tickMinStep": 1, "tickCount": 6,
                  "labelExpr": WHOLE}}  # fmt: skip
    y = {"field": field, "type": "quantitative", "scale": {"zero": True},
         "axis": {"title": None, "labelExpr": number_labels(), "tickCount": 4}}  # fmt: skip
    key = {"title": "clients", "orient": "right", "symbolType": "stroke", "symbolSize": 300} if legend else None
    hues, dashes = ([of[i % len(of)] for i in range(len(groups))] for of in (HUES, _DASHES))
    apart = {"field": "group", "type": "nominal", "sort": None, "legend": key}
    tips = [{"field": "group"}, {"field": "second", "format": "d"},
            {"field": field, "format": ",.4~r", "title": head}]  # fmt: skip
    return {
        "data": {"name": "seconds"},
        "title": {"text": head, "fontSize": 11, "fontWeight": "normal", "anchor": "start", "offset": 4},
        "width": _PANEL_WIDTH,
        "height": _PANEL_HEIGHT,
        "transform": [{"filter": f"datum.stage === {json.dumps(stage)} && {shown}"}],
        "mark": {"type": "line", "strokeWidth": 1.3, "point": {"size": 9, "filled": True}},
        "encoding": {
            "x": x,
            "y": y,
            "color": {**apart, "scale": {"domain": list(groups), "range": hues}},
            "strokeDash": {**apart, "scale": {"domain": list(groups), "range": dashes}},
            "tooltip": tips,
        },
    }  # fmt: skip
