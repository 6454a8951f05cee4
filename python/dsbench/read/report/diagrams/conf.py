"""Transaction rate at each confidence level over the scale (the paper, section 4.1.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.report.diagrams.axes import ScaleAxis, ValueAxis
from dsbench.read.report.diagrams.heading import title
from dsbench.read.report.diagrams.theme import ORDERED, SHAPES, Row, Spec, finish, legend_columns
from dsbench.read.stats.values import ScaleResult, percent

_NOTE = "levels are quantiles of the residence time turned into rates (f / quantile), not confidence intervals"


def conf(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """f / quantile (eq. 11) for each level: what the slowest per cent of transactions do to the rate."""
    names = [f"{percent(q)} %" for q in evaluation.levels]
    rows = [row for r in evaluation.scales for row in _rows(r)]
    if not rows:
        return None
    x = ScaleAxis.of(evaluation)
    y = ValueAxis.logarithmic("transaction rate [tps]", [row["rate"] for row in rows])
    return finish(
        _layers(x, y, names), name="conf", archive=evaluation.name, data={"levels": rows},
        title=title(f"{subject(run)}: transaction rate by confidence level", evaluation, run, [_NOTE]),
        description="Transaction rate f / quantile of the residence times over the scale, one curve per level: at 95 % "
        "this share of the transactions is fast enough for the rate shown.",
    )


def _rows(result: ScaleResult) -> list[Row]:
    return [
        {"scale": result.scale, "size_gb": result.database_size_gb, "level": f"{percent(level)} %", "rate": rate}
        for level, rate in result.rates_at.items() if math.isfinite(rate) and rate > 0
    ]


def _layers(x: ScaleAxis, y: ValueAxis, names: Sequence[str]) -> list[alt.Chart]:
    base = alt.Chart(alt.NamedData("levels"))
    legend = alt.Legend(
        title=["confidence", "level"], orient="right", columns=legend_columns(len(names)), symbolLimit=0
    )
    colours = alt.Scale(domain=list(names), scheme=ORDERED)
    shapes = alt.Scale(domain=list(names), range=[SHAPES[i % len(SHAPES)] for i in range(len(names))])
    tips = [
        alt.Tooltip("level:N"), alt.Tooltip("scale:Q", format="d"),
        alt.Tooltip("rate:Q", title="rate [tps]", format=",.4~r"),
    ]
    colour = alt.Color("level:N", sort=list(names), scale=colours, legend=legend)
    return [
        base.mark_line().encode(x=x.x("below"), y=y.y("rate"), color=colour),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            x=x.x(), y="rate:Q", color=colour, tooltip=tips,
            shape=alt.Shape("level:N", sort=list(names), scale=shapes, legend=legend),
        ),
        base.mark_point(opacity=0).encode(x=x.x("above")),
    ]
