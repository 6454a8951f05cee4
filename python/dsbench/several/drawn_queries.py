"""Times of the queries of several archives beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from dsbench.read.draw import vega
from dsbench.read.draw.theme import HUES, SHAPES, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Chart, Spec, channel, layer
from dsbench.several.queries import ComparedQueries


def side_by_side(found: ComparedQueries, labels: Sequence[str]) -> Spec:
    """A line for each query with a dot for each side: the geometric mean, and a bar from the least time to the most."""
    rows: list[Row] = [
        {"query": kind, "archive": label, "ms": 1e3 * exp(sum(map(log, times)) / len(times)),
         "low": 1e3 * min(times), "high": 1e3 * max(times)}
        for label, of_side in zip(labels, found.times, strict=True) for kind, times in of_side.items()
    ]  # fmt: skip
    low, high = log_domain((row[end] for row in rows for end in ("low", "high")), margin=1.15)
    names = list(dict.fromkeys(row["archive"] for row in rows))
    scale = dict(type="log", domain=[low, high], nice=False)
    axis = dict(values=log_ticks(low, high), labelExpr=number_labels(), title="time [ms], log scale")
    y = channel("query:N", sort=found.kinds, title=None, axis=dict(grid=True))
    beside = channel("archive:N", sort=names)
    hues = [HUES[at % len(HUES)] for at in range(len(names))]
    shapes = [SHAPES[at % len(SHAPES)] for at in range(len(names))]
    legend = dict(orient="bottom", columns=1, labelLimit=420)
    colour = channel("archive:N", sort=names, scale=dict(domain=names, range=hues), title=None, legend=legend)
    shape = channel("archive:N", sort=names, scale=dict(domain=names, range=shapes), legend=legend, title=None)
    base = Chart("queries")
    tips = ["query:N", "archive:N", channel("ms:Q", title="time [ms]", format=",.4~r")]
    body = layer(
        base.mark("rule", strokeWidth=1.1, opacity=0.6).encode(
            x=channel("low:Q", scale=scale, axis=axis), x2="high:Q", y=y, yOffset=beside, color=colour),
        base.mark("point", filled=True, size=40, opacity=1).encode(
            x=channel("ms:Q", scale=scale, axis=axis), y=y, yOffset=beside, color=colour, shape=shape, tooltip=tips),
    )  # fmt: skip
    notes = ["geometric mean of all tests; bars: minimum to maximum time; not TPC results"]
    return assembled(
        {"width": 440, "height": {"step": max(9, 24 // len(names)), "for": "offset"}, **body},
        name="compared-queries", archive="the comparison", data={"queries": rows},
        title=vega.title(f"Times of the queries, scale factor {found.factor:g}", subtitle=notes),
        description="A line for each query and refresh, with a dot for each archive.",
    )  # fmt: skip
