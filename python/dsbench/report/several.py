"""A comparison as text, as JSON and as files: the table, the diagram, one page with both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from math import isfinite
from typing import Any

from dsbench.analysis.values import Interval
from dsbench.evaluation.naming import counted
from dsbench.evaluation.side_by_side import Comparison
from dsbench.report import render
from dsbench.report.diagrams.compared import compared as diagram
from dsbench.report.diagrams.theme import Spec
from dsbench.report.document import POLICY
from dsbench.report.page.markup import Html, data, join, section, table, tag
from dsbench.report.page.vega import vega

STEM = "comparison"
_OVERALL = "the mean of the factors along lg scale, over the scales that an archive has in common with the first"
_TALL = 40
"""Letters of a value that the text shows."""


def text(comparison: Comparison) -> str:
    """The tables for a terminal: a letter stands for each archive."""
    letters = [chr(65 + i % 26) for i in range(len(comparison.labels))]
    lines = [f"{letter}  {label}" for letter, label in zip(letters, comparison.labels, strict=True)]
    lines += ["", "median rate over the cycles, tps"]
    lines += _aligned(["scale", *letters], _rates(comparison))
    lines += ["", f"rate relative to {letters[0]}, 95 % interval over the cycles"]
    lines += _aligned(["scale", *letters], _factors(comparison))
    lines += [f"mean: {_OVERALL}"]
    lines += _what_differs(comparison, letters)
    lines += ["", *(f"doubt: {line}" for line in comparison.warnings())]
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _what_differs(comparison: Comparison, letters: Sequence[str]) -> list[str]:
    """Runs of one product differ in few settings, which are all told; of several, those that they share."""
    if not comparison.differences:
        return []
    servers = {label.partition(" ")[0] for label in comparison.labels}
    told = comparison.differences if len(servers) == 1 else comparison.shared
    lines = ["", *_aligned(["differs", *letters], _difference_rows(told, _TALL))]
    more = len(comparison.differences) - len(told)
    if more:
        lines.append(f"and {more} settings that not all of them have: see --json, or the page of --out")
    return lines


def _rates(comparison: Comparison) -> Iterator[list[str]]:
    for scale in comparison.scales:
        yield [str(scale), *(_rate(one.medians.get(scale)) for one in comparison.compared)]
    yield ["DSI", *(_index(evaluation.index.dsi) for evaluation in comparison.evaluations)]
    yield ["of scales", *(_span(one.medians) for one in comparison.compared)]


def _factors(comparison: Comparison) -> Iterator[list[str]]:
    for scale in comparison.scales:
        yield [str(scale), *(_factor(one.relative.get(scale)) for one in comparison.compared)]
    yield ["mean", *(_factor(one.overall) for one in comparison.compared)]


def _index(dsi: Interval | None) -> str:
    return "–" if dsi is None else f"{dsi.value:.2f}"


def _span(medians: Mapping[int, float]) -> str:
    return f"{min(medians)}–{max(medians)}" if medians else "–"


def _rate(rate: float | None) -> str:
    if rate is None:
        return "–"
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _factor(factor: Interval | None) -> str:
    if factor is None or not isfinite(factor.value):
        return "–"
    if factor.value == factor.low == factor.high == 1:
        return "1"
    within = f" [{factor.low:.2f}, {factor.high:.2f}]" if isfinite(factor.low) else ""
    return f"{factor.value:.2f}{within}"


def _difference_rows(differences: Mapping[str, Sequence[str]], longest: int) -> Iterator[list[str]]:
    for name, values in differences.items():
        yield [name, *(value if len(value) <= longest else value[: longest - 1] + "…" for value in values)]


def _aligned(heads: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    cells = [list(heads), *rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    return ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in cells]  # fmt: skip


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values; ``null`` where there is nothing."""
    together = zip(comparison.labels, comparison.evaluations, comparison.compared, strict=True)
    return {
        "reference": comparison.labels[0],
        "archives": [
            {
                "label": label,
                "name": evaluation.name,
                "dsi": _interval(evaluation.index.dsi),
                "dsi_scales": [evaluation.index.lowest_scale, evaluation.index.highest_scale],
                "relative_mean": _interval(one.overall),
                "scales": {
                    str(scale): {"rate_median_tps": rate, "relative": _interval(one.relative.get(scale))}
                    for scale, rate in one.medians.items()
                },
            }
            for label, evaluation, one in together
        ],
        "differences": {name: list(values) for name, values in comparison.differences.items()},
        "doubts": list(comparison.warnings()),
    }


def _interval(interval: Interval | None) -> dict[str, float | None] | None:
    if interval is None or not isfinite(interval.value):
        return None
    bounds = {name: getattr(interval, name) for name in ("value", "low", "high", "level")}
    return {name: value if isfinite(value) else None for name, value in bounds.items()}


def spec(comparison: Comparison) -> Spec | None:
    """The diagram: rates over the scale, a line for each archive."""
    rates = [
        {x: (rate, float(e.cycle_rates[x].min()), float(e.cycle_rates[x].max())) for x, rate in one.medians.items()}
        for e, one in zip(comparison.evaluations, comparison.compared, strict=True)
    ]
    headline = f"Transaction rates of {counted(len(comparison.labels), 'archive')}"
    note = "median over the cycles; bars: minimum to maximum; marks of one scale stand side by side"
    return diagram(comparison.labels, rates, headline, [note])


def files(comparison: Comparison) -> dict[str, bytes]:
    """File name to content: comparison.txt, .json and .html, and the diagram as .vl.json, .svg and .pdf."""
    drawn = spec(comparison)
    found = {
        f"{STEM}.txt": text(comparison).encode(),
        f"{STEM}.json": (json.dumps(document(comparison), indent=2, ensure_ascii=False) + "\n").encode(),
        f"{STEM}.html": page(comparison, drawn).encode(),
    }
    return found | (render.drawn_as(STEM, drawn) if drawn is not None else {})


def page(comparison: Comparison, drawn: Spec | None) -> str:
    """One page that loads nothing from anywhere."""
    title = f"{len(comparison.labels)} archives side by side"
    heads = ["scale", *comparison.labels]
    doubts = [tag("li", line) for line in comparison.warnings()]
    relative = table(f"Relative to {comparison.labels[0]}, 95 % interval", heads, _factors(comparison))
    note = tag("p", f"The intervals speak of repeating the cycles. mean: {_OVERALL}.", cls="note")
    names = zip(comparison.labels, comparison.evaluations, strict=True)
    body = tag(
        "main",
        tag("h1", title),
        section("Doubts", tag("ul", *doubts), key="doubts") if doubts else "",
        section("Diagram", tag("div", cls="chart", data_diagram=STEM), key="diagram") if drawn is not None else "",
        section("Rates", table("Median rate over the cycles, tps", heads, _rates(comparison)), key="rates"),
        section("Relative rates", relative, note, key="relative"),
        section("What differs", _differences(comparison), key="differences"),
        section("Archives", tag("ol", *(tag("li", f"{label}: {one.name}") for label, one in names)), key="archives"),
    )
    style = resources.files("dsbench.report.page").joinpath("page.css").read_text("utf-8")
    head = join([
        Html('<meta charset="utf-8">'), Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title), tag("style", Html(style)),
    ])  # fmt: skip
    scripts = _scripts(drawn) if drawn is not None else ""
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}\n{scripts}</body></html>\n'


def _differences(comparison: Comparison) -> Html:
    if not comparison.differences:
        return tag("p", "Nothing that is known of the runs differs.")
    rows = _difference_rows(comparison.differences, 200)
    return table("Settings that differ", ["setting", *comparison.labels], rows, numbers=False)


def _scripts(drawn: Spec) -> Html:
    draw = resources.files("dsbench.report.page").joinpath("page.js").read_text("utf-8")
    return join([
        tag("script", data({STEM: drawn}), type="application/json", id="specs"), "\n",
        tag("script", data({}), type="application/json", id="courses"), "\n",
        tag("script", vega(drawn)), "\n",
        tag("script", Html(draw)), "\n",
    ])  # fmt: skip
