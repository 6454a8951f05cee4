"""Latency over load: response times at each rate of a search, with the limit and the rate that keeps it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from math import isfinite

from dsbench.archive import RunRecord
from dsbench.read.draw import vega
from dsbench.read.draw.theme import GREY, HUES, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.stats.search import QUANTILES, Load

_NAMES = {f"p{100 * q:g}": at for at, q in enumerate(QUANTILES)}
_LINE = 92
"""Characters of a note that fit above the plot."""
_MOST_KEPT = 0.4
"""Where the lowest rate is below this share of the highest, the axis begins at 0."""


def load(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """Of one scale its quantiles; of several the highest quantile of each. ``None`` without a search."""
    found = {scale: one for scale, one in evaluation.load.items() if len(one.tried) > 1}
    if not found:
        return None
    if len(found) > 1:
        return _draw(
            {f"scale {scale:,}": one for scale, one in found.items()}, f"{subject(run)}: p99 over the rate",
            evaluation.name,
        )  # fmt: skip
    (one,) = found.values()
    by_name = {name: rows for name, at in _NAMES.items() if (rows := _rows(name, one, at))}
    rows = [row for part in by_name.values() for row in part]
    said = f"{subject(run)}: response time over the rate"
    return _assemble(rows, list(by_name), {"": one}, said, evaluation.name)


def loads(named: Mapping[str, Load]) -> Spec | None:
    """Of several archives p99 of each; ``None`` without a search in one."""
    return _draw(named, "p99 over the rate", "") if named else None


def _draw(named: Mapping[str, Load], said: str, archive: str) -> Spec | None:
    rows = [row for name, one in named.items() for row in _rows(name, one, _NAMES["p99"])]
    return _assemble(rows, list(named), named, said, archive)


def _rows(name: str, one: Load, at: int) -> list[Row]:
    return [
        {"of": name, "rate": tried.achieved, "demanded": tried.demanded, "ms": tried.quantiles_ms[at],
         "cycle": tried.cycle, "keeps": "yes" if tried.keeps else "no"}
        for tried in one.counted if isfinite(tried.quantiles_ms[at]) and tried.quantiles_ms[at] > 0
    ]  # fmt: skip


def _assemble(
    rows: Sequence[Row], names: Sequence[str], named: Mapping[str, Load], said: str, archive: str
) -> Spec | None:
    if not rows:
        return None
    objectives = [one.objective for one in named.values()]
    limits = sorted({one.limit_ns / 1e6 for one in objectives if one.limit_ns})
    low, high = log_domain((value for value in [*(row["ms"] for row in rows), *limits]), margin=1.2)
    least, most = min(row["rate"] for row in rows), max(row["rate"] for row in rows)
    ends = [0.0 if least < _MOST_KEPT * most else max(least - 0.1 * (most - least), 0.0), most + 0.05 * (most - least)]
    hues = dict(zip(names, (HUES[at % len(HUES)] for at in range(len(names))), strict=True))
    bands = [
        {"of": name, "low": max(found.low, ends[0]), "high": min(found.high, ends[1]), "rate": found.rate,
         "hue": hues.get(name, HUES[2]), "words": f"{name}: {one.words}".removeprefix(": ")}
        for name, one in named.items() if (found := one.capacity) is not None
    ]  # fmt: skip
    x = {"type": "quantitative", "scale": {"domain": ends, "nice": False, "zero": False},
         "title": "committed transactions per second",
         "axis": {"labelExpr": number_labels(), "grid": False, "tickCount": 8}}  # fmt: skip
    y = {"type": "quantitative", "scale": {"type": "log", "domain": [low, high], "nice": False},
         "title": "response time [ms], log scale",
         "axis": {"values": log_ticks(low, high), "labelExpr": number_labels()}}  # fmt: skip
    colour = {"field": "of", "type": "nominal", "title": None, "sort": list(names),
              "scale": {"domain": list(names), "range": list(hues.values())}}  # fmt: skip
    tips = [{"field": "of", "title": "of"}] + [
        {"field": name, "type": "quantitative", "title": label, "format": ",.4~r"}
        for name, label in (("rate", "tps"), ("demanded", "demanded"), ("ms", "ms"), ("cycle", "cycle"))
    ]  # fmt: skip
    hue = {"field": "hue", "type": "nominal", "scale": None}
    known = [row for row, one in zip(bands, (one for one in named.values() if one.capacity), strict=True)
             if one.capacity is not None and one.capacity.low > 0 and isfinite(one.capacity.high)]  # fmt: skip
    layers: list[Spec] = [
        *([{"data": {"name": "known"}, "mark": {"type": "rect", "opacity": 0.16},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "color": hue}}] if known else []),
        {"data": {"name": "capacity"}, "mark": {"type": "rule", "strokeWidth": 2},
         "encoding": {"x": {**x, "field": "rate"}, "color": hue, "tooltip": [{"field": "words", "title": " "}]}},
        {"data": {"name": "limits"}, "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 3]},
         "encoding": {"y": {**y, "field": "ms"}}},
        *({"data": {"name": "tried"}, "transform": [{"filter": f"datum.keeps == '{keeps}'"}],
           "mark": {"type": "point", "size": 52, "strokeWidth": 1.6, "filled": keeps == "yes"},
           "encoding": {"x": {**x, "field": "rate"}, "y": {**y, "field": "ms"}, "color": colour, "tooltip": tips}}
          for keeps in ("no", "yes")),
    ]  # fmt: skip
    words = list(dict.fromkeys(one.words for one in objectives))
    band = "; line and band: the highest rate that keeps it, with its interval" if known else ""
    note = f"a dot for each cycle, filled where it keeps {' and '.join(words)} (dashed){band}"
    return assembled(
        {"width": 440, "height": 270, "layer": layers}, name="load", archive=archive,
        title=vega.title(said, subtitle=textwrap.wrap(note, _LINE)),
        data={"tried": rows, "capacity": bands, "known": known, "limits": [{"ms": one} for one in limits]},
        description="Response times over the rate of an open loop; a vertical line at the highest rate at which the "
        "objective holds.",
    )  # fmt: skip
