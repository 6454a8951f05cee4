"""Axes: scale below and size of the database above (the paper, section 4.1.1), rates and times at the sides."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from dsbench.archive import RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import counted
from dsbench.read.draw import vega
from dsbench.read.draw.theme import (
    GREY,
    HEIGHT,
    WIDTH,
    Row,
    log_domain,
    log_ticks,
    number_labels,
    spans_decades,
    spread,
)
from dsbench.read.draw.vega import Chart, Spec, channel, constant
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import conduct, index_scales, limited, listed, pacing, streams, warnings
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.precision import FEWEST
from dsbench.stats.values import Index

Form = Literal["linear", "log"]
"""How an axis of rates is drawn."""


@dataclass(frozen=True)
class ScaleAxis:
    """Scales of an evaluation on a log axis, with the size measured at each."""

    scales: tuple[int, ...]
    sizes_gb: tuple[float, ...]

    @classmethod
    def of(cls, evaluation: Evaluation) -> ScaleAxis:
        """The axis for all scales of ``evaluation``."""
        rows = evaluation.of(RateResult).scales
        return cls(tuple(r.scale for r in rows), tuple(r.database_size_gb for r in rows))

    @property
    def domain(self) -> tuple[float, float]:
        """Lowest and highest scale with a margin, wide enough for a single scale too."""
        low, high = min(self.scales), max(self.scales)
        margin = (high / low) ** 0.035 if high > low else 2.0
        return low / margin, high * margin

    @property
    def pixels_per_decade(self) -> float:
        """Width of a factor of ten."""
        low, high = self.domain
        return WIDTH / math.log10(high / low)

    def pixel(self, scale: float) -> float:
        """Distance of ``scale`` from the left of the plot."""
        return math.log10(scale / self.domain[0]) * self.pixels_per_decade

    def scale_at(self, pixel: float) -> float:
        """The scale at a distance from the left: the inverse of ``pixel``."""
        return float(self.domain[0] * 10 ** (pixel / self.pixels_per_decade))

    def x(self, axis: Literal["below", "above"] | None = None, field: str = "scale") -> Spec:
        """The x channel on ``field``: with the scales below the plot, the sizes above it, or no axis.

        The layer with the axis below sets the scale for all others, so that it is edited in one place.
        """
        if axis == "below":
            scale = dict(type="log", domain=list(self.domain), nice=False)
            below = dict(values=self._ticks, format="d", title="scale", orient="bottom", grid=True)
            return channel(f"{field}:Q", scale=scale, axis=below)
        return channel(f"{field}:Q", axis=self._above() if axis == "above" else None)

    @property
    def _ticks(self) -> list[float]:
        return [float(s) for s in self.scales]

    def _above(self) -> Spec | None:
        labels = {str(s): size_text(g) for s, g in zip(self.scales, self.sizes_gb, strict=True) if math.isfinite(g)}
        if not labels:
            return None
        expression = f"({json.dumps(labels)})[datum.value] || ''"
        return dict(
            values=self._ticks, labelExpr=expression, title="database size [GB]", orient="top", grid=False
        )

    def scale_of_size(self, size_gb: float) -> float | None:
        """The scale at which the database would have ``size_gb``, between two measured sizes only.

        Interpolates lg scale over lg size; ``None`` outside what was measured.
        """
        points = [(g, s) for s, g in zip(self.scales, self.sizes_gb, strict=True) if math.isfinite(g) and g > 0]
        for (low_gb, low), (high_gb, high) in pairwise(points):
            if low_gb <= size_gb <= high_gb and low_gb < high_gb:
                share = math.log(size_gb / low_gb) / math.log(high_gb / low_gb)
                return float(low * (high / low) ** share)
        return None


@dataclass(frozen=True)
class ValueAxis:
    """A vertical axis from ``low`` to ``high``; its title says when it is logarithmic."""

    title: str
    low: float
    high: float
    log: bool
    side: Literal["left", "right"] = "left"

    @classmethod
    def linear(cls, title: str, values: Iterable[float]) -> ValueAxis:
        """From 0 to a little above the highest of ``values``."""
        top = max((float(v) for v in values if math.isfinite(v)), default=0.0)
        return cls(title, 0.0, top * 1.08 if top > 0 else 1.0, log=False)

    @classmethod
    def logarithmic(
        cls, title: str, values: Iterable[float], side: Literal["left", "right"] = "left", margin: float = 1.25
    ) -> ValueAxis:
        """Over the positive ones of ``values`` with a margin (a factor)."""
        return cls(title, *log_domain(values, margin), log=True, side=side)

    @classmethod
    def of_rates(cls, title: str, rates: Iterable[float], form: Form | None = None) -> ValueAxis:
        """In the ``form`` asked for; else linear from 0, logarithmic when the rates span more than two decades."""
        values = list(rates)
        logarithmic = spans_decades(values) if form is None else form == "log"
        return cls.logarithmic(title, values) if logarithmic else cls.linear(title, values)

    def y(self, field: str) -> Spec:
        """The y channel on ``field`` with this axis: for the first layer, the others follow it."""
        title = f"{self.title}, log scale" if self.log else self.title
        scale = dict(type="log" if self.log else "linear", domain=[self.low, self.high], nice=False)
        shown = {"title": title, "orient": self.side, "grid": self.side == "left", "labelExpr": number_labels()}
        ticks = {"values": log_ticks(self.low, self.high)} if self.log else {"tickCount": 6}
        return channel(f"{field}:Q", scale=scale, axis={**shown, **ticks})

    def pixel(self, value: float) -> float:
        """Distance of ``value`` from the top of the plot."""
        if self.log:
            share = math.log(self.shown(value) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return HEIGHT * (1 - share)

    def shown(self, value: float) -> float:
        """``value``, or the lower end of the axis where it lies below (a log axis has no 0)."""
        return max(self.low, value)


def size_text(size_gb: float) -> str:
    """A size in GB with two digits and no exponent: 0.015, 1.5, 150."""
    if size_gb <= 0:
        return "0"
    places = max(0, 1 - math.floor(math.log10(size_gb)))
    text = f"{size_gb:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


Pixel = tuple[float, float]
"""A place in the plot: from the left and from the top."""

_GAP = 13              # pixels between the labels of neighbouring marks
_LETTER = 5.6          # pixels that a letter of a label takes, on average
_CLEAR = 6.0           # pixels around a point of data that a label keeps free
_FOOT = 14             # pixels above the axis where the arrowheads are


def mark_rows(x: ScaleAxis, sizes: Mapping[str, float], points: Sequence[Pixel]) -> list[Row]:
    """A row for each of ``sizes`` (bytes by name) that lies within the measured ones; labels keep clear of ``points``
    and of each other."""
    found = [(x.scale_of_size(size / 1e9), name, size / 1e9) for name, size in sizes.items()]
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


def mark_layers(x: ScaleAxis) -> list[Chart]:
    """A line with an arrow at the scale and a label along it: the first layers, so that they cover no data."""
    base = Chart("marks")
    rule = base.mark("rule", color=GREY, strokeDash=[1, 2], strokeWidth=1.2).encode(x=x.x())
    arrow = base.mark("point", shape="triangle-down", filled=True, size=45, color=GREY, opacity=1, yOffset=-4).encode(
        x=x.x(), y=constant(HEIGHT)
    )
    down = channel("label_down:Q", scale=dict(domain=[1, 0], nice=False), axis=None)
    text = base.mark("text", angle=270, align="right", baseline="middle", color="#333333").encode(
        x=x.x(field="label_scale"), y=down, text="label:N"
    )
    return [rule, arrow, text]


_LINE = 108     # characters of the subtitle's font that fit the width of a diagram


def title(headline: str, evaluation: Evaluation, run: RunRecord, notes: Sequence[str] = ()) -> Spec:
    """``headline`` over the conditions of the run, then ``notes``, then what is unsafe or void."""
    lines = [conditions(evaluation, run), *notes, *warnings(evaluation, run)]
    return vega.title(headline, subtitle=[part for line in lines for part in textwrap.wrap(line, _LINE)])


def conditions(evaluation: Evaluation, run: RunRecord) -> str:
    """Load, isolation and repetition in one line."""
    spec = run.spec
    cycles, seconds = conduct(evaluation, run)
    nodes, connections, numbers = spec.nodes, spec.connections, spec.client_numbers
    clients = counted(numbers[0], "client") if len(numbers) == 1 else f"{listed(numbers)} clients"
    parts = [
        ", ".join(streams(evaluation)) or (f"{counted(nodes, 'node')} × {clients}" if nodes else clients),
        f"{connections} connections each" if connections > 1 else "",
        run.in_force.replace("-", " "),
        "" if evaluation.of(QueriesResult).queries
            else f"{cycles} {'cycle' if cycles == '1' else 'cycles'} of {seconds} s",
        pacing(run),
        limited(run),
        "with retry" if spec.retry else "",
        "reconnecting" if spec.reconnect else "",
    ]
    return ", ".join(part for part in parts if part)


def index_text(index: Index) -> str:
    """The DSI with its interval, or that there is none: ``DSI 6.52 (6.45 to 6.58)``."""
    if index.dsi is None:
        return "no DSI"
    if not math.isfinite(index.dsi.low):
        return f"DSI {index.dsi.value:.2f}"
    return f"DSI {index.dsi.value:.2f} ({index.dsi.low:.2f} to {index.dsi.high:.2f})"


def index_note(index: Index, *, searched: bool = False) -> str:
    """What the DSI's figures mean: its scales and the level of the interval; ``searched``: it is of capacities."""
    if index.dsi is None:
        return "no DSI: it needs two scales or more, and a rate above 0 at each"
    note = f"DSI over {index_scales(index)}"
    known = math.isfinite(index.dsi.low)
    open_end = "one of a capacity is open" if searched else f"below {FEWEST} cycles"
    note += f"; {index.dsi.level * 100:g}% interval" if known else f"; no interval{':' * searched} {open_end}"
    return note if index.comparable else note + "; comparable only with --profile dsi"
