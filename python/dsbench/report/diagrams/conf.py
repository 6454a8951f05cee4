"""Transaction rate at each confidence level over the scale (the paper, section 4.1.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import altair as alt

from dsbench.analysis.values import ScaleResult
from dsbench.archive import RunRecord
from dsbench.evaluation.evaluated import Evaluation
from dsbench.evaluation.naming import subject
from dsbench.report.diagrams.axes import ScaleAxis, ValueAxis
from dsbench.report.diagrams.heading import title
from dsbench.report.diagrams.theme import ORDERED, SHAPES, Row, Spec, finish

_FIELDS: Final = ("rate_p50_tps", "rate_p68_tps", "rate_p87_tps", "rate_p95_tps", "rate_p99_tps", "rate_p99_7_tps")
"""Columns 13 to 18 of the results, one per level in order."""
_NOTE = "levels are quantiles of the residence time turned into rates (f / quantile), not confidence intervals"


def conf(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """f / quantile (eq. 11) for each level: what the slowest per cent of transactions do to the rate."""
    names = [f"{q * 100:.6g} %" for q in evaluation.levels]
    rows = [row for r in evaluation.scales for row in _rows(r, names)]
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


def _rows(result: ScaleResult, names: Sequence[str]) -> list[Row]:
    rates = [(name, float(getattr(result, field))) for name, field in zip(names, _FIELDS, strict=True)]
    return [
        {"scale": result.scale, "size_gb": result.database_size_gb, "level": name, "rate": rate}
        for name, rate in rates if math.isfinite(rate) and rate > 0
    ]


def _layers(x: ScaleAxis, y: ValueAxis, names: Sequence[str]) -> list[alt.Chart]:
    base = alt.Chart(alt.NamedData("levels"))
    legend = alt.Legend(title=["confidence", "level"], orient="right")
    colours = alt.Scale(domain=list(names), scheme=ORDERED)
    shapes = alt.Scale(domain=list(names), range=list(SHAPES[: len(names)]))
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
