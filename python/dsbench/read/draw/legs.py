"""A load that changes: demanded and reached rate, and response times, over the seconds of a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.draw import vega
from dsbench.read.draw.theme import GREY, HUES, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.rate import RateResult
from dsbench.spec.legs import Leg

_WIDTH, _HEIGHT = 620, 170
_POINTS: Final = 900
"""Of a curve, at most: longer cycles are shown in steps of some seconds."""
_ON_SINE: Final = 24
"""Points of a period."""


def legs(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """At the largest scale: means of the rates, and medians of the times, over its cycles. ``None`` without one."""
    wanted = run.spec.legs
    if not wanted or not evaluation.of(CourseResult).seconds:
        return None
    scale = max(evaluation.of(CourseResult).seconds)
    lengths = np.ceil(evaluation.of(RateResult).durations_s[scale]).astype(int)
    cycles = np.split(evaluation.of(CourseResult).seconds[scale], np.cumsum(lengths)[:-1])
    size = min(int(wanted[-1].end_s), *(len(cycle) for cycle in cycles))
    if size < 2:
        return None
    step = -(-size // _POINTS)
    course = np.stack([cycle[:size] for cycle in cycles])
    rates, times = _demanded(wanted), list[Row]()
    for at in range(0, size, step):
        here, middle = course[:, at : at + step], min(at + step / 2, (at + size) / 2)
        rates.append({"second": middle, "value": float(here[:, :, 0].mean()), "series": "reached"})
        for series, column in (("p50", 2), ("p99", 3)):
            known = here[:, :, column][np.isfinite(here[:, :, column])]
            if known.size:
                times.append({"second": middle, "value": float(np.median(known)) / 1e6, "series": series})
    names = ("demanded", "reached")
    panels = [_panel("rates", "transactions per second", {"zero": True}, {"tickCount": 5}, names, size)]
    if times:
        low, high = log_domain((row["value"] for row in times), margin=1.2)
        by_ten, ticks = {"type": "log", "domain": [low, high], "nice": False}, {"values": log_ticks(low, high)}
        panels.append(_panel("times", "response time [ms], log scale", by_ten, ticks, ("p50", "p99"), size))
    panels[-1]["layer"][-1]["encoding"]["x"]["title"] = "second of the cycle"
    notes = [f"scale {scale:,}; means of the rates, medians of the times over the cycles; dotted: a leg begins"]
    notes += [f"points of {step} s"] if step > 1 else []
    return assembled(
        {"vconcat": panels, "spacing": 10, "resolve": {"scale": {"color": "independent"}}},
        name="legs", archive=evaluation.name,
        data={"rates": rates, "times": times, "begins": [{"second": leg.begin_s} for leg in wanted[1:]]},
        title=vega.title(f"{subject(run)}: rate and response time as the load changes", subtitle=notes),
        description="Demanded and reached rate, and quantiles of the response time, over the seconds of a cycle.",
    )  # fmt: skip


def _demanded(wanted: Sequence[Leg]) -> list[Row]:
    rows: list[Row] = []
    for leg in wanted:
        points = 1 + (max(int(_ON_SINE * leg.duration_s / leg.period_s), 1) if leg.period_s else 1)
        for at in np.linspace(0, leg.duration_s, min(points, _POINTS)).tolist():
            rows.append({"second": leg.begin_s + at, "value": leg.rate(at), "series": "demanded"})
    return rows


def _panel(data: str, title: str, scale: Spec, axis: Spec, names: Sequence[str], size: int) -> Spec:
    x: Spec = {"field": "second", "type": "quantitative", "title": None, "scale": {"nice": False, "domain": [0, size]},
               "axis": {"grid": False}}  # fmt: skip
    hues = [GREY, HUES[0]] if "demanded" in names else [HUES[2], HUES[3]]
    encoding: Spec = {
        "x": x,
        "y": {"field": "value", "type": "quantitative", "title": title, "scale": scale,
              "axis": {**axis, "labelExpr": number_labels()}},
        "color": {"field": "series", "type": "nominal", "title": None, "sort": list(names),
                  "scale": {"domain": list(names), "range": hues}},
        "order": {"field": "second", "type": "quantitative"},
        "tooltip": [{"field": "series", "type": "nominal"}, {"field": "second", "type": "quantitative"},
                    {"field": "value", "type": "quantitative", "title": title, "format": ",.4~r"}],
    }  # fmt: skip
    rule = {"type": "rule", "color": GREY, "strokeDash": [2, 3], "strokeWidth": 0.8}
    begins = {"data": {"name": "begins"}, "mark": rule, "encoding": {"x": x}}
    lines = {"data": {"name": data}, "mark": {"type": "line", "strokeWidth": 1.6}, "encoding": encoding}
    return {"width": _WIDTH, "height": _HEIGHT, "layer": [begins, lines]}
