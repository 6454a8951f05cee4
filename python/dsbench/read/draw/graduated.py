"""A graduated load: power, or CPUs where none was measured, and response times over the load."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import Any

from dsbench.archive import RunRecord
from dsbench.read.draw import vega
from dsbench.read.draw.theme import HUES, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Chart, Spec, channel
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.energy import EnergyResult, Grade

_WIDTH, _HEIGHT = 440, 150


def graduated(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """A line for each scale. ``None`` without a graduated load."""
    rows = [row for scale, grades in evaluation.of(EnergyResult).grades.items() for row in _rows(scale, grades)]
    if len(rows) < 2:
        return None
    measured = any(row["watts"] is not None for row in rows)
    field, head = ("watts", "power [W]") if measured else ("cpu", "CPUs in use [%]")
    names = list(dict.fromkeys(row["scale"] for row in rows))
    legend = dict(orient="right") if len(names) > 1 else None
    colour = channel("scale:N", sort=names, title=None, legend=legend, scale=dict(
        domain=names, range=[HUES[at % len(HUES)] for at in range(len(names))]))  # fmt: skip
    tips = [channel("scale:N"), channel("level:Q", title="load, %"),
            channel("rate:Q", title="tps", format=",.4~r"), channel("watts:Q", title="W", format=",.4~r"),
            channel("cpu:Q", title="CPUs, %", format=",.3~r"),
            channel("ms:Q", title="p99, ms", format=",.3~r")]  # fmt: skip

    def panel(y: Spec, field: str, title: str | None) -> dict[str, Any]:
        axis = dict(values=list(range(0, 101, 10)), grid=False)
        x = channel("level:Q", title=title, axis=axis, scale=dict(domain=[0, 103], nice=False))
        chart = Chart("grades").only(f"isValid(datum.{field})").mark("line",
            point=dict(size=42, filled=True), strokeWidth=1.6
        ).encode(x=x, y=y, color=colour, tooltip=tips)  # fmt: skip
        return {**chart.spec(), "width": _WIDTH, "height": _HEIGHT}

    upper = channel(f"{field}:Q", title=head, scale=dict(zero=True), axis=dict(labelExpr=number_labels()))
    panels = [panel(upper, field, None)]
    if any(row["ms"] for row in rows):
        low, high = log_domain((row["ms"] for row in rows if row["ms"]), margin=1.2)
        lower = channel("ms:Q", title="p99 [ms], log scale", scale=dict(type="log", domain=[low, high], nice=False),
                      axis=dict(values=log_ticks(low, high), labelExpr=number_labels()))  # fmt: skip
        panels.append(panel(lower, "ms", None))
    panels[-1]["encoding"]["x"]["title"] = "load [% of the capacity]; 0 is idle"
    what = "power" if measured else "CPUs"
    notes = ["an open loop at each level; the load falls from 100% to idle"]
    if not measured:
        notes.append("no power was measured")
    return assembled(
        {"vconcat": panels, "spacing": 10}, name="graduated", archive=evaluation.name, data={"grades": rows},
        title=vega.title(f"{subject(run)}: {what} and response time over the load", subtitle=notes),
        description=f"{what} and the 99% quantile of the response time over the load, from the capacity to idle.",
    )  # fmt: skip


def _rows(scale: int, grades: Sequence[Grade]) -> list[Row]:
    return [
        {"scale": f"scale {scale:,}", "level": one.level, "name": f"{one.level:g}%" if one.level else "idle",
         "rate": one.achieved, "watts": one.watts if isfinite(one.watts) else None,
         "cpu": one.cpu if isfinite(one.cpu) else None, "ms": one.p99_ms if 0 < one.p99_ms < inf else None}
        for one in grades
    ]  # fmt: skip


def by_level(scale: int, grades: Sequence[Grade]) -> tuple[str, Spec] | None:
    """(what it shows, the layers and rows of one scale), as SPECpower_ssj2008 draws its levels: a bar of the throughput
    for each, and over them a line of the power, or of p99 where no power was measured. ``None`` below two levels.

    Source: SPECpower_ssj2008, Result File Fields, the diagram of the benchmark results summary
    (https://www.spec.org/power/docs/).
    """
    rows = _rows(scale, grades)
    if len(rows) < 2:
        return None
    measured = any(row["watts"] is not None for row in rows)
    field, said, title = ("watts", "power", "power [W]") if measured else ("ms", "p99", "p99 [ms]")
    x = {"field": "name", "type": "ordinal", "sort": None, "title": "load, of the capacity",
         "axis": {"labelAngle": 0, "grid": False, "labelOverlap": True}}  # fmt: skip
    tips = [{"field": "name", "type": "nominal", "title": "load"}, *(
        {"field": name, "type": "quantitative", "title": unit, "format": ",.4~r"}
        for name, unit in (("rate", "tps"), ("watts", "W"), ("ms", "p99, ms"), ("cpu", "CPUs, %"))
    )]  # fmt: skip
    bars = {"field": "rate", "type": "quantitative", "title": "transactions per second",
            "axis": {"labelExpr": number_labels(), "tickCount": 5, "titleColor": HUES[0]}}  # fmt: skip
    line = {"field": field, "type": "quantitative", "title": title,
            "axis": {"orient": "right", "labelExpr": number_labels(), "tickCount": 5, "grid": False,
                     "titleColor": HUES[1]}}  # fmt: skip
    layers: list[Spec] = [
        {"mark": {"type": "bar", "color": HUES[0], "opacity": 0.55}, "encoding": {"x": x, "y": bars, "tooltip": tips}},
        {"transform": [{"filter": f"isValid(datum.{field})"}],
         "mark": {"type": "line", "color": HUES[1], "strokeWidth": 2.5,
                  "point": {"filled": True, "size": 60, "color": HUES[1]}},
         "encoding": {"x": x, "y": line, "tooltip": tips}},
    ]  # fmt: skip
    what = f"transactions per second (bars) and {said} (line) by load"
    body: Spec = {"layer": layers, "resolve": {"scale": {"y": "independent"}}, "data": {"name": "grades"}}
    return what, {**body, "datasets": {"grades": rows}}
