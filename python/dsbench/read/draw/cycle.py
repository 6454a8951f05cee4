"""Transaction rate by cycle, one curve per scale (the paper, section 4.1.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.draw.axes import Form, ScaleAxis, ValueAxis, title
from dsbench.read.draw.theme import HUES, ORDERED, SHAPES, Row, finish, legend_columns
from dsbench.read.draw.vega import Chart, Spec, channel
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.nodes import NodesResult
from dsbench.read.subjects.rate import RateResult

_MANY = 20     # ticks of the cycle axis, at most


def cycle(evaluation: Evaluation, run: RunRecord, form: Form | None = None) -> Spec | None:
    """T_i (eq. 7) over the number of the cycle: how the rate moves with the age of the database."""
    rows: list[Row] = [
        {"scale": scale, "cycle": number, "rate": float(rate)}
        for scale, rates in sorted(evaluation.of(RateResult).cycle_rates.items())
        for number, rate in zip(_numbers(evaluation, scale), rates.tolist(), strict=True)
        if math.isfinite(rate)
    ]
    if not rows:
        return None
    y = ValueAxis.of_rates("transaction rate [tps]", [row["rate"] for row in rows], form)
    for row in rows:
        row["shown"] = row["rate"] if row["rate"] >= y.low else math.nan
    return finish(
        _layers(rows, y), name="cycle", archive=evaluation.name, data={"cycles": rows},
        title=title(f"{subject(run)}: transaction rate by cycle", evaluation, run),
        description="Transaction rate of each cycle in order, one curve per scale.",
    )


def _numbers(evaluation: Evaluation, scale: int) -> list[int]:
    """As in the archive: cycles with another number of clients, or lost ones, have numbers of their own."""
    known = evaluation.of(RateResult).cycle_numbers.get(scale)
    return list(range(1, len(evaluation.of(RateResult).cycle_rates[scale]) + 1)) if known is None else known.tolist()


def _layers(rows: list[Row], y: ValueAxis) -> list[Chart]:
    first, last = min(row["cycle"] for row in rows), max(row["cycle"] for row in rows)
    scales = sorted({row["scale"] for row in rows})
    base = Chart("cycles")
    ticks = range(first, last + 1, math.ceil((last - first + 1) / _MANY))
    axis = dict(title="cycle", format="d", values=list(ticks))
    x = channel("cycle:Q", scale=dict(domain=[first - 0.5, last + 0.5], nice=False), axis=axis)
    legend = dict(title="scale", orient="right", columns=legend_columns(len(scales)), symbolLimit=0)
    colour = channel("scale:O", sort=None, scale=dict(domain=scales, scheme=ORDERED), legend=legend)
    tips = [
        channel("scale:Q", format="d"), channel("cycle:Q", format="d"),
        channel("rate:Q", title="rate [tps]", format=",.4~r"),
    ]
    return [
        base.mark("line").encode(x=x, y=y.y("shown"), color=colour),
        base.mark("point", filled=True, size=26, opacity=1).encode(
            x=channel("cycle:Q", axis=None), y="shown:Q", color=colour, tooltip=tips
        ),
    ]


_STEP_PIXELS = 4.0     # sideways distance of two nodes at the same scale
_SWAY_PIXELS = 14.0    # sideways distance of the first node and the last, at most


def node(evaluation: Evaluation, run: RunRecord, form: Form | None = None) -> Spec | None:
    """Median, mean and range of T_in (eq. 6) of each node; ``None`` for a local run."""
    if not run.spec.nodes and len(evaluation.of(NodesResult).node_rates) < 2:
        return None
    if not evaluation.of(RateResult).scales:
        return None
    x = ScaleAxis.of(evaluation)
    rows = _rows(evaluation, x)
    if not rows:
        return None
    rates = [row[k] for row in rows for k in ("min", "max")]
    y = ValueAxis.of_rates("transaction rate per node [tps]", rates, form)
    for row in rows:
        row["range_low"], row["range_high"] = y.shown(row["min"]), y.shown(row["max"])
        row["line"] = row["median"] if row["median"] >= y.low else math.nan
    return finish(
        _node_layers(x, y, list(evaluation.of(NodesResult).node_rates)), name="node", archive=evaluation.name,
            data={"nodes": rows},
        title=title(
            f"{subject(run)}: transaction rate per node", evaluation, run,
            ["lines: median; points: mean; bars: minimum to maximum of the cycles"],
        ),
        description="Transaction rate of each node over the scale. Points stand a little beside their scale "
        "(column position) so that bars do not hide one another.",
    )


def _rows(evaluation: Evaluation, x: ScaleAxis) -> list[Row]:
    names = list(evaluation.of(NodesResult).node_rates)
    step = min(_STEP_PIXELS, _SWAY_PIXELS / max(1, len(names) - 1)) / x.pixels_per_decade
    sizes = {r.scale: r.database_size_gb for r in evaluation.of(RateResult).scales}
    rows: list[Row] = []
    for number, name in enumerate(names):
        beside = 10 ** (step * (number - (len(names) - 1) / 2))
        for scale, all_rates in sorted(evaluation.of(NodesResult).node_rates[name].items()):
            rates = all_rates[np.isfinite(all_rates)]
            if rates.size:
                rows.append({
                    "node": name, "scale": scale, "position": scale * beside, "size_gb": sizes.get(scale, math.nan),
                    "median": float(np.median(rates)), "mean": float(np.mean(rates)),
                    "min": float(np.min(rates)), "max": float(np.max(rates)),
                })
    return rows


def _node_layers(x: ScaleAxis, y: ValueAxis, names: Sequence[str]) -> list[Chart]:
    base = Chart("nodes")
    legend = dict(title="node", orient="right", columns=legend_columns(len(names)), symbolLimit=0)
    many = [i % len(HUES) for i in range(len(names))]
    shift = [(i + i // len(HUES)) % len(SHAPES) for i in range(len(names))]   # a colour comes back with another shape
    colours = dict(domain=list(names), range=[HUES[i] for i in many])
    shapes = dict(domain=list(names), range=[SHAPES[i] for i in shift])
    place = x.x(field="position")
    tips = [
        "node:N", channel("scale:Q", format="d"),
        *(channel(f"{name}:Q", title=f"{name} [tps]", format=",.4~r") for name in ("median", "mean", "min", "max")),
    ]
    return [
        base.mark("rule", strokeWidth=1.2).encode(
            x=x.x("below", field="position"), y=y.y("range_low"), y2="range_high:Q",
            color=channel("node:N", scale=colours, legend=legend),
        ),
        base.mark("line").encode(x=place, y="line:Q", color="node:N"),
        base.mark("point", filled=True, size=38, opacity=1).encode(
            x=place, y="mean:Q", color="node:N", shape=channel("node:N", scale=shapes, legend=legend), tooltip=tips
        ),
        base.mark("point", opacity=0).encode(x=x.x("above")),
    ]
