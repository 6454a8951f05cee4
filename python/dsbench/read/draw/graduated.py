"""A graduated load: power, or CPUs where none was measured, and response times over the load."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import altair as alt

from dsbench.archive import RunRecord
from dsbench.read.draw.theme import HUES, Row, Spec, assembled, log_domain, log_ticks, number_labels
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject

_WIDTH, _HEIGHT = 440, 150


def graduated(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """A line for each scale. ``None`` without a graduated load."""
    rows: list[Row] = [
        {"scale": f"scale {scale:,}", "level": one.level, "rate": one.achieved,
         "watts": one.watts if isfinite(one.watts) else None, "cpu": one.cpu if isfinite(one.cpu) else None,
         "ms": one.p99_ms if 0 < one.p99_ms < inf else None}
        for scale, grades in evaluation.grades.items() for one in grades
    ]  # fmt: skip
    if len(rows) < 2:
        return None
    measured = any(row["watts"] is not None for row in rows)
    field, head = ("watts", "power [W]") if measured else ("cpu", "CPUs in use [%]")
    names = list(dict.fromkeys(row["scale"] for row in rows))
    legend = alt.Legend(orient="right") if len(names) > 1 else None
    colour = alt.Color("scale:N", sort=names, title=None, legend=legend, scale=alt.Scale(
        domain=names, range=[HUES[at % len(HUES)] for at in range(len(names))]))  # fmt: skip
    tips = [alt.Tooltip("scale:N"), alt.Tooltip("level:Q", title="load, %"),
            alt.Tooltip("rate:Q", title="tps", format=",.4~r"), alt.Tooltip("watts:Q", title="W", format=",.4~r"),
            alt.Tooltip("cpu:Q", title="CPUs, %", format=",.3~r"),
            alt.Tooltip("ms:Q", title="p99, ms", format=",.3~r")]  # fmt: skip

    def panel(y: alt.Y, field: str, title: str | None) -> dict[str, Any]:
        axis = alt.Axis(values=list(range(0, 101, 10)), grid=False)
        x = alt.X("level:Q", title=title, axis=axis, scale=alt.Scale(domain=[0, 103], nice=False))
        chart = alt.Chart(alt.NamedData("grades")).transform_filter(f"isValid(datum.{field})").mark_line(
            point=alt.OverlayMarkDef(size=42, filled=True), strokeWidth=1.6
        ).encode(x=x, y=y, color=colour, tooltip=tips).properties(width=_WIDTH, height=_HEIGHT)  # fmt: skip
        return {key: part for key, part in chart.to_dict().items() if key not in ("$schema", "config", "datasets")}

    upper = alt.Y(f"{field}:Q", title=head, scale=alt.Scale(zero=True), axis=alt.Axis(labelExpr=number_labels()))
    panels = [panel(upper, field, None)]
    if any(row["ms"] for row in rows):
        low, high = log_domain((row["ms"] for row in rows if row["ms"]), margin=1.2)
        lower = alt.Y("ms:Q", title="p99 [ms], log scale", scale=alt.Scale(type="log", domain=[low, high], nice=False),
                      axis=alt.Axis(values=log_ticks(low, high), labelExpr=number_labels()))  # fmt: skip
        panels.append(panel(lower, "ms", None))
    panels[-1]["encoding"]["x"]["title"] = "load [% of the capacity]; 0 is idle"
    what = "power" if measured else "CPUs"
    notes = ["an open loop at each level; the load falls from 100 % to idle"]
    if not measured:
        notes.append("no power was measured")
    return assembled(
        {"vconcat": panels, "spacing": 10}, name="graduated", archive=evaluation.name, data={"grades": rows},
        title=alt.TitleParams(f"{subject(run)}: {what} and response time over the load", subtitle=notes),
        description=f"{what} and the 99 % quantile of the response time over the load, from the capacity to idle.",
    )  # fmt: skip
