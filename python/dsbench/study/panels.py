"""Diagrams of one kind as plots of one: their places, and what they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dsbench.read.draw import vega
from dsbench.read.draw.theme import Row, assembled, log_ticks
from dsbench.read.draw.vega import Spec

_PANEL = (250, 230)
"""Pixels of a plot beside others."""


_COLUMNS = 2


def panels(heading: str, plots: Sequence[tuple[str, Spec]], *, alike: bool = True) -> Spec:
    """Diagrams of one kind as plots of one, each below its words; ``alike``: with the same axes and colours for all."""
    datasets: dict[str, Any] = {}
    drawn = []
    fields = [row for _, spec in plots for row in spec["datasets"].get("fields", ())]
    ticks = choose_ticks(fields, log=share_inks(fields))
    for number, (words, spec) in enumerate(plots):
        renamed = {name: f"{name}-{number + 1}" for name in spec["datasets"]}
        datasets |= {renamed[name]: rows for name, rows in spec["datasets"].items()}
        body = _renamed({key: spec[key] for key in ("layer", "resolve")}, renamed)
        height = min(spec["height"], _PANEL[1])
        drawn.append({**body, "title": {"text": words, "fontSize": 11.5, "anchor": "start", "offset": 4},
                      "width": _PANEL[0], "height": height})  # fmt: skip
    if alike:
        for axis in ("x", "y"):
            _share_domain(drawn, axis)
    for layer in (layer for plot in drawn for layer in plot["layer"] if fields):
        if "color" in layer["encoding"]:
            legend = {name: one for name, one in layer["encoding"]["color"]["legend"].items() if name != "values"}
            layer["encoding"]["color"]["legend"] = {**legend, **ticks}
    rows = [{"hconcat": drawn[at : at + _COLUMNS], "spacing": 14} for at in range(0, len(drawn), _COLUMNS)]
    body = {"vconcat": rows, "spacing": 14}
    if alike:
        body["resolve"] = {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "shared")}
        body["vconcat"] = [{**row, "resolve": body["resolve"]} for row in rows]
    first = plots[0][1]
    return assembled(
        body, name=f"{first['usermeta']['diagram']}-panels", archive="the study", data=datasets,
        title=vega.title(heading, subtitle=first["title"].get("subtitle", ())),
        description=f"{first['description']} A plot for each: {', '.join(words for words, _ in plots)}.",
    )  # fmt: skip


def _renamed(part: Any, names: Mapping[str, str]) -> Any:
    """``part`` of a specification with other names of its data sets."""
    if isinstance(part, dict):
        return {key: {"name": names[value["name"]]} if key == "data" and "name" in value else _renamed(value, names)
                for key, value in part.items()}  # fmt: skip
    return [_renamed(one, names) for one in part] if isinstance(part, list) else part


def _share_domain(plots: Sequence[Spec], axis: str) -> None:
    """Gives the axes ``x`` or ``y`` of all ``plots`` the same domain and ticks, where each has numbers on it."""
    layers = [layer.get("encoding", {}) for plot in plots for layer in plot["layer"]]
    found = [one[axis] for one in layers if one.get(axis, {}).get("type") == "quantitative"]
    if own := [one for one in found if (one.get("scale") or {}).get("domain")]:
        domains = [one["scale"]["domain"] for one in own]
        domain = [min(low for low, _ in domains), max(high for _, high in domains)]
        log = any(one["scale"]["type"] == "log" for one in own) and domain[0] > 0
        ticks = _widest_ticks([one for one in own if (one.get("axis") or {}).get("values")])
        for one in own:
            one["scale"].update(domain=domain, type="log" if log else "linear")
            if (one.get("axis") or {}).get("values"):
                one["axis"]["values"] = ticks


def _widest_ticks(axes: Sequence[Spec]) -> list[float]:
    """The ticks of the axis that reaches farthest, and those of the others that lie outside of it."""
    if not axes:
        return []
    widest = max(axes, key=lambda one: _reach(*one["scale"]["domain"]))
    low, high = widest["scale"]["domain"]
    others = {tick for one in axes for tick in one["axis"]["values"] if not low <= tick <= high}
    return sorted({*widest["axis"]["values"], *others})


def _reach(low: float, high: float) -> float:
    return high / low if low > 0 else math.inf


def choose_ticks(rows: Sequence[Row], *, log: bool) -> dict[str, Any]:
    """Of a legend of colours: a logarithmic one has too few by itself."""
    values = [row["value"] for row in rows]
    return {"values": log_ticks(min(values), max(values))} if log else {}


def share_inks(rows: Sequence[Row], *, log: bool = True) -> bool:
    """Says of each field whether it is dark among all of ``rows``; and whether their colours are on a ``log`` scale."""
    values = [row["value"] for row in rows]
    log = log and bool(values) and max(values) > 10 * min(values) > 0
    for row in rows:
        middle = math.sqrt(min(values) * max(values)) if log else (min(values) + max(values)) / 2
        row["dark"] = row["value"] < middle
    return log
