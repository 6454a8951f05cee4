"""Times of the queries of a power test and of the streams beside each other, one line for each query."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import TYPE_CHECKING

from dsbench.archive import RunRecord
from dsbench.read.draw import vega
from dsbench.read.draw.theme import HUES, SHAPES, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Chart, Spec, channel, layer
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject

if TYPE_CHECKING:
    from dsbench.read.several.queries import Queries

_STREAMS = "streams"


def queries(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """A dot for each time of each query at the largest scale; ``None`` for a workload without such queries."""
    found = evaluation.queries
    if not found:
        return None
    scale = max(found)
    rows: list[Row] = []
    for query in found[scale].queries:
        alone = ((f"power {number}", time) for number, time in enumerate(query.power_s, 1))
        beside = ((_STREAMS, time) for time in query.streams_s)
        rows += ({"query": query.kind, "of": of, "ms": time * 1e3} for of, time in (*alone, *beside))
    low, high = log_domain((row["ms"] for row in rows), margin=1.15)
    names = list(dict.fromkeys(row["of"] for row in rows))
    x = channel(
        "ms:Q", scale=dict(type="log", domain=[low, high], nice=False),
        axis=dict(values=log_ticks(low, high), labelExpr=number_labels(), title="time [ms], log scale"),
    )  # fmt: skip
    y = channel("query:N", sort=[query.kind for query in found[scale].queries], title=None, axis=dict(grid=True))
    colour = channel("of:N", sort=names, scale=dict(domain=names, range=list(HUES[: len(names)])), title=None)
    shape = channel("of:N", sort=names, scale=dict(domain=names, range=list(SHAPES[: len(names)])))
    tips = ["query:N", "of:N", channel("ms:Q", title="time [ms]", format=",.4~r")]
    dots = Chart("queries").mark("point", filled=True, size=46, opacity=1)
    body = dots.encode(x=x, y=y, color=colour, shape=shape, tooltip=tips)
    one = found[scale]
    streams = f"{one.streams} streams" if one.streams else "power test"
    said = f"scale factor {one.factor:g}, {streams}, {run.in_force.replace('-', ' ')}"
    notes = f"{said}; no result in the sense of the TPC"
    heading = vega.title(f"{subject(run)}: times of the queries", subtitle=[notes])
    return assembled(
        {"width": 440, "height": {"step": 17}, **body.spec()}, name="queries", archive=evaluation.name,
        title=heading, data={"queries": rows},
        description="A dot for each time of each query and refresh: of both power tests, and of all streams.",
    )  # fmt: skip


def side_by_side(found: Queries, labels: Sequence[str]) -> Spec:
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
    notes = ["geometric mean of all tests; bars: least to greatest time; no result in the sense of the TPC"]
    return assembled(
        {"width": 440, "height": {"step": max(9, 24 // len(names)), "for": "offset"}, **body},
        name="compared-queries", archive="the comparison", data={"queries": rows},
        title=vega.title(f"Times of the queries, scale factor {found.factor:g}", subtitle=notes),
        description="A line for each query and refresh, with a dot for each archive.",
    )  # fmt: skip
