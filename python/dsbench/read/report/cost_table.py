"""What explains a rate: what a transaction cost of each resource, and how evenly the clients got theirs."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Final

import numpy as np

from dsbench.read.evaluation import Evaluation
from dsbench.read.series import headings
from dsbench.read.stats.fairness import Evenness
from dsbench.read.stats.resources import CALLS, SWITCHES, TRANSFERS
from dsbench.read.stats.values import Floats, Resource
from dsbench.read.stats.waking import waking

NONE: Final = "no monitor gave samples, and there is one client or several groups of them"
NO_CALLS: Final = (
    "System calls were not counted: that needs tracefs, and root, CAP_PERFMON or kernel.perf_event_paranoid=-1."
)
_CPU: Final = ("CPU time, user", "CPU time, system", "CPU waiting for I/O", "CPU idle", "CPU stolen by the host")
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
        lines += [heading] if heading else []
        lines += _table("per transaction", part, body)
        lines += [*_table("per second, of the machine", part, per_second(part)), *waking_lines(part)]
    counted = any(r.name == CALLS for _, part in parts for found in part.resources.values() for r in found)
    scales, tests = of_probes(evaluation)
    tools = [PROBED, *_aligned([scales, *tests])] if tests else []
    return "\n".join([*lines, NOTE, *([] if counted else [NO_CALLS]), *tools] if lines else [NONE, *tools])


PROBED: Final = "Storage tools beside the data, before and after the cycles"


def of_probes(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of what storage tools found, test by test; no rows without them."""
    scales = list(evaluation.probes)
    known = {x: {(p.name, p.unit): f"{p.before:.4g}, {p.after:.4g}" for p in evaluation.probes[x]} for x in scales}
    names = dict.fromkeys(name for found in known.values() for name in found)
    rows = [[f"{name} [{unit}]", *(known[x].get((name, unit), "–") for x in scales)] for name, unit in names]
    return ["tool", *(f"scale {x}" for x in scales)], rows


def per_second(evaluation: Evaluation) -> list[list[str]]:
    """Where a machine is at its limit, in the columns of McDonell (1987), section 3: idle CPUs, system calls, context
    switches, and transfers of the device that had most of them."""
    told = _told(evaluation)
    by_name = {x: {r.name: r.per_second for r in found} for x, found in told.items()}
    figures = {
        "CPUs idle [%]": {x: _idle(found) for x, found in by_name.items()},
        f"{CALLS} [1/s]": {x: found.get(CALLS, np.nan) for x, found in by_name.items()},
        f"{SWITCHES} [1/s]": {x: found.get(SWITCHES, np.nan) for x, found in by_name.items()},
        f"{TRANSFERS}the busiest device [1/s]": {x: _busiest(found) for x, found in by_name.items()},
    }
    scales = _scales(evaluation)
    return [[name, "system", *(_number(found.get(x, np.nan)) for x in scales)] for name, found in figures.items()]


def _idle(per_s: Mapping[str, float]) -> float:
    """Of all time of all CPUs, what was idle, waiting for storage included; nan where it is not told."""
    whole = sum(per_s.get(name, 0.0) for name in _CPU)
    idle = per_s.get("CPU idle", np.nan) + per_s.get("CPU waiting for I/O", 0.0)
    return 100 * idle / whole if whole > 0 else np.nan


def _busiest(per_s: Mapping[str, float]) -> float:
    return max((rate for name, rate in per_s.items() if name.startswith(TRANSFERS)), default=np.nan)


def _table(title: str, evaluation: Evaluation, body: list[list[str]]) -> list[str]:
    return [*_aligned([[title, *heads(evaluation)[1:]], *body]), ""]


def _aligned(shown: list[list[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in shown) for at in range(len(shown[0]))]
    return [_line(row, widths) for row in shown]


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
