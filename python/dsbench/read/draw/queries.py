"""Times of the queries of a power test and of the streams beside each other, one line for each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsbench.archive import RunRecord
from dsbench.read.draw import vega
from dsbench.read.draw.theme import HUES, SHAPES, Row, assembled, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Chart, Spec, channel
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.queries import QueriesResult

if TYPE_CHECKING:
    pass

_STREAMS = "streams"


def queries(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """A dot for each time of each query at the largest scale; ``None`` for a workload without such queries."""
    found = evaluation.of(QueriesResult).queries
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
