"""Transaction rate of each remote node over the scale (the paper, section 4.1.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.report.diagrams.axes import Form, ScaleAxis, ValueAxis
from dsbench.read.report.diagrams.heading import title
from dsbench.read.report.diagrams.theme import HUES, SHAPES, Row, Spec, finish, legend_columns

_STEP_PIXELS = 4.0     # sideways distance of two nodes at the same scale
_SWAY_PIXELS = 14.0    # sideways distance of the first node and the last, at most


def node(evaluation: Evaluation, run: RunRecord, form: Form | None = None) -> Spec | None:
    """Median, mean and range of T_in (eq. 6) of each node; ``None`` for a local run."""
    if not run.spec.nodes and len(evaluation.node_rates) < 2:
        return None
    if not evaluation.scales:
        return None
    x = ScaleAxis.of(evaluation)
    rows = _rows(evaluation, x)
    if not rows:
        return None
    rates = [row[k] for row in rows for k in ("min", "max")]
    y = ValueAxis.of_rates("transaction rate per node [tps]", rates, form)
    for row in rows:
        row["range_low"], row["range_high"] = y.shown(row["min"]), y.shown(row["max"])
        row["line"] = row["median"] if row["median"] >= y.low else math.nan
    return finish(
        _layers(x, y, list(evaluation.node_rates)), name="node", archive=evaluation.name, data={"nodes": rows},
        title=title(
            f"{subject(run)}: transaction rate per node", evaluation, run,
            ["lines: median; points: mean; bars: minimum to maximum of the cycles"],
        ),
        description="Transaction rate of each node over the scale. Points stand a little beside their scale "
        "(column position) so that bars do not hide one another.",
    )


def _rows(evaluation: Evaluation, x: ScaleAxis) -> list[Row]:
    names = list(evaluation.node_rates)
    step = min(_STEP_PIXELS, _SWAY_PIXELS / max(1, len(names) - 1)) / x.pixels_per_decade
    sizes = {r.scale: r.database_size_gb for r in evaluation.scales}
    rows: list[Row] = []
    for number, name in enumerate(names):
        beside = 10 ** (step * (number - (len(names) - 1) / 2))
        for scale, all_rates in sorted(evaluation.node_rates[name].items()):
            rates = all_rates[np.isfinite(all_rates)]
            if rates.size:
                rows.append({
                    "node": name, "scale": scale, "position": scale * beside, "size_gb": sizes.get(scale, math.nan),
                    "median": float(np.median(rates)), "mean": float(np.mean(rates)),
                    "min": float(np.min(rates)), "max": float(np.max(rates)),
                })
    return rows


def _layers(x: ScaleAxis, y: ValueAxis, names: Sequence[str]) -> list[alt.Chart]:
    base = alt.Chart(alt.NamedData("nodes"))
    legend = alt.Legend(title="node", orient="right", columns=legend_columns(len(names)), symbolLimit=0)
    many = [i % len(HUES) for i in range(len(names))]
    shift = [(i + i // len(HUES)) % len(SHAPES) for i in range(len(names))]   # a colour comes back with another shape
    colours = alt.Scale(domain=list(names), range=[HUES[i] for i in many])
    shapes = alt.Scale(domain=list(names), range=[SHAPES[i] for i in shift])
    place = x.x(field="position")
    tips = [
        "node:N", alt.Tooltip("scale:Q", format="d"),
        *(alt.Tooltip(f"{name}:Q", title=f"{name} [tps]", format=",.4~r") for name in ("median", "mean", "min", "max")),
    ]
    return [
        base.mark_rule(strokeWidth=1.2).encode(
            x=x.x("below", field="position"), y=y.y("range_low"), y2="range_high:Q",
            color=alt.Color("node:N", scale=colours, legend=legend),
        ),
        base.mark_line().encode(x=place, y="line:Q", color="node:N"),
        base.mark_point(filled=True, size=38, opacity=1).encode(
            x=place, y="mean:Q", color="node:N", shape=alt.Shape("node:N", scale=shapes, legend=legend), tooltip=tips
        ),
        base.mark_point(opacity=0).encode(x=x.x("above")),
    ]
