"""What all diagrams share: size, fonts, colours, rows of data and the finished Vega-Lite specification.

A diagram is about 16 x 11 cm at 96 pixels per inch, so a font size of 11 pixels prints as 8 points.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dsbench.read.draw.vega import SCHEMA_URL, Chart, Spec

Row = dict[str, Any]
"""A row of a data set; numbers that are not finite become null."""

WIDTH: Final = 440
HEIGHT: Final = 270
"""Size of the plot itself in pixels, without axes, title and legend."""

FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
"""Liberation Sans comes with vl-convert, so that print does not depend on the machine's fonts."""

RED: Final = "#c1121f"
GREEN: Final = "#2f9e57"
GREY: Final = "#5a5a5a"
HUES: Final = ("#0072b2", "#d55e00", "#009e73", "#8b5fbf", "#a6761d", "#cc79a7", "#333333", "#56b4e9")
"""Colours for unordered things, told apart with any kind of colour vision; first to last by need."""
SHAPES: Final = (
    "circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left",
)  # fmt: skip
ORDERED: Final = {"name": "viridis", "extent": [0.0, 0.9]}
"""Scheme for ordered things such as scales; its palest end is left out, it is unreadable on white."""

_DIGITS = 7


def config() -> dict[str, Any]:
    """The Vega-Lite configuration that stands in every diagram."""
    text = {"labelFontSize": 11, "titleFontSize": 11.5, "labelFont": FONT, "titleFont": FONT}
    return {
        "font": FONT,
        "background": "white",
        "padding": 8,
        "view": {"stroke": "#888888"},
        "axis": {
            **text, "titleFontWeight": "normal", "gridColor": "#e4e4e4", "domainColor": "#888888",
            "tickColor": "#888888", "labelOverlap": "greedy", "labelSeparation": 2, "titlePadding": 6,
        },
        "legend": {
            **text, "titleFontWeight": "normal", "symbolSize": 60, "symbolOpacity": 1, "symbolStrokeWidth": 2,
            "rowPadding": 2, "columnPadding": 14, "labelLimit": 200,
        },
        "title": {
            "font": FONT, "fontSize": 13.5, "subtitleFont": FONT, "subtitleFontSize": 11, "subtitleColor": GREY,
            "anchor": "start", "frame": "bounds", "offset": 10, "limit": 0, "subtitlePadding": 4,
        },
        "text": {"font": FONT, "fontSize": 10.5},
        "line": {"strokeWidth": 1.8},
    }


Layers = Sequence[Chart | Sequence[Chart]]
"""Layers from back to front; those of an inner sequence share their y axis."""


def finish(
    layers: Layers, *, name: str, title: Spec, data: Mapping[str, Sequence[Row]], archive: str,
    description: str, independent_y: bool = False,
) -> Spec:
    """The specification of ``layers`` with its data sets by name, ready to be written and edited by hand.

    Every layer has its own x axis, or none, on the one x scale; with ``independent_y`` its own y scale as well.
    """
    body = {
        "width": WIDTH,
        "height": HEIGHT,
        **_layered(layers),
        "resolve": {"axis": {"x": "independent"}, **({"scale": {"y": "independent"}} if independent_y else {})},
    }
    return assembled(body, name=name, title=title, data=data, archive=archive, description=description)


def assembled(
    body: Spec, *, name: str, title: Spec, data: Mapping[str, Sequence[Row]], archive: str, description: str
) -> Spec:
    """The same of a ``body`` that is Vega-Lite already, such as plots beside each other."""
    return {
        "$schema": SCHEMA_URL,
        "description": description,
        "usermeta": {
            "diagram": name,
            "archive": archive,
            "editing": "Change titles, colours, scales or data here, then run: dsbench plot " + archive,
        },
        "title": title,
        **body,
        "config": config(),
        "datasets": {key: [_json_row(row) for row in rows] for key, rows in data.items()},
    }


def _layered(layers: Layers) -> Spec:
    return {"layer": [_layer(layer) for layer in layers]}


def _layer(layer: Chart | Sequence[Chart]) -> Spec:
    if isinstance(layer, Chart):
        return layer.spec()
    return {**_layered(layer), "resolve": {"axis": {"x": "independent"}}}


def _json_row(row: Row) -> Row:
    return {key: _json_value(value) for key, value in row.items()}


def _json_value(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def positive(values: Iterable[float]) -> list[float]:
    """Those of ``values`` that a log axis can show."""
    return [float(v) for v in values if math.isfinite(v) and v > 0]


def spans_decades(values: Iterable[float], decades: float = 2.0) -> bool:
    """True when the positive values differ by more than ``decades`` powers of ten."""
    shown = positive(values)
    return bool(shown) and math.log10(max(shown) / min(shown)) > decades


def log_domain(values: Iterable[float], margin: float = 1.25) -> tuple[float, float]:
    """Range of a log axis that holds all positive values with a margin; (1, 10) when there are none."""
    shown = positive(values)
    return (min(shown) / margin, max(shown) * margin) if shown else (1.0, 10.0)


_FINER: Final = ((1, 2, 5), tuple(range(1, 10)), *(tuple(1 + n / by for n in range(9 * by)) for by in (2, 5, 10)))
_FEWEST_TICKS: Final = 3
"""Of an axis, from which a value can be read."""


def log_ticks(low: float, high: float) -> list[float]:
    """Tick positions within a log axis: each digit below a decade, 1-2-5 over few, powers of ten over many; finer ones
    where fewer than three would be left."""
    decades = math.log10(high / low)
    first: tuple[float, ...] = tuple(range(1, 10)) if decades <= 0.7 else (1, 2, 5) if decades <= 3.2 else (1,)
    found: list[float] = []
    for steps in (first, *(steps for steps in _FINER if len(steps) > len(first))):
        found = _ticks(low, high, steps)
        if len(found) >= _FEWEST_TICKS:
            break
    return found


def _ticks(low: float, high: float, steps: Sequence[float]) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # Powers below 1 divide, so that a tick is 0.001 and not 0.001 plus a rounding error.
    ticks = (step * 10.0**d if d >= 0 else step / 10.0**-d for d in powers for step in steps)
    return [float(f"{tick:.6g}") for tick in ticks if low <= tick <= high]


WHOLE: Final = "datum.value % 1 ? '' : datum.label"
"""Vega expression for tick labels of what comes in whole numbers: where few fit an axis, it has ticks between them."""


def number_labels() -> str:
    """Vega expression for tick labels: 10,000 and 0.001 without an exponent, 1e-7 with one."""
    return "datum.value >= 1 || datum.value === 0 ? format(datum.value, ',') : " \
        "datum.value >= 0.0001 ? format(datum.value, '~g') : format(datum.value, '.0e')"


def spread(positions: Sequence[float], gap: float) -> list[float]:
    """Ascending ``positions`` moved as little as needed so that neighbours are at least ``gap`` apart.

    Labels that would touch are treated as one block around the mean of where they belong.
    """
    blocks: list[list[float]] = []     # of the positions that belong together, in order
    for position in positions:
        blocks.append([position])
        while len(blocks) > 1 and _start(blocks[-1], gap) < _start(blocks[-2], gap) + gap * len(blocks[-2]):
            last = blocks.pop()
            blocks[-1].extend(last)
    return [_start(block, gap) + gap * i for block in blocks for i in range(len(block))]


def _start(block: Sequence[float], gap: float) -> float:
    return sum(block) / len(block) - gap * (len(block) - 1) / 2


def legend_columns(entries: int, rows: int = 17) -> int:
    """Columns of a legend beside the plot, so that it stays as high as the plot."""
    return max(1, math.ceil(entries / rows))
