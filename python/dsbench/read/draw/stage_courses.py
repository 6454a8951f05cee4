"""Rate and largest response time of each second of every load stage, one row of plots per stage."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.draw.heading import title
from dsbench.read.draw.theme import HUES, WHOLE, Row, Spec, assembled, log_domain, log_ticks, number_labels
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.series import headings
from dsbench.read.stats.efficiency import Efficiency
from dsbench.read.stats.values import Floats

_POINTS: Final = 400
"""Of a curve, at most: longer ones are shown in steps of some seconds."""
_WIDTH, _HEIGHT = 235, 105
_APART: Final = {"scale": {"color": "independent", "strokeDash": "independent"}}
"""Else the plots without a legend would take it from the one that has it."""
_DASHES: Final = ([1, 0], [5, 2], [2, 2], [7, 2, 2, 2])


def stages(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """The courses of all series at the largest scale of each; ``None`` where none lasted for two seconds, and for one
    series of one group, whose cycles another diagram shows."""
    names = headings(evaluation.series)
    parts = [(names[key], part) for key, part in evaluation.series.items()] or [("", evaluation)]
    shown = [(name, part, max(part.group_courses)) for name, part in parts if part.group_courses]
    rows = [row for name, part, scale in shown for row in _rows(name, part, scale)]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    if not rows or (len(groups) == len(parts) == 1):
        return None
    there = {row["stage"] for row in rows}
    drawn = [(name, part.efficiency[scale]) for name, part, scale in shown if name in there]
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
    measured = part.efficiency[scale].measured if scale in part.efficiency else ""
    lengths = part.durations_s.get(scale, np.empty(0))
    for group, course in part.group_courses[scale].items():
        if len(course) < 2 or not measured:
            continue
        for second, rate, longest_ns in _points(course, lengths):
            yield {
                "stage": name, "group": group, "second": second, "rate": rate, "ms": longest_ns / 1e6,
                "measured": group == measured,
            }  # fmt: skip


def _points(course: Floats, durations_s: Floats) -> Iterator[tuple[int, float, float]]:
    """(end in seconds, mean rate, longest time in ns) of steps.

    The last second of a cycle may be a part of one; less than half of one tells no rate, and is left out at the end.
    """
    lengths = np.ones(len(course))
    whole = np.ceil(durations_s)
    lengths[np.cumsum(whole).astype(int) - 1] = durations_s - (whole - 1)
    if lengths[-1] < 0.5:
        course, lengths = course[:-1], lengths[:-1]
    starts = np.arange(0, len(course), math.ceil(len(course) / _POINTS))
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
    plots = [_plot(f"{told} [{one.counted}/s]", "rate", name, groups, "datum.measured")]
    if beside:
        counted = " or ".join(sorted({b.counted for b in one.background} or {"rows"}))
        plots.append(_plot(f"{', '.join(beside)} [{counted}/s]", "rate", name, groups, "!datum.measured"))
    times = _plot("largest response time [ms, log scale]", "ms", name, groups, "datum.ms > 0", legend=legend)
    low, high = log_domain([row["ms"] for row in here])
    times["encoding"]["y"]["scale"] = {"type": "log", "domain": [low, high], "nice": False}
    times["encoding"]["y"]["axis"]["values"] = log_ticks(low, high)[:: max(1, len(log_ticks(low, high)) // 5)]
    return {"hconcat": [*plots, times], "spacing": 12, "resolve": _APART}


def _plot(head: str, field: str, stage: str, groups: Sequence[str], shown: str, *, legend: bool = False) -> Spec:
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
        "width": _WIDTH,
        "height": _HEIGHT,
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
