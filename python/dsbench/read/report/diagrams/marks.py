"""Marks in the rate diagram: at which scale the database is as large as RAM, swap or a buffer of the server."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from dsbench.archive import RunRecord
from dsbench.read.report.diagrams.axes import ScaleAxis, size_text
from dsbench.read.report.diagrams.theme import GREY, HEIGHT, Row, spread

Pixel = tuple[float, float]
"""A place in the plot: from the left and from the top."""

_GAP = 13              # pixels between the labels of neighbouring marks
_LETTER = 5.6          # pixels that a letter of a label takes, on average
_CLEAR = 6.0           # pixels around a point of data that a label keeps free
_FOOT = 14             # pixels above the axis where the arrowheads are


def mark_rows(x: ScaleAxis, run: RunRecord, points: Sequence[Pixel]) -> list[Row]:
    """One row per mark whose size lies within the measured sizes; labels keep clear of ``points`` and each other."""
    found = [(x.scale_of_size(size / 1e9), name, size / 1e9) for name, size in run.marks.items()]
    marks = sorted((at, name, size) for at, name, size in found if at is not None)
    across = _labels_across([x.pixel(at) for at, _, _ in marks])
    rows: list[Row] = []
    for (at, name, size), pixel in zip(marks, across, strict=True):
        label = f"{name} {size_text(size)} GB"
        down = _down(pixel, len(label) * _LETTER, points)
        rows.append({"scale": at, "label": label, "label_scale": x.scale_at(pixel), "label_down": down / HEIGHT})
    return rows


def _labels_across(marks: Sequence[float]) -> list[float]:
    """Where the labels stand: left of their lines, the last of a dense group on its right."""
    wanted = []
    for i, pixel in enumerate(marks):
        crowded = i > 0 and pixel - marks[i - 1] < _GAP
        free = i + 1 == len(marks) or marks[i + 1] - pixel > 2 * _GAP
        wanted.append(pixel + _GAP / 2 if crowded and free else pixel - _GAP / 2)
    return spread(wanted, _GAP)


def _down(across: float, length: float, points: Sequence[Pixel]) -> float:
    """How far from the top a label of ``length`` begins: the highest place that covers the fewest points."""
    near = [down for left, down in points if abs(left - across) < _GAP / 2 + _CLEAR]
    places = range(4, max(5, math.floor(HEIGHT - _FOOT - length)), 4)
    return float(min(places, key=lambda top: sum(top - _CLEAR < down < top + length + _CLEAR for down in near)))


def mark_layers(x: ScaleAxis) -> list[alt.Chart]:
    """A line with an arrow at the scale and a label along it: the first layers, so that they cover no data."""
    base = alt.Chart(alt.NamedData("marks"))
    rule = base.mark_rule(color=GREY, strokeDash=[1, 2], strokeWidth=1.2).encode(x=x.x())
    arrow = base.mark_point(shape="triangle-down", filled=True, size=45, color=GREY, opacity=1, yOffset=-4).encode(
        x=x.x(), y=alt.value(HEIGHT)
    )
    down = alt.Y("label_down:Q", scale=alt.Scale(domain=[1, 0], nice=False), axis=None)
    text = base.mark_text(angle=270, align="right", baseline="middle", color="#333333").encode(
        x=x.x(field="label_scale"), y=down, text="label:N"
    )
    return [rule, arrow, text]
