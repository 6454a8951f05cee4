"""Parts of the page that show what was measured."""

from __future__ import annotations

import math
from datetime import datetime

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.draw.heading import conditions
from dsbench.read.evaluation import Evaluation
from dsbench.read.glance import Best, best, ceiling_tps
from dsbench.read.naming import index_scales, server, subject
from dsbench.read.report.page.glance import answers, warning
from dsbench.read.report.page.markup import Html, join, number, section, table, tag, terms
from dsbench.read.series import phrases
from dsbench.read.stats.precision import FEWEST
from dsbench.read.stats.values import Index, result_columns
from dsbench.workloads import Headline


def headline(evaluation: Evaluation, run: RunRecord, curve: Html | None = None) -> Html:
    """The DSI and the rating where T(X) = X, or NOPM; beside them ``curve``; and what was run where and when."""
    figures = [] if evaluation.staged or not evaluation.cycle_rates else _ratings(evaluation.index)
    figures = [_nopm(evaluation, run.entry.headline)] if evaluation.nopm else figures
    if found := best(evaluation):
        shown = f" and {phrases(evaluation.series)[found.part.key]}" if evaluation.series else ""
        note = f"median of the cycles, at scale {found.row.scale}{shown}"
        rate = _figure("highest rate", f"{number(found.row.rate_median_tps)} tps", note)
        figures = [*figures, rate] if evaluation.nopm else [rate, *figures]
        if counted := found.part.headline.get(found.row.scale):
            shown = number(counted.median)
            figures = [_figure(counted.label, shown, f"at scale {found.row.scale}; {counted.about}"), *figures]
    facts = terms([
        ("server", server(run)), ("host", _host(run)), ("load", conditions(evaluation, run)),
        ("placement", evaluation.placement),
        ("client's ceiling", _ceiling(found, run)),
        ("status", _status(run)), ("time", _times(run)), ("archive", evaluation.name),
        ("made with", f"dsbench {run.dsbench}"),
    ])  # fmt: skip
    told = tag("div", warning(evaluation, run), tag("div", *figures, cls="figures"), answers(evaluation, run))
    return tag("header", tag("h1", subject(run)), tag("div", told, curve or "", cls="glance"), facts)


def _figure(name: str, value: str, note: str) -> Html:
    return tag("p", tag("span", name, cls="name"), tag("strong", value), tag("span", note))


def _ratings(index: Index) -> list[Html]:
    rating = index.crossing_note or "where the rate equals the scale: the rating of TPC-B, clause 4.1"
    return [
        _figure("DSI", _index_value(index), _index_note(index)),
        _figure("T(X) = X", _crossing_value(index), rating),
    ]


def _nopm(evaluation: Evaluation, headline: Headline) -> Html:
    """The highest NOPM, over all scales that are not void and all numbers of threads."""
    parts = list(evaluation.series.values()) or [evaluation]
    found = [
        (row.median, x, part.connections, row)
        for part in parts for x, row in part.nopm.items() if x not in part.void_scales
    ]  # fmt: skip
    if not found:
        return _figure(headline.label, "none", "every scale is void")
    _, scale, connections, best = max(found, key=lambda entry: np.nan_to_num(entry[0], nan=-1.0))
    note = f"median of the cycles, {scale} warehouse{'s' if scale > 1 else ''}, {connections} connections; "
    return _figure(best.label, number(best.median), note + headline.about)


def _index_value(index: Index) -> str:
    if index.dsi is None:
        return "none"
    within = f" ({index.dsi.low:.2f} to {index.dsi.high:.2f})" if math.isfinite(index.dsi.low) else ""
    return f"{index.dsi.value:.2f}{within}"


def _index_note(index: Index) -> str:
    if index.dsi is None:
        return "it needs at least two scales with a valid check, each with a rate above 0"
    interval = f"no interval below {FEWEST} cycles"
    if math.isfinite(index.dsi.low):
        interval = f"{index.dsi.level * 100:g} % interval over the cycles"
    fit = (
        "comparable with other runs of the profile dsi"
        if index.comparable
        else "not comparable with others: not the ladder and conduct of the profile dsi"
    )
    return f"{index_scales(index)}, {interval}; {fit}"


def _crossing_value(index: Index) -> str:
    return "none" if index.crossing is None else f"{number(index.crossing)} tps"


def _host(run: RunRecord) -> str:
    return f"{run.host}, {run.cpus} CPUs" if run.cpus else run.host


def _status(run: RunRecord) -> str:
    return ": ".join(part for part in (run.status, run.reason) if part)


def _ceiling(found: Best | None, run: RunRecord) -> str:
    rate_tps = ceiling_tps(found, run) if found else math.nan
    return f"{number(rate_tps)} tps, what the client made with a database that costs nothing" if rate_tps > 0 else ""


def _times(run: RunRecord) -> str:
    started, ended = (_moment(text) for text in (run.started, run.ended))
    if started is None:
        return ""
    text = f"{started:%Y-%m-%d %H:%M:%S %Z}".strip()
    if ended is None:
        return f"{text}, not ended"
    took_s = int((ended - started).total_seconds())
    return f"{text}, took {took_s // 3600}:{took_s // 60 % 60:02}:{took_s % 60:02}"


def _moment(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        return None


def columns(evaluation: Evaluation) -> Html:
    """The columns of the paper, table 1."""
    known = result_columns(evaluation.levels).values()
    names = [f"{one.label} [{one.unit}]" if one.unit else one.label for one in known]
    heads = [join([tag("small", i), " ", name]) for i, name in enumerate(names, start=1)]
    rows = [
        [_scale(evaluation, r.scale), *(number(cell, 6) for cell in list(r.cells().values())[1:])]
        for r in evaluation.scales
    ]
    note = tag("p", "The same figures in full stand in results.txt and results.csv.", cls="note")
    body = table("Results by scale", heads, rows, marked=_void_rows(evaluation))
    return section("Results", body, note, key="results")


def _void_rows(evaluation: Evaluation) -> list[int]:
    return [i for i, r in enumerate(evaluation.scales) if r.scale in evaluation.void_scales]


def _scale(evaluation: Evaluation, scale: int) -> object:
    return join([str(scale), " ", tag("b", "VOID")]) if scale in evaluation.void_scales else str(scale)
