"""Transaction rate by cycle, one curve per scale (the paper, section 4.1.3)."""

from __future__ import annotations

import math

import altair as alt

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.report.diagrams.axes import Form, ValueAxis
from dsbench.read.report.diagrams.heading import title
from dsbench.read.report.diagrams.theme import ORDERED, Row, Spec, finish, legend_columns

_MANY = 20     # ticks of the cycle axis, at most


def cycle(evaluation: Evaluation, run: RunRecord, form: Form | None = None) -> Spec | None:
    """T_i (eq. 7) over the number of the cycle: how the rate moves with the age of the database."""
    rows: list[Row] = [
        {"scale": scale, "cycle": number, "rate": float(rate)}
        for scale, rates in sorted(evaluation.cycle_rates.items())
        for number, rate in zip(_numbers(evaluation, scale), rates.tolist(), strict=True)
        if math.isfinite(rate)
    ]
    if not rows:
        return None
    y = ValueAxis.of_rates("transaction rate [tps]", [row["rate"] for row in rows], form)
    for row in rows:
        row["shown"] = row["rate"] if row["rate"] >= y.low else math.nan
    return finish(
        _layers(rows, y), name="cycle", archive=evaluation.name, data={"cycles": rows},
        title=title(f"{subject(run)}: transaction rate by cycle", evaluation, run),
        description="Transaction rate of each cycle in order, one curve per scale.",
    )


def _numbers(evaluation: Evaluation, scale: int) -> list[int]:
    """As in the archive: cycles with another number of threads, or lost ones, have numbers of their own."""
    known = evaluation.cycle_numbers.get(scale)
    return list(range(1, len(evaluation.cycle_rates[scale]) + 1)) if known is None else known.tolist()


def _layers(rows: list[Row], y: ValueAxis) -> list[alt.Chart]:
    first, last = min(row["cycle"] for row in rows), max(row["cycle"] for row in rows)
    scales = sorted({row["scale"] for row in rows})
    base = alt.Chart(alt.NamedData("cycles"))
    ticks = range(first, last + 1, math.ceil((last - first + 1) / _MANY))
    axis = alt.Axis(title="cycle", format="d", values=list(ticks))
    x = alt.X("cycle:Q", scale=alt.Scale(domain=[first - 0.5, last + 0.5], nice=False), axis=axis)
    legend = alt.Legend(title="scale", orient="right", columns=legend_columns(len(scales)), symbolLimit=0)
    colour = alt.Color("scale:O", sort=None, scale=alt.Scale(domain=scales, scheme=ORDERED), legend=legend)
    tips = [
        alt.Tooltip("scale:Q", format="d"), alt.Tooltip("cycle:Q", format="d"),
        alt.Tooltip("rate:Q", title="rate [tps]", format=",.4~r"),
    ]
    return [
        base.mark_line().encode(x=x, y=y.y("shown"), color=colour),
        base.mark_point(filled=True, size=26, opacity=1).encode(
            x=alt.X("cycle:Q", axis=None), y="shown:Q", color=colour, tooltip=tips
        ),
    ]
