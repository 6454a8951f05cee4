"""The columns of table 1 of the paper."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from dsbench.archive import Asked
from dsbench.read.groups import placement_of
from dsbench.read.measured import Measured
from dsbench.read.stats import equations as eq
from dsbench.read.stats.cutoff import STEEP, Fall, falls
from dsbench.read.stats.fits import FEWEST_OF_MEMORY
from dsbench.read.stats.index import index
from dsbench.read.stats.precision import median_interval
from dsbench.read.stats.values import Floats, Frequency, Index, ScaleResult
from dsbench.read.subject import Subject
from dsbench.spec import PROFILES

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

@dataclass(frozen=True)
class Phases:
    """What was timed around the cycles of one scale, in s, and its size."""

    size_gb: float
    populate_s: float
    primary_key_s: float
    foreign_key_s: float
    clean_s: float
    drop_s: float
    grown: bool = False
    """Whether its rows were added to the database of the scale before: ``populate_s`` is that of these rows alone."""


_NOTHING: Final = Phases(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)


def result(
    scale: int,
    load: Measured | None,
    phases: Phases | None,
    frequency: Frequency | None,
    levels: tuple[float, ...],
) -> ScaleResult:
    """The columns of one scale; nan where nothing was measured."""
    part = load or Measured.empty()
    around = phases or _NOTHING
    spread = eq.spread(eq.cycle_rate_tps(part["committed"], part.duration_s))
    multiplier = eq.rate_multiplier(part["residence_ns"], part.duration_s)
    rates_at = {
        level: eq.level_rate_tps(multiplier, frequency.quantiles_ns[level]) if frequency else np.nan for level in levels
    }
    effective_s = eq.effective_duration_s(part.first_start_ns, part.last_end_ns)
    return ScaleResult(
        scale=scale,
        database_size_gb=around.size_gb,
        rate_median_tps=spread.median,
        rate_mean_tps=eq.total_rate_tps(part["committed"], part.duration_s),
        rate_stddev_tps=spread.stddev,
        rate_min_tps=spread.minimum,
        rate_max_tps=spread.maximum,
        transactions=eq.transactions(part["committed"]),
        failed=part.total("failed"),
        residence_total_s=eq.residence_total_s(part["residence_ns"]) if load else np.nan,
        effective_duration_s=effective_s if load else np.nan,
        rate_multiplier=multiplier,
        rates_at=rates_at,
        populate_s=around.populate_s,
        primary_key_s=around.primary_key_s,
        foreign_key_s=around.foreign_key_s,
        cleanup_s=around.clean_s,
        drop_s=around.drop_s,
    )


_MAKING: Final = ("populate", "primary_key", "foreign_key", "reuse")
"""Phases after which a database has its rows."""


def phases_of(table: pa.Table, stage: str, finished: Set[tuple[int, int]]) -> dict[int, Phases]:
    """What was timed, by scale. A scale that was populated again (resumed) shows the mean of its populations.

    Of the cleanings only those count that a cycle of ``finished``, as (scale, cycle) of ``stage``, followed: the
    last of each. Where the population made no rows, as with inserts into empty tables, the size is that after the last
    stage that tells one.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    cleaned = {(row["scale"], row["cycle"]): row for row in rows if row["phase"] == "clean" and row["stage"] == stage}
    rows = [row for row in rows if row["phase"] != "clean"]
    rows += [row for cycle, row in cleaned.items() if cycle in finished]
    result = {}
    for scale in sorted({row["scale"] for row in rows}):
        of_scale = [row for row in rows if row["scale"] == scale]
        took = {
            name: [row["duration_ns"] / 1e9 for row in of_scale if row["phase"] == name]
            for name in ("populate", "reset", "primary_key", "foreign_key", "clean", "drop")
        }
        populated = any(row["rows"] for row in of_scale if row["phase"] == "populate")
        sizes = [
            row["size_bytes"] for row in of_scale if row["size_bytes"] and (row["phase"] in _MAKING or not populated)
        ]
        mean = {name: float(np.mean(values)) if values else np.nan for name, values in took.items()}
        result[scale] = Phases(
            size_gb=sizes[-1] / 1e9 if sizes else np.nan,
            populate_s=mean["populate"] + (sum(took["reset"]) / len(took["populate"]) if took["populate"] else 0),
            primary_key_s=mean["primary_key"],
            foreign_key_s=mean["foreign_key"],
            clean_s=float(np.sum(took["clean"])) if took["clean"] else np.nan,
            drop_s=mean["drop"],
            grown=bool(took["reset"]),
        )
    return result


def _read_phases(evaluation: Evaluation) -> dict[int, Phases]:
    rows = evaluation.rows
    return phases_of(rows.tables["phases"], rows.key.stage, rows.finished)


def _read_results(evaluation: Evaluation) -> tuple[ScaleResult, ...]:
    load, phases, curves, levels = evaluation.rows.load, evaluation.phases, evaluation.frequency, evaluation.levels
    return tuple(result(x, load.get(x), phases.get(x), curves.get(x), levels) for x in sorted({*load, *phases}))


def _read_cycle_rates(evaluation: Evaluation) -> dict[int, Floats]:
    return {x: eq.cycle_rate_tps(part["committed"], part.duration_s) for x, part in evaluation.rows.load.items()}


def _read_index(evaluation: Evaluation) -> Index:
    spec, load = evaluation.rows.run.spec, evaluation.rows.load
    return index(
        {x: found for x, found in evaluation.cycle_rates.items() if _counts(spec, x)},
        begun=[row.scale for row in evaluation.scales if _counts(spec, row.scale)],
        void=evaluation.void_scales,
        ladder=PROFILES["dsi"]["scales"],
        duration_s=min((float(part.duration_s.min()) for part in load.values()), default=spec.duration),
        conduct=len(evaluation.rows.whole.keys) == 1 and _as_profile(spec),
    )


def _counts(spec: Asked, scale: int) -> bool:
    """Whether the index rests on ``scale``, too: those that were put in between would give it another ladder."""
    return spec.refine == "none" or scale in spec.scales


def _as_profile(spec: Asked) -> bool:
    """Whether the run was conducted as profile dsi wants it; the ladder itself is judged by what was measured.

    With several numbers of threads it was not: a later one finds the database as the cycles of the others left it.
    What an older version of dsbench did not know, it did as the profile wants it.
    """
    asked = spec.described()
    wanted = {k: v for k, v in PROFILES["dsi"].items() if k not in ("scales", "cycles", "duration")}
    return all(asked.get(name, value) == value for name, value in wanted.items())


def _read_definitions(evaluation: Evaluation) -> dict[int, tuple[float, float]]:
    """By scale, where streams do even shares of a fixed number of transactions."""
    fixed = {row["scale"] for row in evaluation.rows.groups.to_pylist() if row["until_of"] == "share"}
    found = {}
    for x, part in ((x, part) for x, part in evaluation.rows.load.items() if x in fixed):
        spans = (part["committed"], part.first_start_ns, part.last_end_ns)
        found[x] = (float(np.median(eq.stream_rate_tps(*spans))), float(np.median(eq.span_rate_tps(*spans))))
    return found


def _read_connections(evaluation: Evaluation) -> int:
    rows, spec = evaluation.rows, evaluation.rows.run.spec
    return rows.makers.connections or rows.key.threads * spec.connections * max(spec.nodes, 1)


def _read_fall(evaluation: Evaluation) -> Fall | None:
    """Where the rate falls most, if that is a cut-off, in a run that looked for it or has enough scales to show one."""
    run, rates = evaluation.rows.run, evaluation.cycle_rates
    sound = {x: float(np.median(one)) for x, one in rates.items() if x not in run.broken and one.size}
    known = run.spec.refine != "none" or len(sound) >= FEWEST_OF_MEMORY
    if not known or not any(one.factor >= STEEP for one in falls({x: sound[x] for x in run.spec.scales if x in sound})):
        return None
    return max(falls(sound), key=lambda one: one.slope)


def _read_falls_at(evaluation: Evaluation) -> dict[float, Fall]:
    """By confidence level (0-1): where the rate at that level falls most, if that is by half (the paper, figure 24)."""
    if evaluation.fall is None:
        return {}
    found, results, run = {}, evaluation.scales, evaluation.rows.run
    for level in dict.fromkeys(level for row in results for level in row.rates_at):
        rates = {row.scale: row.rates_at.get(level, 0.0) for row in results if row.scale not in run.broken}
        steep = [one for one in falls(rates) if one.factor >= STEEP]
        if steep:
            found[level] = max(steep, key=lambda one: one.slope)
    return found


SUBJECT: Final = Subject(
    "rate", "Rate",
    reads={
        "scales": _read_results,
        "void_scales": lambda evaluation: frozenset(evaluation.rows.run.broken),
        "cycle_rates": _read_cycle_rates,
        "intervals": lambda evaluation: {x: median_interval(found) for x, found in evaluation.cycle_rates.items()},
        "cycle_numbers": lambda evaluation: {x: part.cycles for x, part in evaluation.rows.load.items()},
        "durations_s": lambda evaluation: {x: part.duration_s for x, part in evaluation.rows.load.items()},
        "definitions": _read_definitions,
        "phases": _read_phases,
        "grown": lambda evaluation: frozenset(x for x, phases in evaluation.phases.items() if phases.grown),
        "index": _read_index,
        "fall": _read_fall,
        "falls_at": _read_falls_at,
        "placement": lambda evaluation: placement_of(evaluation.rows.groups, evaluation.rows.cycles),
        "connections": _read_connections,
    },
)  # fmt: skip
