"""Whether the machine's counters have as much time as the clock says, and none between cycles that nobody tells of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive.columns import LOCAL
from dsbench.commons.audit.counters import BEHIND_NS
from dsbench.commons.audit.rows import CYCLE, ENOUGH, Key, Rows, segment_of, where

_CLOCK: Final = (1.1, 2.0)
"""How much longer a cycle may be by the time that its CPUs counted than by its clock: so many times, and some seconds,
as a program that waits for a CPU reads the one later than the other."""
_CLOCKS: Final = (1.04, 3.0)
"""The same of all cycles together."""
_APART: Final = (2.0, 30.0)
"""How long after a cycle the next one begins: so many times what was timed between them, and some seconds."""
_BETWEEN: Final = 0.25
"""Share of the transactions of a cycle that a server counts between it and the next at most: a cycle that was left out
would be as many again."""
_TOLD: Final = {"postgres": ("commits", "rollbacks"), "mysql": ("statements",)}
"""By engine: counters of the server that hardly grow between cycles. Firebird's have the pages of a cleaning."""


def clocks(run: Rows) -> Iterator[str]:
    """A machine's CPUs counted no more time than its cycles took by the clock: times were not shrunk."""
    if not run.run.cpus:
        return
    whole = [0.0, 0.0]
    for key, looks in _spent(run).items():
        (begin, first), (end, last) = looks[0], looks[-1]
        by_clock, by_cpus = (end - begin) / 1e9, (last - first) / run.run.cpus
        whole = [whole[0] + by_clock, whole[1] + by_cpus]
        if by_cpus > _CLOCK[0] * by_clock + _CLOCK[1]:
            yield f"{where(key)}: by its clock {by_clock:.4g} s were watched, and by its CPUs {by_cpus:.4g} s"
    if whole[1] > _CLOCKS[0] * whole[0] + _CLOCKS[1]:
        yield f"its cycles were watched for {whole[0]:.4g} s by the clock, and for {whole[1]:.4g} s by its CPUs"


def _spent(run: Rows) -> dict[Key, list[tuple[int, float]]]:
    """By cycle, when the machine was read, in nanoseconds, and the seconds that all of its CPUs had counted by then."""
    rows = run.tables["monitors"].filter((pc.field("monitor") == "os") & (pc.field("node") == LOCAL))
    rows = rows.filter(pc.starts_with(pc.field("metric"), "cpu_"))
    found: dict[Key, list[tuple[int, float]]] = {}
    summed = rows.group_by([*CYCLE, "at_ns"]).aggregate([("value", "sum"), ([], "count_all")]).to_pylist()
    most = max((row["count_all"] for row in summed), default=0)
    for row in sorted(summed, key=lambda one: int(one["at_ns"])):
        key = (row["scale"], row["stage"], row["cycle"])
        if row["count_all"] == most and key in run.finished:
            found.setdefault(key, []).append((row["at_ns"], row["value_sum"]))
    return found


def between(run: Rows) -> Iterator[str]:
    """Between a cycle and the next of its stage nothing was done that would be one more."""
    spec = run.run.spec
    tries = spec.find_ramp_up or spec.min_duration is not None or spec.searches
    if tries or spec.graduated or run.run.nodes:
        return  # Cycles on trial, and those that nodes came too late for, stand between them.
    spent, counted, timed = _spent(run), _counted(run), _timed(run)
    for one, other in pairwise(sorted(run.finished)):
        numbers = {segment_of(run, key[0], key[2]) for key in (one, other)}
        if one[:2] != other[:2] or other[2] != one[2] + 1 or len(numbers) > 1:
            continue
        ramp = run.ramps.get(other, 0) / 1e9
        if one in spent and other in spent and run.run.cpus:
            waited = (spent[other][0][1] - spent[one][-1][1]) / run.run.cpus
            most = _APART[0] * timed.get(other, 0) / 1e9 + _APART[1] + ramp
            if waited > most:
                told = f"{timed.get(other, 0) / 1e9:.4g} s are accounted for"
                yield f"{where(other)} began {waited:.4g} s after the one before, and {told}"
        if one in counted and other in counted:
            here, there = counted[one], counted[other]
            most = _BETWEEN * min(here[1] - here[0], there[1] - there[0]) + 3 * ENOUGH
            # Others learn once in a second what it counted.
            late = run.run.engine == "postgres" and run.longest.get(other, 0) < 2 * 10**9
            if run.run.engine == "postgres" and run.ramps.get(one):
                most += (here[1] - here[0]) * BEHIND_NS / max(run.longest[one] + run.ramps[one], 1)
            if there[0] - here[1] > most and not late:
                yield f"{where(other)}: its server counted {there[0] - here[1]:,.0f} between it and the one before"


def _counted(run: Rows) -> dict[Key, tuple[float, float]]:
    """By cycle, what the server had counted at its first and at its last look."""
    metrics = _TOLD.get(run.run.engine, ())
    rows = run.tables["monitors"].filter(pc.field("monitor") == "server")
    rows = rows.filter(pc.is_in(pc.field("metric"), pa.array(metrics, pa.string())))
    found: dict[Key, tuple[float, float]] = {}
    for row in rows.group_by([*CYCLE, "metric"]).aggregate([("value", "min"), ("value", "max")]).to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        low, high = found.get(key, (0.0, 0.0))
        found[key] = low + row["value_min"], high + row["value_max"]
    return found


def _timed(run: Rows) -> dict[Key, int]:
    """By cycle, nanoseconds of what was timed before it."""
    found: dict[Key, int] = {}
    for row in run.tables["phases"].to_pylist():
        if row["cycle"]:
            key = (row["scale"], row["stage"], row["cycle"])
            found[key] = found.get(key, 0) + (row["duration_ns"] or 0)
    return found

