"""The one large picture of a page: the rate over what the run varied, a line for each series, and nothing else.

Over the size of the database; of one size over the number of clients; of one of both over the cycles. A run of stages
has a bar for each, one of queries their times, a graduated load a bar for each level and a line of its power. The
paper's form, with times on a second axis, is ``rate``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from dsbench.archive import RunRecord
from dsbench.read.answer import format_size
from dsbench.read.draw.axes import ScaleAxis
from dsbench.read.draw.graduated import by_level
from dsbench.read.draw.legs import legs as draw_legs
from dsbench.read.draw.load import load
from dsbench.read.draw.queries import queries as draw_queries
from dsbench.read.draw.theme import FONT, HUES, ORDERED, Row, config, number_labels, spread
from dsbench.read.draw.vega import SCHEMA_URL, Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.series import phrases
from dsbench.read.subjects.energy import EnergyResult
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.rate import RateResult

_HEIGHT: Final = 320
_STAGE: Final = 26
"""Pixels of a bar."""
_AHEAD: Final = 1.12
"""Room above the highest value."""
_LINE: Final = 15
"""Pixels of a line of text."""


def hero(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """The specification, as wide as the page; ``None`` where nothing was committed."""
    if drawn := draw_queries(evaluation, run):
        body: Spec = {key: drawn[key] for key in ("data", "mark", "encoding", "height") if key in drawn}
        return _whole(body, evaluation, "times of each query and refresh", drawn["datasets"], 8)
    if evaluation.staged:
        return _bars(evaluation)
    parts = _parts(evaluation)
    scales = sorted({row["at"] for rows in parts.values() for row in rows})
    if not scales:
        return None
    if drawn := draw_legs(evaluation, run):
        return _whole({"height": _HEIGHT, "layer": drawn["vconcat"][0]["layer"]}, evaluation,
                      "transactions per second over the seconds of a cycle", drawn["datasets"], 8)  # fmt: skip
    if len(scales) > 1:
        return _over_scale(parts, evaluation, run, scales)
    for scale, grades in evaluation.of(EnergyResult).grades.items():
        if shown := by_level(scale, grades):
            what, body = shown
            return _whole({**body, "height": _HEIGHT}, evaluation, what, body["datasets"], 8)
    if any(one.capacity for one in evaluation.of(LoadResult).load.values()):
        drawn = load(evaluation, run) or {}
        return _whole({"height": _HEIGHT, "layer": drawn["layer"]}, evaluation, " ".join(drawn["title"]["subtitle"]),
                      drawn["datasets"], 8)  # fmt: skip
    if len(parts) > 1:
        each = zip(evaluation.by_clients, parts.values(), strict=True)
        rows = [{**rows[0], "at": clients, "series": ""} for clients, rows in each if rows]
        return _lines(rows, [""], evaluation, _x_of_clients([row["at"] for row in rows]), "clients")
    return _over_cycles(evaluation)


def beside(drawn: Spec) -> Spec:
    """A diagram of ``dsbench plot`` as large as the first picture, which it stands beside."""
    return _dress({"height": _HEIGHT, **{key: drawn[key] for key in ("layer", "resolve", "datasets", "usermeta")}},
                  " ".join(drawn["title"]["subtitle"][-1:]), 8)  # fmt: skip


def _unit(evaluation: Evaluation) -> str:
    first = next(iter(evaluation.of(KindsResult).nopm.values()), None)
    counted = next(iter(evaluation.of(KindsResult).headline.values()), None)
    return "New-Orders per minute" if first else counted.label if counted else "transactions per second"


def _parts(evaluation: Evaluation) -> dict[str, list[Row]]:
    """By series: a row for each scale with a rate."""
    names = phrases(evaluation.series)
    series = {names[key]: part for key, part in evaluation.series.items() if key in set(_shown(evaluation))}
    return {name: list(_rows(part, name)) for name, part in (series or {"": evaluation}).items()}


def _shown(evaluation: Evaluation) -> list[Any]:
    return [part.key for part in evaluation.by_clients.values()]


def _rows(part: Evaluation, name: str) -> list[Row]:
    rows = []
    for row in part.of(RateResult).scales:
        value, low, high = row.rate_median_tps, row.rate_min_tps, row.rate_max_tps
        searched = part.of(LoadResult).load.get(row.scale)
        if searched and (found := searched.capacity) and isfinite(found.high):
            value, low, high = found.rate, found.low, found.high
        if counted := part.of(KindsResult).nopm.get(row.scale) or part.of(KindsResult).headline.get(row.scale):
            value, low, high = counted.median, counted.minimum, counted.maximum
        if isfinite(value) and row.scale not in part.of(RateResult).void_scales:
            size = row.database_size_gb
            rows.append({"at": row.scale, "series": name, "median": value, "low": low, "high": high,
                         "size": format_size(size) if isfinite(size) else ""})  # fmt: skip
    return rows


def _over_scale(
    parts: Mapping[str, Sequence[Row]], evaluation: Evaluation, run: RunRecord, scales: Sequence[int]
) -> Spec:
    rows = [row for part in parts.values() for row in part]
    sizes = {str(row["at"]): row["size"] for row in rows}
    low, high = scales[0], scales[-1]
    margin = (high / low) ** 0.03
    x: Spec = {
        "field": "at", "type": "quantitative",
        "title": "scale, and size of the database" if any(sizes.values()) else "scale",
        "scale": {"type": "log", "domain": [low / margin, high * margin], "nice": False},
        "axis": {"values": list(scales), "grid": False, "labelOverlap": "greedy",
                 "labelExpr": f"[format(datum.value, ','), ({json.dumps(sizes)})[datum.value] || '']"},
    }  # fmt: skip
    axis = ScaleAxis.of(evaluation)
    borders = {f"{name} {format_size(size / 1e9)}": axis.scale_of_size(size / 1e9) for name, size in run.marks.items()}
    # A name in the right half stands to the left of its line, where it takes no room from the plot.
    marks = [{"at": at, "label": label, "late": at * at > low * high}
             for label, at in borders.items() if at is not None]  # fmt: skip
    return _lines(rows, list(parts), evaluation, x, "scale", marks)


def _x_of_clients(numbers: Sequence[int]) -> Spec:
    return {"field": "at", "type": "quantitative", "title": "clients", "scale": {"type": "log", "nice": False},
            "axis": {"values": list(numbers), "grid": False, "format": ",d"}}  # fmt: skip


def _lines(
    rows: Sequence[Row], names: Sequence[str], evaluation: Evaluation, x: Spec, over: str, marks: Sequence[Row] = ()
) -> Spec:
    several = len(names) > 1
    colour: Spec = {
        "field": "series", "type": "nominal", "legend": None, "sort": list(names),
        "scale": {"domain": list(names), "range": list(HUES[: len(names)])} if len(names) <= len(HUES) else
                 {"domain": list(names), "scheme": ORDERED},
    }  # fmt: skip
    top = max(row["high"] for row in rows) * _AHEAD
    unit = _unit(evaluation)
    y = {"field": "median", "type": "quantitative", "title": None, "scale": {"domain": [0, top], "nice": False},
         "axis": {"labelExpr": number_labels(), "tickCount": 5, "domain": False, "ticks": False}}  # fmt: skip
    tips = [
        *([{"field": "series", "type": "nominal"}] if several else []),
        {"field": "at", "type": "quantitative", "title": over, "format": ",d"},
        *([{"field": "size", "type": "nominal"}] if over == "scale" else []),
        *({"field": name, "type": "quantitative", "title": said, "format": ",.4~r"}
          for name, said in (("median", "median"), ("low", "least"), ("high", "greatest"))),
    ]  # fmt: skip
    last = {name: max((row for row in rows if row["series"] == name), key=lambda row: row["at"])["at"]
            for name in names if any(row["series"] == name for row in rows)}  # fmt: skip
    ends = apart([row for row in rows if row["at"] == last[row["series"]]], top * _LINE / _HEIGHT)
    layers: list[Spec] = [
        {"mark": {"type": "area", "opacity": 0.14},
         "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour}},
        {"mark": {"type": "line", "strokeWidth": 2.5, "strokeJoin": "round"},
         "encoding": {"x": x, "y": y, "color": colour}},
        {"mark": {"type": "point", "size": 60, "filled": True, "fill": "white", "strokeWidth": 2, "opacity": 1},
         "encoding": {"x": x, "y": y, "stroke": {**colour}, "tooltip": tips}},
    ]  # fmt: skip
    if several:
        layers.append({
            "data": {"name": "ends"}, "mark": {"type": "text", "align": "left", "dx": 10, "fontWeight": "bold"},
            "encoding": {"x": x, "y": {**y, "field": "place"}, "color": colour, "text": {"field": "series"}},
        })  # fmt: skip
    if marks:
        place = {"x": {key: part for key, part in x.items() if key in ("field", "type", "scale")}}
        layers = [
            {"data": {"name": "marks"}, "mark": {"type": "rule", "strokeDash": [2, 3], "color": "#888888"},
             "encoding": place},
            {"data": {"name": "marks"},
             "mark": {"type": "text", "align": {"expr": "datum.late ? 'right' : 'left'"},
                      "dx": {"expr": "datum.late ? -4 : 4"}, "baseline": "top", "color": "#5a5a5a", "y": 2},
             "encoding": {**place, "text": {"field": "label"}}},
            *layers,
        ]  # fmt: skip
    return _whole({"height": _HEIGHT, "layer": layers, "data": {"name": "rows"}}, evaluation, unit,
                  {"rows": rows, "ends": ends, "marks": marks}, 8)  # fmt: skip


def apart(ends: Sequence[Row], gap: float) -> list[Row]:
    """With the ``place`` of each name: as near to the end of its line as others that end there allow."""
    found: list[Row] = []
    for at in sorted({row["at"] for row in ends}):
        here = sorted((row for row in ends if row["at"] == at), key=lambda row: row["median"])
        least = 0.0
        for row, place in zip(here, spread([row["median"] for row in here], gap), strict=True):
            found.append({**row, "place": max(place, least)})
            least = found[-1]["place"] + gap
    return found


def _over_cycles(evaluation: Evaluation) -> Spec | None:
    (scale, rates), = evaluation.of(RateResult).cycle_rates.items() or [(0, [])]  # fmt: skip
    if not len(rates):
        return None
    numbers = evaluation.of(RateResult).cycle_numbers.get(scale, range(1, len(rates) + 1))
    middle = next(row.rate_median_tps for row in evaluation.of(RateResult).scales if row.scale == scale)
    values, unit, short = [float(rate) for rate in rates], "transactions per second", "tps"
    if (counted := evaluation.of(KindsResult).nopm.get(scale)) and len(counted.by_cycle) == len(rates):
        values, middle, unit, short = list(counted.by_cycle), counted.median, _unit(evaluation), "NOPM"
    rows = [{"at": int(at), "median": value} for at, value in zip(numbers, values, strict=False)]
    y = {"field": "median", "type": "quantitative", "title": None,
         "scale": {"domain": [0, max(row["median"] for row in rows) * _AHEAD], "nice": False},
         "axis": {"labelExpr": number_labels(), "tickCount": 5, "domain": False, "ticks": False}}  # fmt: skip
    x = {"field": "at", "type": "ordinal", "title": "cycle", "axis": {"labelAngle": 0, "grid": False}}
    tips = [{"field": "at", "type": "ordinal", "title": "cycle"},
            {"field": "median", "type": "quantitative", "title": short, "format": ",.4~r"}]  # fmt: skip
    layers = [
        {"mark": {"type": "rule", "strokeDash": [4, 3], "color": "#888888"},
         "encoding": {"y": {"datum": middle, "type": "quantitative"}}},
        {"mark": {"type": "point", "size": 80, "filled": True, "opacity": 1, "color": HUES[0]},
         "encoding": {"x": x, "y": y, "tooltip": tips}},
    ]  # fmt: skip
    return _whole({"height": 200, "layer": layers, "data": {"name": "rows"}}, evaluation,
                  f"{unit} in each cycle; dashed: their median", {"rows": rows}, 8)  # fmt: skip


def _bars(evaluation: Evaluation) -> Spec | None:
    names = phrases(evaluation.series)
    own = {
        key: {x: one.median for x, one in part.of(KindsResult).headline.items()} | {x: one.median
            for x, one in part.of(KindsResult).nopm.items()}
        for key, part in evaluation.series.items()
    }
    counted = any(own.values())
    rates = [(key, part, row.scale, own[key][row.scale] if counted else row.rate_median_tps)
             for key, part in evaluation.series.items() for row in part.of(RateResult).scales
             if row.scale in own[key] or not counted]  # fmt: skip
    rows = [{"stage": names[key] + (f", scale {scale}" if len(part.of(RateResult).scales) > 1 else ""), "median": rate}
            for key, part, scale, rate in rates
                if rate > 0 and scale not in part.of(RateResult).void_scales]  # fmt: skip
    if not rows:
        return None
    y = {"field": "stage", "type": "nominal", "title": None, "sort": None,
         "axis": {"ticks": False, "domain": False, "labelLimit": 260}}  # fmt: skip
    x = {"field": "median", "type": "quantitative", "title": None,
         "axis": {"labelExpr": number_labels(), "tickCount": 5, "domain": False, "ticks": False}}  # fmt: skip
    layers = [
        {"mark": {"type": "bar", "color": HUES[0], "opacity": 0.85, "height": {"band": 0.62}},
         "encoding": {"x": x, "y": y}},
        {"mark": {"type": "text", "align": "left", "dx": 5},
         "encoding": {"x": x, "y": y, "text": {"field": "median", "type": "quantitative", "format": ",.4~r"}}},
    ]  # fmt: skip
    unit = next((_unit(part) for key, part in evaluation.series.items() if own[key]), "transactions per second")
    return _whole({"height": {"step": _STAGE}, "layer": layers, "data": {"name": "rows"}}, evaluation,
                  f"{unit} by stage", {"rows": rows}, 60)  # fmt: skip


def _whole(body: Spec, evaluation: Evaluation, unit: str, data: Mapping[str, Sequence[Row]], right: int) -> Spec:
    datasets = {name: list(rows) for name, rows in data.items()}
    known = {"usermeta": {"diagram": "hero", "archive": evaluation.name}, "datasets": datasets}
    return _dress({**known, **body}, unit, right)


def _dress(body: Spec, unit: str, right: int) -> Spec:
    shown = config()
    clear = {**shown, "background": "white", "view": {"stroke": None}, "text": {"font": FONT, "fontSize": 12},
             "axis": {**shown["axis"], "labelFontSize": 12, "titleFontSize": 12}}  # fmt: skip
    return {
        "$schema": SCHEMA_URL,
        "description": f"{unit}, measured.",
        "title": {"text": unit, "anchor": "start", "frame": "bounds", "fontSize": 12, "fontWeight": "normal",
                  "color": "#5a5a5a", "offset": 8},
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 4, "top": 4, "bottom": 4, "right": right},
        **body,
        "config": {key: part for key, part in clear.items() if key != "padding"},
    }
