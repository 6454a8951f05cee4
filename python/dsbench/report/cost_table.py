"""What explains a rate: what a transaction cost of each resource, and how evenly the clients got theirs."""

from __future__ import annotations

from math import isnan
from typing import Final

import numpy as np

from dsbench.analysis.fairness import Evenness
from dsbench.analysis.values import Floats, Resource
from dsbench.analysis.waking import waking
from dsbench.evaluation.evaluated import Evaluation
from dsbench.evaluation.series import headings

NONE: Final = "no monitor gave samples, and there is one client or several groups of them"
NOTE: Final = (
    "Interrupts are those of the whole machine; switches, moves between CPUs and waits are sums over all threads of "
    "client or server. Slowest and fastest client: rate by the mean of all, in the worst cycle."
)


def heads(evaluation: Evaluation) -> list[str]:
    """Of the table: a column for each scale that tells something."""
    return ["resource", "of", *(f"scale {scale}" for scale in _scales(evaluation))]


def rows(evaluation: Evaluation, field: str = "per_transaction") -> list[list[str]]:
    """One row for each resource; ``field`` is that of ``Resource`` which is shown."""
    scales = _scales(evaluation)
    known = {x: {(r.scope, r.name, r.unit): getattr(r, field) for r in found} for x, found in _told(evaluation).items()}
    names = dict.fromkeys(name for found in known.values() for name in found)
    return [
        [f"{name} [{unit}]", scope, *(_number(known.get(x, {}).get((scope, name, unit), np.nan)) for x in scales)]
        for scope, name, unit in names
    ]


def of_clients(evaluation: Evaluation) -> list[list[str]]:
    """The slowest and the fastest client by scale; empty where the clients do not do the same."""
    if not evaluation.evenness:
        return []
    scales = _scales(evaluation)
    return [
        [f"{which} client [of the mean rate]", "client", *(_worst(evaluation.evenness.get(x), which) for x in scales)]
        for which in ("slowest", "fastest")
    ]


def waking_lines(evaluation: Evaluation) -> list[str]:
    """A line for each scale at which wake-ups dominate, where client and server share a machine."""
    if evaluation.nodes:
        return []
    found = ((scale, waking(known)) for scale, known in sorted(evaluation.resources.items()))
    return [f"scale {scale}: {one.words}" for scale, one in found if one is not None]


def text(evaluation: Evaluation) -> str:
    """The table, by series, per transaction."""
    names = headings(evaluation.series)
    parts = [(names[key], part) for key, part in evaluation.series.items()] or [("", evaluation)]
    lines = []
    for heading, part in parts:
        body = [*rows(part), *of_clients(part)]
        if not body:
            continue
        shown = [["per transaction", *heads(part)[1:]], *body]
        widths = [max(len(row[at]) for row in shown) for at in range(len(shown[0]))]
        lines += [heading] if heading else []
        lines += [_line(row, widths) for row in shown]
        lines += ["", *waking_lines(part)]
    return "\n".join([*lines, NOTE]) if lines else NONE


def _line(row: list[str], widths: list[int]) -> str:
    cells = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
    return "  ".join([row[0].ljust(widths[0]), row[1].ljust(widths[1]), *cells])


def _scales(evaluation: Evaluation) -> list[int]:
    return sorted({*_told(evaluation), *evaluation.evenness})


def _told(evaluation: Evaluation) -> dict[int, list[Resource]]:
    """Resources by scale without those of which no cycle tells anything."""
    told = {x: [r for r in found if not isnan(r.per_second)] for x, found in evaluation.resources.items()}
    return {x: found for x, found in told.items() if found}


def _worst(found: Evenness | None, which: str) -> str:
    values: Floats = np.zeros(0) if found is None else found.least if which == "slowest" else found.largest
    if np.isnan(values).all():
        return "–"
    return _number(float(np.nanmin(values) if which == "slowest" else np.nanmax(values)))


def _number(value: float) -> str:
    if isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
