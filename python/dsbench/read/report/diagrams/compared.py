"""The rates of several archives over the scale, and what they are relative to the first (the paper, figures 22-37)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import altair as alt

from dsbench.read.report.diagrams.axes import ScaleAxis, ValueAxis
from dsbench.read.report.diagrams.theme import GREY, HUES, RED, SHAPES, Row, Spec, finish

COLOURS: Final = (RED, *HUES, "#117733", "#882255", "#999933", "#332288")
Span = tuple[float, float, float]
"""Middle, lower and upper end: median, lowest and highest rate, or a factor with its interval."""

DASHES: Final = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])
"""When the colours are used up they come again with another line."""


def compared(
    labels: Sequence[str], rates: Sequence[Mapping[int, Span]], headline: str, notes: Sequence[str], *,
    title: str = "transaction rate [tps]", linear: bool = False, more: Mapping[str, str] | None = None,
    level: float | None = None,
) -> Spec | None:
    """``rates`` gives the values by scale for each label; ``None`` when there is nothing to draw.

    Both axes are logarithmic, or ``linear`` the one of the values. Lines join the middles, bars span from end to end.
    ``more`` is said of a label in the legend, ``level`` draws a line at a value.
    """
    rows: list[Row] = [
        {"archive": label, "scale": scale, "rate": median, "low": low if low > 0 else median, "high": high}
        for label, curve in zip(labels, rates, strict=True)
        for scale, (median, low, high) in sorted(curve.items())
        if math.isfinite(median) and median > 0
    ]
    if not rows:
        return None
    scales = tuple(sorted({row["scale"] for row in rows}))
    x = ScaleAxis(scales, tuple(math.nan for _ in scales))
    for row in rows:
        row["beside"] = x.scale_at(x.pixel(row["scale"]) + _aside(labels.index(row["archive"]), len(labels)))
    make = ValueAxis.linear if linear else ValueAxis.logarithmic
    y = make(title, [row[name] for row in rows for name in ("low", "high")] + ([level] if level else []))
    layers = _layers(x, y, looks(labels, more), title.partition(" [")[2].removesuffix("]"))
    if level:
        rule = alt.Chart(alt.NamedData("level")).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y="value:Q")
        layers.append(rule)
    return finish(
        layers, name="compared", archive="the comparison",
        data={"rates": rows, **({"level": [{"value": level}]} if level else {})},
        title=alt.TitleParams(text=headline, subtitle=list(notes)),
        description=f"{title} over the scale, one line per archive; bars span its cycles, or its interval.",
    )


def _aside(number: int, count: int) -> float:
    """How many pixels from its scale the marks of an archive stand, so that bars do not cover each other."""
    return (number - (count - 1) / 2) * min(3.5, 24 / count)


class Looks(NamedTuple):
    """How archives are told apart."""

    colour: alt.Color
    shape: alt.Shape
    dash: alt.StrokeDash


def looks(labels: Sequence[str], more: Mapping[str, str] | None = None) -> Looks:
    """Colours, shapes and lines of ``labels``, with what ``more`` says of them in the legend."""
    each = [
        (COLOURS[i % len(COLOURS)], SHAPES[i % len(SHAPES)], DASHES[i // len(COLOURS) % len(DASHES)])
        for i in range(len(labels))
    ]
    names = list(labels)
    shown = {name: f"{name}: {words}" for name, words in (more or {}).items()}
    legend = alt.Legend(
        title=None, orient="bottom", columns=_columns([shown.get(name, name) for name in names]), labelLimit=420,
        symbolSize=70, symbolDash=[1, 0], labelExpr=f"({json.dumps(shown)})[datum.label] || datum.label",
    )
    shared: dict[str, Any] = {"sort": names, "legend": legend}
    return Looks(
        alt.Color("archive:N", scale=alt.Scale(domain=names, range=[look[0] for look in each]), **shared),
        alt.Shape("archive:N", scale=alt.Scale(domain=names, range=[look[1] for look in each]), **shared),
        alt.StrokeDash("archive:N", scale=alt.Scale(domain=names, range=[look[2] for look in each]), legend=None),
    )


def _layers(x: ScaleAxis, y: ValueAxis, look: Looks, unit: str) -> list[alt.Chart]:
    base = alt.Chart(alt.NamedData("rates"))
    colour, shape, dash = look
    tips = [
        alt.Tooltip("archive:N"), alt.Tooltip("scale:Q", format="d"),
        *(alt.Tooltip(f"{name}:Q", title=f"{title} [{unit}]" if unit else title, format=",.4~r")
          for name, title in (("rate", "middle"), ("low", "from"), ("high", "to"))),
    ]
    return [
        base.mark_line(strokeWidth=1.8).encode(
            x=x.x("below", "beside"), y=y.y("rate"), color=colour, strokeDash=dash
        ),
        base.mark_rule(strokeWidth=1.1, opacity=0.75).encode(
            x=x.x(field="beside"), y="low:Q", y2="high:Q", color=colour
        ),
        base.mark_point(filled=True, size=46, opacity=1).encode(
            x=x.x(field="beside"), y="rate:Q", color=colour, shape=shape, tooltip=tips
        ),
    ]


def _columns(labels: Sequence[str]) -> int:
    """As many columns of the legend as fit below the plot."""
    longest = max((len(label) for label in labels), default=0)
    return max(1, min(3, len(labels), 84 // (longest + 6)))
