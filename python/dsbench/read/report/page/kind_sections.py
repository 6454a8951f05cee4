"""Parts of the page by kind of transaction, by number of connections, and what the database says of itself."""

from __future__ import annotations

import math

from dsbench.read.evaluation import Evaluation
from dsbench.read.report.kind_text import (
    TIME_HEADS,
    class_cells,
    count_cells,
    count_heads,
    headline_text,
    nopm_text,
    response_cells,
    times,
    told,
    window_cells,
)
from dsbench.read.report.page.markup import Html, number, section, table, tag
from dsbench.read.report.statement_table import HEADS, statement_cells
from dsbench.read.series import labels, phrases

_MOST = 40
"""Tables of which the database's statistics are shown."""
_WHOLE = "database"


def by_connections(evaluation: Evaluation) -> Html | None:
    """One row for each scale and series; ``None`` where there is one series."""
    if not evaluation.series:
        return None
    rows: list[list[object]] = []
    said = labels(evaluation.series)
    for key, part in evaluation.series.items():
        for r in part.scales:
            kinds = part.kinds.get(r.scale, ())
            found = part.nopm.get(r.scale)
            mean_ns, most_ns = (kinds[-1].response_mean_ns, kinds[-1].response_ns[1.0]) if kinds else (math.nan,) * 2
            rows.append([
                str(r.scale), *said[key].values(), str(part.connections), number(r.rate_median_tps),
                number(found.median) if found else "–", number(mean_ns / 1e6, 3), number(most_ns / 1e6, 3),
                number(r.failed),
            ])  # fmt: skip
    heads = ["scale", *next(iter(said.values())), "connections", "rate, median [tps]", "NOPM", "response, mean [ms]",
             "response, maximum [ms]", "failed attempts"]
    shown = phrases(evaluation.series)[evaluation.key]
    note = tag("p", f"All other tables and diagrams show the {shown}.", cls="note")
    body = table("Rate and response time by connections", heads, sorted(rows, key=lambda row: int(str(row[0]))))
    return section("Connections", body, note, key="connections")


def kinds(evaluation: Evaluation) -> Html | None:
    """Counts, times and windows of each scale; ``None`` where there is one kind."""
    parts = [
        part
        for scale, rows in sorted(evaluation.kinds.items())
        if told(rows)
        for part in _of_scale(evaluation, scale)
    ]
    return section("Kinds of transactions", *parts, key="kinds") if parts else None


def _of_scale(evaluation: Evaluation, scale: int) -> list[Html]:
    rows = evaluation.kinds[scale]
    title = f"scale {scale}, {evaluation.connections} connections"
    parts = [tag("h3", title)]
    if scale in evaluation.nopm:
        parts.append(tag("p", nopm_text(evaluation.nopm[scale], scale)))
    if scale in evaluation.headline:
        parts.append(tag("p", headline_text(evaluation.headline[scale])))
    missed = [i for i, row in enumerate(rows) if row.share_missed]
    heads_of_counts = count_heads(rows)
    counts = [count_cells(row)[: len(heads_of_counts)] for row in rows]
    parts.append(table(f"Done and failed, {title}", heads_of_counts, counts, marked=missed))
    if scale in evaluation.kind_errors:
        heads_of, failed = class_cells(evaluation, scale)
        parts.append(table(f"Failed attempts by kind and class, {title}", heads_of, failed))
    late = [i for i, row in enumerate(rows) if row.limit_met is False]
    heads = ["response time [ms]", *TIME_HEADS, "limit of p90", ""]
    parts.append(table(f"Response times, {title}", heads, [response_cells(row) for row in rows], marked=late))
    if evaluation.kind_response.get(scale):
        service = [(row.kind, *times(row.service_mean_ns, row.service_ns)) for row in rows]
        parts.append(table(f"Service times, {title}", ["service time [ms]", *TIME_HEADS], service))
    if found := evaluation.windows.get(scale):
        bad = [i for i, window in enumerate(found) if window.missed]
        heads = ["window", "measured", "99.7 % interval", "valid", "of", ""]
        body = [[_unbroken(cell) if at in (2, 3, 4) else cell for at, cell in enumerate(window_cells(window))]
                for window in found]  # fmt: skip
        parts.append(table(f"Windows of a valid run, {title}", heads, body, numbers=False, marked=bad))
    return parts


def statements(evaluation: Evaluation) -> Html | None:
    """The times of each statement of scripts; ``None`` where none were timed."""
    parts = []
    for scale, rows in sorted(evaluation.statement_times.items()):
        for kind in dict.fromkeys(row.kind for row in rows):
            title = f"Statements of {kind} [ms], scale {scale}, {evaluation.connections} connections"
            cells = [statement_cells(row) for row in rows if row.kind == kind]
            parts.append(table(title, (HEADS[-1], *HEADS[:-1]), [(row[-1], *row[:-1]) for row in cells]))
    return section("Statements", *parts, key="per-statement") if parts else None


def _unbroken(text: str) -> str:
    """``0.36% to 2.43%`` in one line, in a column of which others have the rest."""
    return text.replace(" ", "\u00a0")
