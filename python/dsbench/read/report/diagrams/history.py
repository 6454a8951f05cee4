"""The results of one configuration in the order in which they were measured, with their levels and changes."""

from __future__ import annotations

import itertools
import textwrap

import altair as alt
import numpy as np

from dsbench.read.naming import counted
from dsbench.read.report.diagrams.theme import GREEN, GREY, HUES, RED, WHOLE, Row, Spec, finish, number_labels
from dsbench.read.trend import History

_LINE = 84


def history(found: History) -> Spec:
    """Rates over the number of the run; lines are the medians between changes, which have their size beside them."""
    rates = np.array([result.rate_tps for result in found.results])
    ends = [0, *(told.change.at for told in found.changes), rates.size]
    rows: list[Row] = [
        {"number": n, "rate": one.rate_tps, "archive": one.archive, "label": one.label, "started": one.started[:16]}
        for n, one in enumerate(found.results, 1)
    ]
    levels: list[Row] = [{"from": a + 0.5, "to": b + 0.5, "level": float(np.median(rates[a:b]))}
                         for a, b in itertools.pairwise(ends)]  # fmt: skip
    low, high = float(rates.min()), float(rates.max())
    margin = 0.12 * (high - low) or 0.05 * high
    marks: list[Row] = [
        {"at": told.change.at + 0.5, "words": f"{told.change.ratio.value - 1:+.1%} {told.result.label}".strip()[:30],
         "worse": told.change.ratio.value < 1, "top": high + margin}
        for told in found.changes
    ]  # fmt: skip
    x = alt.X("number:Q", scale=alt.Scale(domain=[0.5, rates.size + 0.5], nice=False),
              axis=alt.Axis(title="run, in the order in which they were made", tickMinStep=1, format="d",
                            labelExpr=WHOLE))  # fmt: skip
    y = alt.Y("rate:Q", title="transaction rate [tps]",
              scale=alt.Scale(domain=[max(low - margin, 0), high + 1.6 * margin], nice=False, zero=False),
              axis=alt.Axis(labelExpr=number_labels()))  # fmt: skip
    colour = alt.condition("datum.worse", alt.value(RED), alt.value(GREEN))
    at = alt.X("at:Q", axis=None)
    layers = [
        alt.Chart(alt.NamedData("changes")).mark_rule(strokeDash=[4, 3]).encode(x=at, color=colour),
        alt.Chart(alt.NamedData("levels")).mark_rule(color=GREY, strokeWidth=2).encode(
            x=alt.X("from:Q", axis=None), x2="to:Q", y=alt.Y("level:Q")),
        alt.Chart(alt.NamedData("results")).mark_point(color=HUES[0], filled=True, size=40, opacity=1).encode(
            x=x, y=y, tooltip=[alt.Tooltip(f"{name}:N") for name in ("archive", "label", "started")]
            + [alt.Tooltip("rate:Q", format=",.4~r")]),
        alt.Chart(alt.NamedData("changes")).mark_text(align="left", dx=4, dy=4).encode(
            x=at, y=alt.Y("top:Q"), text="words:N", color=colour),
    ]  # fmt: skip
    return finish(
        layers, name="trend", archive="the folder", data={"results": rows, "levels": levels, "changes": marks},
        title=alt.TitleParams(text=f"{counted(len(found.changes), 'change')} in {rates.size} runs" if found.changes
                              else f"no change in {rates.size} runs", subtitle=textwrap.wrap(found.name, _LINE)),
        description="Transaction rate of each run in their order; vertical lines are changes of the level.",
    )  # fmt: skip
