"""Curves over the scale, told apart by their names: of archives, of levels of a study, of numbers of clients."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from dsbench.read.draw import vega
from dsbench.read.draw.axes import Form, ScaleAxis, ValueAxis, mark_layers, mark_rows
from dsbench.read.draw.theme import GREY, HUES, RED, SHAPES, Row, finish
from dsbench.read.draw.vega import Chart, Spec, channel

Key = TypeVar("Key")

COLOURS: Final = (*HUES, "#117733", "#882255", "#999933", "#332288", RED)
Span = tuple[float, float, float]
"""Middle, lower and upper end: median, lowest and highest rate, or a factor with its interval."""

DASHES: Final = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3])
"""When the colours are used up they come again with another line."""


def compared(
    labels: Sequence[str], rates: Sequence[Mapping[int, Span]], headline: str, notes: Sequence[str], *,
    title: str = "transaction rate [tps]", form: Form | None = "log", more: Mapping[str, str] | None = None,
    level: float | None = None, sizes_gb: Mapping[int, float] | None = None, marks: Mapping[str, float] | None = None,
    name: str = "compared", archive: str = "the comparison",
) -> Spec | None:
    """``rates`` gives the values by scale for each label; ``None`` when there is nothing to draw.

    The axis of the scale is logarithmic, that of the values has a ``form``, or the one that suits rates. Lines join
    the middles, bars span from end to end. ``more`` is said of a label in the legend, ``level`` draws a line at a
    value. With the size of the database at each scale, the sizes stand above and ``marks``, which are bytes by name, at
    their place.
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
    x = ScaleAxis(scales, tuple((sizes_gb or {}).get(scale, math.nan) for scale in scales))
    for row in rows:
        row["beside"] = x.scale_at(x.pixel(row["scale"]) + _aside(labels.index(row["archive"]), len(labels)))
    ends = [row[end] for row in rows for end in ("low", "high")] + ([level] if level else [])
    y = ValueAxis.of_rates(title, ends, form)
    layers = _layers(x, y, looks(labels, more), title.partition(" [")[2].removesuffix("]"))
    data = {"rates": rows}
    if level:
        data["level"] = [{"value": level}]
        layers.append(Chart("level").mark("rule", color=GREY, strokeDash=[4, 3]).encode(y="value:Q"))
    if sizes_gb:
        layers.append(Chart("rates").mark("point", opacity=0).encode(x=x.x("above")))
    at = [(x.pixel(row["beside"]), y.pixel(row["rate"])) for row in rows]
    shown = mark_rows(x, marks or {}, at)
    if shown:
        data["marks"] = shown
    # The labels of marks have a vertical scale of their own.
    return finish(
        [*mark_layers(x), layers] if shown else layers, name=name, archive=archive, data=data,
        independent_y=bool(shown),
        title=vega.title(headline, subtitle=list(notes)),
        description=f"{title} over the scale, one line for each name; bars span from the lowest to the highest value, "
        "or an interval.",
    )


def agreed(each: Iterable[Mapping[Key, float]], tolerance: float = 0.1) -> dict[Key, float]:
    """Of what all have, such as sizes by scale or marks by name, that in which they differ by ``tolerance`` at most."""
    first, *others = each
    return {
        key: value for key, value in first.items()
        if all(key in other and abs(other[key] - value) <= tolerance * abs(value) for other in others)
    }  # fmt: skip


def _aside(number: int, count: int) -> float:
    """How many pixels from its scale the marks of an archive stand, so that bars do not cover each other."""
    return (number - (count - 1) / 2) * min(3.5, 24 / count)


class Looks(NamedTuple):
    """How archives are told apart."""

    colour: Spec
    shape: Spec
    dash: Spec


def looks(labels: Sequence[str], more: Mapping[str, str] | None = None) -> Looks:
    """Colours, shapes and lines of ``labels``, with what ``more`` says of them in the legend."""
    each = [
        (COLOURS[i % len(COLOURS)], SHAPES[i % len(SHAPES)], DASHES[i // len(COLOURS) % len(DASHES)])
        for i in range(len(labels))
    ]
    names = list(labels)
    shown = {name: f"{name}: {words}" for name, words in (more or {}).items()}
    legend = dict(
        title=None, orient="bottom", columns=_columns([shown.get(name, name) for name in names]), labelLimit=420,
        symbolSize=70, symbolDash=[1, 0], labelExpr=f"({json.dumps(shown)})[datum.label] || datum.label",
    )
    shared: dict[str, Any] = {"sort": names, "legend": legend}
    return Looks(
        channel("archive:N", scale=dict(domain=names, range=[look[0] for look in each]), **shared),
        channel("archive:N", scale=dict(domain=names, range=[look[1] for look in each]), **shared),
        channel("archive:N", scale=dict(domain=names, range=[look[2] for look in each]), legend=None),
    )


def _layers(x: ScaleAxis, y: ValueAxis, look: Looks, unit: str) -> list[Chart]:
    base = Chart("rates")
    colour, shape, dash = look
    tips = [
        channel("archive:N"), channel("scale:Q", format="d"),
        *(channel(f"{name}:Q", title=f"{title} [{unit}]" if unit else title, format=",.4~r")
          for name, title in (("rate", "middle"), ("low", "from"), ("high", "to"))),
    ]
    return [
        base.mark("line", strokeWidth=1.8).encode(
            x=x.x("below", "beside"), y=y.y("rate"), color=colour, strokeDash=dash
        ),
        base.mark("rule", strokeWidth=1.1, opacity=0.75).encode(
            x=x.x(field="beside"), y="low:Q", y2="high:Q", color=colour
        ),
        base.mark("point", filled=True, size=46, opacity=1).encode(
            x=x.x(field="beside"), y="rate:Q", color=colour, shape=shape, tooltip=tips
        ),
    ]


def _columns(labels: Sequence[str]) -> int:
    """As many columns of the legend as fit below the plot."""
    longest = max((len(label) for label in labels), default=0)
    return max(1, min(3, len(labels), 84 // (longest + 6)))
