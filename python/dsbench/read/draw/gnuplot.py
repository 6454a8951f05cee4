"""Diagrams as files for gnuplot: ``results-<name>.gp`` with its data beside it, ``results-<name>.dat``.

They are made from the Vega-Lite specification, so that what was edited there is kept. Diagrams of one plot are
translated: all of the paper, and those over connections and kinds. Text is written in single quotes, in which gnuplot
runs no command and reads no escape.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.read.draw.theme import HUES
from dsbench.read.draw.vega import Spec

_SHAPES: Final = {
    "circle": 7, "stroke": 7, "square": 5, "triangle-up": 9, "triangle-down": 11, "diamond": 13, "cross": 2,
    "triangle-right": 15, "triangle-left": 8,
}  # fmt: skip
"""Point types of gnuplot."""
_VIRIDIS: Final = ("440154", "414487", "2a788e", "22a884", "7ad151", "fde725")
_EXTENT: Final = 0.9
_STYLES: Final = {
    "area": "filledcurves", "line": "lines", "point": "points", "rule": "vectors nohead", "bar": "vectors nohead",
    "tick": "points",
}  # fmt: skip

_GAP: Final = " "
"""An empty line: the curve is not known there."""

Layer = Mapping[str, Any]


def files(name: str, spec: Spec) -> dict[str, str]:
    """File name to text for the diagram ``name``; empty for one that has several plots."""
    if "layer" not in spec:
        return {}
    stem = f"results-{name}"
    script = _Script(spec, stem)
    return {f"{stem}.gp": script.text(), f"{stem}.dat": "\n\n\n".join(script.blocks) + "\n"}


@dataclass
class _Axis:
    """What layers say of one of the four axes."""

    domain: tuple[float, float] | None = None
    log: bool = False
    title: str = ""
    ticks: Sequence[float] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def learn(self, channel: Layer) -> None:
        """Adds what one layer says."""
        scale, axis = channel.get("scale") or {}, channel.get("axis") or {}
        if self.domain is None and "domain" in scale:
            self.domain, self.log = tuple(scale["domain"]), scale.get("type") == "log"
        self.title = self.title or str(axis.get("title") or "")
        self.ticks = self.ticks or axis.get("values") or ()
        self.labels = self.labels or _said(axis)

    def lines(self, name: str) -> Iterator[str]:
        """Commands that set it up."""
        if self.log:
            yield f"set logscale {name}"
        if self.domain is not None:
            yield f"set {name}range [{self.domain[0]:.10g}:{self.domain[1]:.10g}]"
        if self.title:
            yield f"set {name}label {_quoted(self.title)}"
        if self.ticks:
            shown = (f"{_quoted(self.labels.get(f'{tick:g}', f'{tick:,.10g}'))} {tick:.10g}" for tick in self.ticks)
            yield f"set {name}tics ({', '.join(shown)})"
        elif self.title:
            yield f"set {name}tics nomirror"


class _Script:
    """The commands and the blocks of data of one diagram."""

    def __init__(self, spec: Spec, stem: str) -> None:
        self._spec, self._stem = spec, stem
        self._axes = {name: _Axis() for name in ("x", "x2", "y", "y2")}
        self._looks: dict[str, tuple[str, int]] = {}
        """Colour and point type by name in the legend."""
        self._named: set[str] = set()
        self._legend: Layer = {}
        self._shown: Mapping[str, str] = {}
        """What the legend has in place of a name."""
        self.blocks: list[str] = []
        self._plots: list[str] = []
        self._labels: list[str] = []
        layers = [(layer, right) for layer, right in _leaves(spec["layer"], False)]
        for layer, right in layers:
            self._learn(layer, right)
        above, below = self._axes["x2"], self._axes["x"]
        if above.ticks:
            above.domain, above.log = below.domain, below.log
        for layer, right in layers:
            if _mark(layer)["type"] == "text":
                self._labels += self._label(layer)
            else:
                self._draw(layer, right)

    def text(self) -> str:
        told = self._spec.get("title", {})
        under = told.get("subtitle") or []
        heads = [str(told.get("text", "")), *([under] if isinstance(under, str) else under)]
        axes = [line for name, axis in self._axes.items() for line in axis.lines(name)]
        place = "below" if self._legend.get("orient") == "bottom" else "outside right top"
        title = self._legend.get("title") or ""
        words = " ".join(title) if isinstance(title, list) else str(title)
        return "\n".join([
            f"# gnuplot {self._stem}.gp draws {self._stem}.gp.pdf; data: {self._stem}.dat",
            "set terminal pdfcairo noenhanced size 16cm,11cm font 'Liberation Sans,9'",
            f"set output '{self._stem}.gp.pdf'",
            "set encoding utf8",
            f"set title {_quoted(heads[0])}",
            *(f"# {_plain(head)}" for head in heads[1:]),
            *axes,
            *self._labels,
            *(["set xtics nomirror"] if self._axes["x2"].ticks else []),
            *(["set ytics nomirror"] if self._axes["y2"].domain else []),
            "set grid xtics ytics lc rgb '#e4e4e4'",
            f"set key {place} noenhanced" + (f" title {_quoted(words)}" if words else ""),
            "set style fill transparent solid 0.3 noborder",
            "plot " + ", \\\n     ".join(self._plots),
            "",
        ])  # fmt: skip

    def _learn(self, layer: Layer, right: bool) -> None:
        encoding = layer.get("encoding", {})
        x, y = encoding.get("x", {}), encoding.get("y", {})
        self._axes["x2" if (x.get("axis") or {}).get("orient") == "top" else "x"].learn(x)
        if not _beside(y):
            self._axes["y2" if right else "y"].learn(y)
        colour = encoding.get("color", {})
        scale, legend = colour.get("scale") or {}, colour.get("legend")
        if legend and not self._legend:
            self._legend, self._shown = legend, _said(legend)
        for number, name in enumerate(names := [_name(one) for one in scale.get("domain", ())]):
            known = scale.get("range")
            hue = known[number] if known else _viridis(number / max(len(names) - 1, 1) * _EXTENT)
            self._looks.setdefault(name, (str(hue), 7))
        shapes = (encoding.get("shape") or {}).get("scale") or {}
        for name, shape in zip(map(_name, shapes.get("domain", ())), shapes.get("range", ()), strict=False):
            self._looks[name] = (self._looks.get(name, (HUES[0], 7))[0], _SHAPES.get(shape, 7))

    def _draw(self, layer: Layer, right: bool) -> None:
        mark, encoding, rows = _mark(layer), layer.get("encoding", {}), self._rows(layer)
        if mark["type"] not in _STYLES or mark.get("opacity") == 0 or _in_pixels(encoding) or not rows:
            return
        for name, some in _split(rows, encoding):
            if lines := self._data(mark, encoding, some):
                self.blocks.append("\n".join([f"# {_plain(name or mark['type'])}", *lines]))
                self._plots.append(self._plot(mark, name, right))

    def _rows(self, layer: Layer) -> Sequence[Layer]:
        found: Sequence[Layer] = self._spec["datasets"].get((layer.get("data") or {}).get("name", ""), [])
        return found

    def _label(self, layer: Layer) -> Iterator[str]:
        """Texts: along an axis of the data, or in shares of the plot, where they have a scale of their own."""
        encoding, mark = layer.get("encoding", {}), _mark(layer)
        y = encoding.get("y", {})
        for row in self._rows(layer):
            place, height = _value(encoding.get("x"), row), _value(y, row)
            if height is None or (place is None and "value" not in encoding.get("x", {})):
                continue
            # At the right edge, where other labels stand beside the plot: there is the key.
            across = "graph 0.99" if place is None else f"first {_at(place)}"
            up = f"graph {1 - height:.4g}" if _beside(y) else f"first {_at(height)}"
            turned = f" rotate by {360 - mark['angle']}" if mark.get("angle") else ""
            side = "right" if place is None else mark.get("align", "center")
            text = _quoted(str(_value(encoding.get("text"), row) or ""))
            above = " offset 0,0.4" if place is None else ""
            yield f"set label {text} at {across}, {up} {side}{turned} font ',7' front{above}"

    def _data(self, mark: Layer, encoding: Layer, rows: Sequence[Layer]) -> list[str]:
        """Lines: x, y and what else the style takes. A rule without the one goes across the plot.

        A gap is one empty line and never two, which would begin the next block.
        """
        lines = [line for row in rows if (line := self._line(mark, encoding, row))]
        known = [line for n, line in enumerate(lines) if line != _GAP or (n and lines[n - 1] != _GAP)]
        return known if any(line != _GAP for line in known) else []

    def _line(self, mark: Layer, encoding: Layer, row: Layer) -> str:
        x, y, end = (_value(encoding.get(key), row) for key in ("x", "y", "y2"))
        if mark["type"] in ("rule", "bar") and "y2" not in encoding:
            along = self._axes["x" if "x" not in encoding else "y"].domain or (0.0, 1.0)
            if "x" not in encoding:
                return f"{along[0]:.8g} {_at(y)} {along[1] - along[0]:.8g} 0" if y is not None else ""
            return f"{_at(x)} {along[0]:.8g} 0 {along[1] - along[0]:.8g}" if x is not None else ""
        if x is None or y is None:
            return "" if mark["type"] != "line" else _GAP
        if "y2" not in encoding:
            return f"{_at(x)} {_at(y)}"
        if end is None:
            return ""
        return f"{_at(x)} {_at(y)} {_at(end)}" if mark["type"] == "area" else f"{_at(x)} {_at(y)} 0 {end - y:.8g}"

    def _plot(self, mark: Layer, name: str, right: bool) -> str:
        hue, shape = self._looks.get(name.partition("|")[0], (str(mark.get("color", "#333333")), 7))
        shape = _SHAPES.get(str(mark.get("shape")), shape)
        style = _STYLES[mark["type"]]
        if mark.get("interpolate") == "step-after":
            style = "steps"
        look = {
            "point": f"lc rgb '{hue}' pt {shape} ps 0.5", "tick": f"lc rgb '{hue}' pt 1 ps 2",
            "area": f"fc rgb '{hue}'", "bar": f"lc rgb '{hue}' lw 8",
        }.get(mark["type"], f"lc rgb '{hue}' lw {mark.get('strokeWidth', 1.5)}")  # fmt: skip
        if mark["type"] in ("line", "rule") and (mark.get("strokeDash") or name.endswith("|dashed")):
            look += " dt 2"
        axes = "axes x1y2 " if right else ""
        shown = name.partition("|")[0]
        words = _quoted(self._shown.get(shown, shown))
        title = f"title {words}" if shown in self._looks and shown not in self._named else "notitle"
        self._named.add(shown)
        return f"'{self._stem}.dat' index {len(self.blocks) - 1} {axes}with {style} {look} {title}"


def _leaves(layers: Sequence[Layer], right: bool) -> Iterator[tuple[Layer, bool]]:
    """Layers that draw, each with whether its y axis is the right one."""
    for layer in layers:
        if "layer" in layer:
            axes = [(one.get("encoding", {}).get("y") or {}).get("axis") or {} for one in layer["layer"]]
            yield from _leaves(layer["layer"], any(axis.get("orient") == "right" for axis in axes))
        else:
            yield layer, right


def _mark(layer: Layer) -> Layer:
    mark = layer["mark"]
    return mark if isinstance(mark, Mapping) else {"type": mark}


def _beside(channel: Layer) -> bool:
    """Whether it has a scale of its own without an axis, as the places of labels have."""
    return "axis" in channel and channel["axis"] is None and "scale" in channel


def _in_pixels(encoding: Layer) -> bool:
    return any("value" in (encoding.get(key) or {}) for key in ("x", "y"))


def _split(rows: Sequence[Layer], encoding: Layer) -> Iterator[tuple[str, list[Layer]]]:
    """Rows by what gives them their colour, and by dashes, whose second kind is named ``|dashed``."""
    colour, dash = encoding.get("color") or {}, (encoding.get("strokeDash") or {})
    if "datum" in colour:
        yield _name(colour["datum"]), list(rows)
        return
    dashes = dash.get("scale") or {}
    order = [_name(one) for one in dashes.get("domain", ())]
    whole = {name for name, one in zip(order, dashes.get("range", ()), strict=False) if one == dashes["range"][0]}
    found: dict[str, list[Layer]] = {}
    for row in rows:
        name = _name(row.get(colour["field"])) if "field" in colour else ""
        dashed = bool(order) and _name(row.get(dash.get("field", ""))) not in whole
        found.setdefault(f"{name}|dashed" if dashed else name, []).append(row)
    yield from found.items()


def _value(channel: Layer | None, row: Layer) -> Any:
    if not channel:
        return None
    return channel["datum"] if "datum" in channel else row.get(channel.get("field", ""))


def _said(guide: Layer) -> dict[str, str]:
    """Of an axis or a legend, what its expression shows in place of values."""
    found = re.match(r"\((\{.*\})\)\[", str(guide.get("labelExpr", "")))
    return dict(json.loads(found[1])) if found else {}


def _name(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _at(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, int | float) and math.isfinite(value) else "NaN"


def _plain(text: str) -> str:
    """Without what would end a line or a text in a file of data."""
    return re.sub(r"[\x00-\x1f\x7f\"\\]", " ", text)


def _quoted(text: str) -> str:
    return "'" + re.sub(r"[\x00-\x1f\x7f]", " ", text).replace("'", "''") + "'"


def _viridis(at: float) -> str:
    place = at * (len(_VIRIDIS) - 1)
    low = min(int(place), len(_VIRIDIS) - 2)
    pairs = ((int(_VIRIDIS[low][i : i + 2], 16), int(_VIRIDIS[low + 1][i : i + 2], 16)) for i in (0, 2, 4))
    return "#" + "".join(f"{round(a + (b - a) * (place - low)):02x}" for a, b in pairs)
