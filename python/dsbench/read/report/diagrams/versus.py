"""The ratio of two rates block by block, with its interval as it was after each of them."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from dsbench.read.report.diagrams.theme import GREY, HUES, RED, WHOLE, Row, Spec, finish
from dsbench.read.stats.values import Interval


def versus(courses: Sequence[tuple[float, Interval]], difference: float) -> Spec:
    """``courses``: of each block its ratio B / A, and what was known after it; ``difference``: share that counts."""
    last = courses[-1][1]
    bounds = [last.low, last.high] if last.low > 0 else []
    shown = [*(one for one, _ in courses), *bounds, 1 - difference, 1 + difference]
    low, high = min(shown), max(shown)
    margin = 0.08 * (high - low)
    # Whoever has seen two blocks knows nothing: such an interval would make all others a line.
    y = alt.Y("ratio:Q", title="rate of B / rate of A",
              scale=alt.Scale(domain=[low - margin, high + margin], zero=False, nice=False))  # fmt: skip
    rows: list[Row] = [
        {"block": number, "ratio": one, "mean": found.value, "low": max(found.low, low - margin),
         "high": min(found.high, high + margin)}
        for number, (one, found) in enumerate(courses, 1)
    ]  # fmt: skip
    base = alt.Chart(alt.NamedData("blocks"))
    axis = alt.Axis(title="block of four runs", tickMinStep=1, format="d", labelFlush=True, labelExpr=WHOLE)
    x = alt.X("block:Q", axis=axis, scale=alt.Scale(domain=[0.5, len(rows) + 0.5], nice=False))
    bare = alt.X("block:Q", axis=None)
    level = alt.Chart(alt.NamedData("one"))
    layers = [
        level.mark_rect(color=GREY, opacity=0.12).encode(y=alt.Y("low:Q"), y2="high:Q"),
        level.mark_rule(color=GREY, strokeDash=[4, 3]).encode(y="value:Q"),
        base.mark_rule(color=HUES[0], strokeWidth=7, opacity=0.35).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_tick(color=HUES[0], thickness=2.5, size=16).encode(x=bare, y=alt.Y("mean:Q")),
        base.mark_point(color=RED, filled=True, size=46, opacity=1).encode(
            x=bare, y=y, tooltip=[alt.Tooltip("block:Q"), *(alt.Tooltip(f"{name}:Q", format=".4f")
                                                         for name in ("ratio", "mean", "low", "high"))],
        ),
    ]  # fmt: skip
    note = f"points: each block; bars: {last.level:.0%} interval as it was after that block; grey: ±{difference:.1%}"
    return finish(
        layers, name="ab", archive="the comparison",
        data={"blocks": rows, "one": [{"value": 1.0, "low": 1 / (1 + difference), "high": 1 + difference}]},
        title=alt.TitleParams(text=f"B has {last.value:.3f} times the rate of A", subtitle=[note]),
        description="Ratio of the rates of B and A by block, with the interval of their mean so far.",
    )
