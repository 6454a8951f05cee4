"""Inverse cumulative frequency of the residence times by kind of transaction, as in the paper, section 4.1.4."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.report.diagrams.axes import ValueAxis
from dsbench.read.report.diagrams.freq import curve, drawable
from dsbench.read.report.diagrams.heading import title
from dsbench.read.report.diagrams.theme import HUES, Row, Spec, finish, log_domain, log_ticks, number_labels
from dsbench.read.stats.values import Frequency


def kinds(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """Share of transactions that take longer than x, one curve per kind, at the largest scale; two log axes."""
    scale = max((x for x, found in evaluation.kind_frequency.items() if found), default=None)
    if scale is None:
        return None
    waits = evaluation.kind_response.get(scale, {})
    rows = _rows("residence", evaluation.kind_frequency[scale]) + _rows("response", waits)
    if not rows:
        return None
    rarest = min(row["longer"] for row in rows)
    y = ValueAxis("share of transactions that take longer", min(10 ** math.floor(math.log10(rarest)), 0.1), 1.0, True)
    notes = [f"scale {scale}"]
    if waits:
        notes[0] += "; solid: residence time; dashed: response time, from the intended start"
    return finish(
        _layers(rows, y, dashed=bool(waits)), name="kinds", archive=evaluation.name, data={"kinds": rows},
        title=title(f"{subject(run)}: cumulative frequency of residence times by kind", evaluation, run, notes),
        description="Share of the transactions of each kind whose residence time is longer than x. A curve ends at its "
        "slowest transaction, drawn at 1 / number of transactions.",
    )


def _rows(measure: str, curves: Mapping[str, Frequency]) -> list[Row]:
    return [
        {"kind": kind, "measure": measure, "ms": float(time_ns) / 1e6, "longer": float(share)}
        for kind, values in curves.items()
        if drawable(values)
        for time_ns, share in zip(*curve(values), strict=True)
    ]


def _layers(rows: Sequence[Row], y: ValueAxis, *, dashed: bool) -> list[alt.Chart]:
    names = list(dict.fromkeys(row["kind"] for row in rows))
    measured = "residence or response" if dashed else "residence"
    low, high = log_domain((row["ms"] for row in rows), margin=1.15)
    x = alt.X(
        "ms:Q", scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(values=log_ticks(low, high), labelExpr=number_labels(), title=f"{measured} time [ms], log scale"),
    )
    colours = alt.Scale(domain=names, range=[HUES[i % len(HUES)] for i in range(len(names))])
    line = {
        "x": x, "y": y.y("longer"), "order": alt.Order("ms:Q"),
        "color": alt.Color("kind:N", sort=names, scale=colours, legend=alt.Legend(title="kind", orient="right")),
        "tooltip": [
            "kind:N", "measure:N", alt.Tooltip("ms:Q", title="time [ms]", format=",.4~r"),
            alt.Tooltip("longer:Q", title="share that takes longer", format=".3~g"),
        ],
    }
    if dashed:
        measures = alt.Scale(domain=["residence", "response"], range=[[1, 0], [5, 3]])
        line["strokeDash"] = alt.StrokeDash("measure:N", scale=measures, legend=None)
    return [alt.Chart(alt.NamedData("kinds")).mark_line(strokeWidth=1.6, interpolate="step-after").encode(**line)]
