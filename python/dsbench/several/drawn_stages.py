"""Stages of several archives in one diagram: their rates as bars, and their courses."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from dsbench.read.draw import vega
from dsbench.read.draw.course import course_plot, course_points
from dsbench.read.draw.theme import HUES, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Spec
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.stages import StagesResult

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.several.compare import Comparison, Section

_WIDTH, _HEIGHT = 150, 110
_ACROSS: Final = 5
"""Plots beside each other."""
_BAR: Final = 16
"""Least width of a bar in pixels."""
_LEGEND: Final = {"title": None, "orient": "bottom", "columns": 3, "labelLimit": 420}


def bars(comparison: Comparison) -> Spec | None:
    """The rate of each stage, a bar for each side; of several setups one group of bars for each."""
    stages = comparison.stages
    if not stages.staged:
        return None
    rows: list[Row] = [
        {"stage": name, "archive": product, "setup": setup, "rate": stages.rate(side, at)}
        for at, name in enumerate(stages.names)
        for side, (product, setup) in enumerate(zip(_products(comparison), _setups(comparison), strict=True))
        if isfinite(stages.rate(side, at))
    ]
    names = list(dict.fromkeys(_products(comparison)))
    setups = list(dict.fromkeys(_setups(comparison)))
    plots = [_bars(name, names, setups) for name in stages.names if any(row["stage"] == name for row in rows)]
    if not plots:
        return None
    lines = [{"hconcat": plots[at : at + _ACROSS], "spacing": 14} for at in range(0, len(plots), _ACROSS)]
    notes = ["rows in stages of inserts, otherwise queries or transactions, per second; of repeated runs the "
             "geometric mean"]
    return assembled(
        {"vconcat": lines, "spacing": 14}, name="stages", archive="the comparison", data={"stages": rows},
        title=vega.title("Rates of the stages", subtitle=notes),
        description="Operations per second of each stage, a plot for each stage and a bar for each archive.",
    )  # fmt: skip


def _products(comparison: Comparison) -> tuple[str, ...]:
    return comparison.products if comparison.setups else comparison.labels


def _setups(comparison: Comparison) -> tuple[str, ...]:
    return comparison.setups or ("",) * len(comparison.labels)


def _bars(stage: str, names: list[str], setups: list[str]) -> Spec:
    several = len(setups) > 1
    x = {"field": "setup", "type": "nominal", "sort": setups,
         "axis": {"title": None, "labelAngle": 0} if several else None}  # fmt: skip
    y = {"field": "rate", "type": "quantitative", "scale": {"zero": True},
         "axis": {"title": None, "labelExpr": number_labels(), "tickCount": 4}}  # fmt: skip
    return {
        "data": {"name": "stages"},
        "title": {"text": stage, "fontSize": 11, "fontWeight": "normal", "anchor": "start", "offset": 4},
        "width": max(_WIDTH, _BAR * len(names) * len(setups)),
        "height": _HEIGHT,
        "transform": [{"filter": {"field": "stage", "equal": stage}}],
        "mark": {"type": "bar"},
        "encoding": {
            "x": x, "xOffset": {"field": "archive", "sort": names}, "y": y, "color": _colour(names),
            "tooltip": [{"field": "archive"}, {"field": "setup"}, {"field": "stage"},
                        {"field": "rate", "format": ",.4~r"}],
        },
    }  # fmt: skip


def _colour(names: list[str]) -> dict[str, Any]:
    return {
        "field": "archive", "type": "nominal", "sort": None,
        "scale": {"domain": names, "range": [HUES[i % len(HUES)] for i in range(len(names))]},
        "legend": _LEGEND,
    }  # fmt: skip


def courses(comparison: Comparison) -> Spec | None:
    """Rate and largest response time of each second, a row of plots for each stage and a line for each side: of the
    clients that are measured, and of the first group beside them. Of repeated runs the first is shown."""
    if not comparison.stages.staged:
        return None
    rows: list[Row] = []
    plots: list[Spec] = []
    for section in comparison.sections:
        name = section.heading.removeprefix("stage ")
        if here := list(_rows(comparison, section, name)):
            rows += here
            plots.append(_line(name, here, comparison.labels))
    if not plots:
        return None
    notes = ["each point: mean rate and maximum response time of the second, or seconds, before it"]
    return assembled(
        {"vconcat": plots, "spacing": 14}, name="courses", archive="the comparison", data={"seconds": rows},
        title=vega.title("Course of the stages", subtitle=notes),
        description="Rate and maximum response time of each second, a row of plots for each stage.",
    )  # fmt: skip


def _rows(comparison: Comparison, section: Section, name: str) -> Iterator[Row]:
    for label, runs in zip(comparison.labels, section.evaluations, strict=True):
        if runs and runs[0].of(CourseResult).group_courses:
            for group, measured, point in _points(runs[0]):
                second, rate, longest_ns = point
                yield {"stage": name, "group": label, "clients": group, "measured": measured, "second": second,
                       "rate": rate, "ms": longest_ns / 1e6}  # fmt: skip


def _points(one: Evaluation) -> Iterator[tuple[str, bool, tuple[int, float, float]]]:
    """(group, whether it is the one that is measured, point), at the largest scale."""
    scale = max(one.of(CourseResult).group_courses)
    measured = one.of(StagesResult).efficiency[scale].measured if scale in one.of(StagesResult).efficiency else ""
    beside = next((group for group in one.of(CourseResult).group_courses[scale] if group != measured), "")
    for group in (measured, beside):
        course = one.of(CourseResult).group_courses[scale].get(group)
        if course is not None and len(course) > 1:
            points = course_points(course, one.of(RateResult).durations_s[scale])
            yield from ((group, group == measured, point) for point in points)


def _line(name: str, rows: list[Row], labels: tuple[str, ...]) -> Spec:
    plots: list[Spec] = []
    for shown, of in (("datum.measured", True), ("!datum.measured", False)):
        here = [row for row in rows if row["measured"] is of]
        if here:
            group = here[0]["clients"]
            plots.append(course_plot(f"{name}: {group} [1/s]", "rate", name, labels, shown))
            low, high = log_domain([row["ms"] for row in here])
            times = course_plot(f"{group}, maximum response time [ms]", "ms", name, labels, f"{shown} && datum.ms > 0")
            times["encoding"]["y"]["scale"] = {"type": "log", "domain": [low, high], "nice": False}
            ticks = log_ticks(low, high)
            times["encoding"]["y"]["axis"]["values"] = ticks[:: max(1, len(ticks) // 5)]
            plots.append(times)
    below = {**_LEGEND, "symbolType": "stroke", "symbolSize": 300}
    for plot in plots:
        for channel in ("color", "strokeDash"):
            plot["encoding"][channel]["legend"] = below
    return {"hconcat": plots, "spacing": 12}
