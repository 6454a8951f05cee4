"""What happened to the server: rate and 99% quantile over the seconds of a cycle, and where nothing was done."""

from __future__ import annotations

from math import isfinite
from typing import Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.format import counted
from dsbench.read.draw import vega
from dsbench.read.draw.theme import GREY, HUES, RED, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.outage import OutageResult
from dsbench.read.subjects.rate import RateResult

_WIDTH, _HEIGHT = 620, 170
_MOST: Final = 1800
"""Seconds of a cycle that is drawn."""


def outage(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """At the largest scale: every cycle, and the median of them. ``None`` without an event."""
    found = evaluation.of(OutageResult).events
    if not found:
        return None
    scale = max(found)
    durations = evaluation.of(RateResult).durations_s[scale]
    lengths = np.ceil(durations).astype(int)
    cycles = np.split(evaluation.of(CourseResult).seconds[scale], np.cumsum(lengths)[:-1])
    # The last second may be a part of one.
    size = int(min(*np.floor(durations), _MOST, *(len(cycle) for cycle in cycles)))
    if size < 2:
        return None
    course = np.stack([cycle[:size] for cycle in cycles])
    rates, times = list[Row](), list[Row]()
    for second in range(size):
        for number, cycle in enumerate(course[:, second]):
            rates.append({"second": second + 0.5, "value": float(cycle[0]), "cycle": number})
            if isfinite(cycle[3]):
                times.append({"second": second + 0.5, "value": float(cycle[3]) / 1e6, "cycle": number})
    gaps: list[Row] = [
        {"from": gap.began_ns / 1e9, "to": min(gap.ended_ns / 1e9, float(size)), "event": one.text}
        for one in found[scale] for gap in one.outage.gaps if gap.began_ns / 1e9 < size
    ]  # fmt: skip
    first = [one for one in found[scale] if one.cycle == found[scale][0].cycle]
    events: list[Row] = [{"second": one.outage.at_ns / 1e9, "event": one.text} for one in first]
    panels = [_panel("rates", "transactions per second", {"zero": True}, {"tickCount": 5}, size, last=not times)]
    if times:
        low, high = log_domain((row["value"] for row in times), margin=1.2)
        by_ten, ticks = {"type": "log", "domain": [low, high], "nice": False}, {"values": log_ticks(low, high)}
        panels.append(_panel("times", "p99 [ms], log scale", by_ten, ticks, size, last=True))
    many = counted(len(cycles), "cycle")
    note = f"scale {scale:,}; thin: each of {many}; thick: their median; shaded: no client finished a transaction"
    return assembled(
        {"vconcat": panels, "spacing": 10},
        name="outage", archive=evaluation.name,
        data={"rates": rates, "times": times, "gaps": gaps, "events": events},
        title=vega.title(f"{subject(run)}: rate and p99 around events", subtitle=[note]),
        description="Rate and 99% quantile over the seconds of a cycle in which something happened to the server.",
    )  # fmt: skip


def _panel(data: str, title: str, scale: Spec, axis: Spec, size: int, *, last: bool) -> Spec:
    below = "second of the cycle" if last else None
    x: Spec = {"field": "second", "type": "quantitative", "title": below, "scale": {"nice": False, "domain": [0, size]},
               "axis": {"grid": False}}  # fmt: skip
    y: Spec = {"field": "value", "type": "quantitative", "title": title, "scale": scale,
               "axis": {**axis, "labelExpr": number_labels()}}  # fmt: skip
    tips = [{"field": "second", "type": "quantitative"},
            {"field": "value", "type": "quantitative", "title": title, "format": ",.4~r"}]  # fmt: skip
    shade = {"data": {"name": "gaps"}, "mark": {"type": "rect", "color": RED, "opacity": 0.15, "clip": True},
             "encoding": {"x": {**x, "field": "from"}, "x2": {"field": "to"}}}  # fmt: skip
    rule = {"data": {"name": "events"}, "mark": {"type": "rule", "color": GREY, "strokeDash": [2, 3]},
            "encoding": {"x": x}}  # fmt: skip
    name = {"data": {"name": "events"},
            "mark": {"type": "text", "align": "left", "baseline": "top", "dx": 3, "color": GREY, "fontSize": 10},
            "encoding": {"x": x, "y": {"value": 2}, "text": {"field": "event", "type": "nominal"}}}  # fmt: skip
    each = {"data": {"name": data}, "mark": {"type": "line", "strokeWidth": 0.7, "opacity": 0.45, "color": HUES[0]},
            "encoding": {"x": x, "y": y, "detail": {"field": "cycle", "type": "nominal"}}}  # fmt: skip
    middle = {"data": {"name": data}, "mark": {"type": "line", "strokeWidth": 1.8, "color": HUES[0]},
              "encoding": {"x": x, "y": {**y, "aggregate": "median"}, "tooltip": tips[:1]}}  # fmt: skip
    named = [name] if data == "rates" else []
    return {"width": _WIDTH, "height": _HEIGHT, "layer": [shade, rule, *named, each, middle]}
