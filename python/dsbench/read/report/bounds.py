"""Upper bounds as a table for a terminal, and as a diagram."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

import altair as alt

from dsbench.read.bounds import SAFE, Bound, Bounds, Measured
from dsbench.read.draw import render
from dsbench.read.draw.axes import ValueAxis
from dsbench.read.draw.connections import across
from dsbench.read.draw.theme import HUES, SHAPES, Row, Spec, finish
from dsbench.read.report.page.markup import Html, section, table, tag

NOTE: Final = (
    "Minimum time: what the parts of one transaction take at their peak rates, one after another; the upper bound is "
    "its inverse. Logging: switches of durability that are off, else on."
)
BEYOND: Final = (
    "faster than its bound: each part pays for its own commit and round trip, which the whole pays for once; "
    "or the parts were disturbed"
)
_LINE: Final = 80
"""Characters of the subtitle's font that fit the width of the diagram."""
NONE: Final = (
    "no run with all its parts: name those of one server, machine, scale and settings, such as tp1, t1 and t2, whose "
    "parts have one state of logging and t1 has no conflict"
)


HEADS: Final = ("system", "workload", "minimum time", "bound tps", "observed tps", "% of bound", "logging", "of parts")


def section_of_bounds(bounds: Bounds) -> Html | None:
    """The part of a page about them; ``None`` where no run has all its parts."""
    if not bounds.bounds:
        return None
    rows = [row(one) for one in bounds.bounds]
    beyond = [tag("p", f"{one.whole.system}, {one.whole.label}: {BEYOND}") for one in bounds.bounds if one.share > 1]
    body = table("Upper bounds", HEADS, rows, numbers=False)
    return section("Upper bounds", body, tag("p", NOTE, cls="note"), *beyond, key="bounds")


def text(bounds: Bounds) -> str:
    """The table of bounds, and below it every run with its peak."""
    lines = []
    if bounds.bounds:
        lines += [*_aligned([HEADS, *map(row, bounds.bounds)]), "", NOTE, ""]
        lines += [f"doubt: {one.whole.system}, {one.whole.label}: {BEYOND}" for one in bounds.bounds if one.share > 1]
    else:
        lines += [NONE, ""]
    heads = ["system", "workload", "scale", "peak tps", "threads", "logging"]
    return "\n".join([*lines, *_aligned([heads, *map(_peak, bounds.measured)])]) + "\n"


def row(one: Bound) -> list[str]:
    """What the table tells of one, under ``HEADS``."""
    terms = " + ".join(f"{times}/{_short(part.peak[1])}" for part, times in one.parts)
    time = f"{terms} = {one.time_s * 1e3:.3g} ms"
    return [one.whole.system, one.whole.label, time, _short(one.tps), _short(one.whole.peak[1]),
            f"{one.share:.0%}", one.whole.logging, one.parts[0][0].logging]  # fmt: skip


def _peak(one: Measured) -> list[str]:
    return [one.system, one.label, str(one.scale), _short(one.peak[1]), str(one.peak[0]), one.logging]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    left = {0, 1, len(widths) - 1, len(widths) - 2}
    return ["  ".join(c.ljust(w) if at in left else c.rjust(w)
                      for at, (c, w) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]  # fmt: skip


def files(bounds: Bounds) -> dict[str, bytes]:
    """File name to content: bound.txt, and a diagram of each system as .vl.json, .svg and .pdf."""
    found = {"bound.txt": text(bounds).encode()}
    systems = list(dict.fromkeys(one.system for one in bounds.measured))
    for number, system in enumerate(systems, start=1):
        stem = "bound" if len(systems) == 1 else f"bound-{number}"
        found |= render.drawn_as(stem, spec(bounds, system))
    return found


def _state(one: Measured) -> str:
    return "logging on" if one.logging == SAFE else one.logging


def _told(bounds: Sequence[Bound], scale: int) -> list[str]:
    """Below the title: what the dashed lines are, and what was observed of them."""
    states = " or ".join(dict.fromkeys(_state(one.parts[0][0]) for one in bounds))
    lines = [f"scale {scale}; dashed: upper bound out of the peaks of the parts{f' [{states}]' if states else ''}"]
    lines += [f"{one.whole.label} [{_state(one.whole)}]: {one.share:.0%} of the bound {_short(one.tps)}"
              for one in bounds]  # fmt: skip
    return [part for line in lines for part in textwrap.wrap(line, _LINE)]


def spec(bounds: Bounds, system: str) -> Spec:
    """Rates of all runs of ``system`` over their clients, with the bounds as lines across."""
    runs = [one for one in bounds.measured if one.system == system]
    names = {one: f"{one.label} [{_state(one)}]" for one in runs}
    rows: list[Row] = [
        {"run": names[one], "threads": clients, "tps": rate} for one in runs for clients, rate in one.rates
    ]
    mine = [one for one in bounds.bounds if one.whole.system == system]
    # Labels of lines that lie close together stand at different ends.
    across_rows: list[Row] = [{"bound": tps, "label": f"bound {_short(tps)}", "left": at % 2 == 1}
                              for at, tps in enumerate(sorted({one.tps for one in mine}))]  # fmt: skip
    y = ValueAxis.logarithmic("transactions per second", [row["tps"] for row in rows] + [one.tps for one in mine])
    order = list(dict.fromkeys(row["run"] for row in rows))
    colours = alt.Scale(domain=order, range=[HUES[i % len(HUES)] for i in range(len(order))])
    shapes = alt.Scale(domain=order, range=[SHAPES[i % len(SHAPES)] for i in range(len(order))])
    legend = alt.Legend(title=None, orient="bottom", columns=1, labelLimit=440)
    colour = alt.Color("run:N", sort=None, scale=colours, legend=legend)
    shape = alt.Shape("run:N", sort=None, scale=shapes, legend=legend)
    base, bound = alt.Chart(alt.NamedData("rates")), alt.Chart(alt.NamedData("bounds"))
    hidden = alt.X("threads:Q", axis=None)
    tips = ["run:N", "threads:Q", alt.Tooltip("tps:Q", format=",.4~r")]
    layers = [
        base.mark_line().encode(x=across(rows, "threads"), y=y.y("tps"), color=colour),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=hidden, y="tps:Q", color=colour, shape=shape,
                                                                tooltip=tips),
        bound.mark_rule(strokeDash=[5, 3], color="#333333").encode(y="bound:Q"),
        bound.transform_filter("!datum.left").mark_text(align="right", dy=-6, x="width", dx=-4).encode(
            y="bound:Q", text="label:N"),
        bound.transform_filter("datum.left").mark_text(align="left", dy=-6, x=0, dx=4).encode(
            y="bound:Q", text="label:N"),
    ]  # fmt: skip
    return finish(
        layers, name="bound", archive=system, data={"rates": rows, "bounds": across_rows},
        title=alt.TitleParams(text=f"{system}: rates and upper bounds",
                              subtitle=_told(mine, runs[0].scale)),
        description="Rates of a workload and of its parts over the number of clients, with the upper bound of the "
        "former that the peaks of the latter allow.",
    )  # fmt: skip
