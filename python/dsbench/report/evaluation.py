"""From an archive to the values that tables, diagrams and pages show: the only reader of its rows.

A cycle counts when its row in ``cycles`` was written; what other tables hold of a cycle that was cut
short is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.analysis import equations as eq
from dsbench.analysis import histogram as hist
from dsbench.analysis.doubts import REMOTE_WORKLOAD
from dsbench.analysis.index import index
from dsbench.analysis.resources import Counter, costs, gains
from dsbench.analysis.values import Evaluation, Floats, Frequency, Resource, ScaleResult
from dsbench.analysis.windows import window_doubts
from dsbench.archive import TABLES, Archive
from dsbench.report.judgement import collision, failed_checks, judge, noticed
from dsbench.report.kinds import changes_of, errors_of_kinds, kind_doubts, nopm_of, of_kinds, size_doubts, windows_of
from dsbench.report.nodes import apart, shares
from dsbench.report.rows import Load, counts_by, grouped, loads, of_cycles, whole, with_class
from dsbench.report.steps import cycles_at, run_at, together
from dsbench.spec import LEVELS, PROFILES, threads_of

OTHER_QUANTILES = (0.5, 0.9, 0.99, 0.999, 1.0)
"""Quantiles beside the confidence levels, whatever those are; TPC-B's limit of 2 s is one for 0.9."""


@dataclass(frozen=True)
class _Phases:
    """Durations of the steps around the cycles of one scale, in s, and its size."""

    size_gb: float
    populate_s: float
    primary_key_s: float
    foreign_key_s: float
    clean_s: float
    drop_s: float


def evaluate(archive: Archive) -> Evaluation:
    """Everything that is shown of ``archive``; also of one that was cut short or still grows."""
    run = archive.run
    tables = {name: archive.table(name) for name in TABLES}
    steps = threads_of(run["spec"])
    if len(steps) == 1:
        return _evaluate(archive.name, run, tables)
    parts = {}
    for threads in steps:
        cycles = cycles_at(tables["cycles"], threads)
        parts[threads] = _evaluate(archive.name, run_at(run, threads), {**tables, "cycles": cycles})
    return together(parts, noticed(run))


def _evaluate(name: str, run: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> Evaluation:
    """The cycles of ``tables["cycles"]``, which all have the one number of threads that ``run`` names."""
    spec = run["spec"]
    duration_s = float(spec["duration"])
    levels = tuple(float(level) for level in spec.get("levels", LEVELS))
    cycles = tables["cycles"]
    load = loads(cycles)
    finished = set(zip(whole(cycles, "scale").tolist(), whole(cycles, "cycle").tolist(), strict=True))
    phases = _phases(tables["phases"], finished)
    buckets = of_cycles(tables["buckets"], cycles)
    frequency = _frequency(buckets, "residence", load, levels)
    seconds = _seconds(of_cycles(tables["seconds"], cycles), load, duration_s)
    begun = sorted({*load, *phases})
    results = tuple(_result(x, load.get(x), phases.get(x), frequency.get(x), duration_s, levels) for x in begun)
    rates = {x: eq.cycle_rate_tps(part.committed, duration_s) for x, part in load.items()}
    monitors = of_cycles(tables["monitors"], cycles)
    resources = _resources(apart(monitors, run), load, duration_s)
    node_rates = _node_rates(load, duration_s)
    nodes = shares(run, node_rates, buckets, monitors, of_cycles(tables["nodes"], cycles), duration_s)
    failed = with_class(of_cycles(tables["errors"], cycles))
    errors = counts_by(failed, "class", "count")
    success = {x: 1 - int(part.failed.sum()) / part.attempts for x, part in load.items() if part.attempts}
    void = frozenset(failed_checks(run))
    kinds, kind_frequency, kind_response = of_kinds(run, cycles, buckets, load)
    windows = windows_of(run, of_cycles(tables["sums"], cycles), load)
    threads = threads_of(spec)[0]
    return Evaluation(
        name=name,
        scales=results,
        levels=levels,
        void_scales=void,
        cycle_rates=rates,
        cycle_numbers={x: part.cycles for x, part in load.items()},
        node_rates=node_rates,
        kind_counts=counts_by(cycles, "kind", "committed"),
        frequency=frequency,
        response=_frequency(buckets, "response", {}, levels),
        seconds=seconds,
        success_share=success,
        remote_share=_remote_share(spec["workload"], load),
        errors=errors,
        resources=resources,
        index=index(
            rates,
            void=void,
            ladder=PROFILES["dsi"]["scales"],
            duration_s=duration_s,
            conduct=_as_profile(run),
        ),
        doubts=(
            *judge(run, begun, load, frequency, seconds, resources, errors, nodes),
            *size_doubts(run),
            *kind_doubts(kinds),
            *window_doubts(windows),
        ),
        nodes=nodes,
        collision=collision(run, success, load),
        kinds=kinds,
        kind_errors=errors_of_kinds(failed, kinds),
        kind_frequency=kind_frequency,
        kind_response=kind_response,
        nopm=nopm_of(run, cycles, load, kinds),
        windows=windows,
        changes=changes_of(tables["statistics"]),
        threads=threads,
        connections=threads * int(spec["connections"]) * max(int(spec["nodes"]), 1),
    )


def _as_profile(run: Mapping[str, Any]) -> bool:
    """Whether the run was conducted as profile dsi wants it; the ladder itself is judged by what was measured.

    With several numbers of threads it was not: a later one finds the database as the cycles of the others left it.
    What an older version of dsbench did not know, it did as the profile wants it.
    """
    spec = run["spec"]
    if run.get("of_steps"):
        return False
    wanted = {k: v for k, v in PROFILES["dsi"].items() if k not in ("scales", "cycles", "duration")}
    return all(spec.get(name, value) == value for name, value in wanted.items())


def _result(
    scale: int,
    load: Load | None,
    phases: _Phases | None,
    frequency: Frequency | None,
    duration_s: float,
    levels: tuple[float, ...],
) -> ScaleResult:
    part = load or Load.empty()
    steps = phases or _Phases(*[np.nan] * 6)
    spread = eq.spread(eq.cycle_rate_tps(part.committed, duration_s))
    multiplier = eq.rate_multiplier(part.residence_ns, duration_s)
    p50, p68, p87, p95, p99, p99_7 = (
        eq.level_rate_tps(multiplier, frequency.quantiles_ns[level]) if frequency else np.nan for level in levels
    )
    effective_s = eq.effective_duration_s(part.first_start_ns, part.last_end_ns)
    return ScaleResult(
        scale=scale,
        database_size_gb=steps.size_gb,
        rate_median_tps=spread.median,
        rate_mean_tps=eq.total_rate_tps(part.committed, duration_s),
        rate_stddev_tps=spread.stddev,
        rate_min_tps=spread.minimum,
        rate_max_tps=spread.maximum,
        transactions=eq.transactions(part.committed),
        failed=int(part.failed.sum()),
        residence_total_s=eq.residence_total_s(part.residence_ns) if load else np.nan,
        effective_duration_s=effective_s if load else np.nan,
        rate_multiplier=multiplier,
        rate_p50_tps=p50,
        rate_p68_tps=p68,
        rate_p87_tps=p87,
        rate_p95_tps=p95,
        rate_p99_tps=p99,
        rate_p99_7_tps=p99_7,
        populate_s=steps.populate_s,
        primary_key_s=steps.primary_key_s,
        foreign_key_s=steps.foreign_key_s,
        cleanup_s=steps.clean_s,
        drop_s=steps.drop_s,
    )


def _phases(table: pa.Table, finished: Set[tuple[int, int]]) -> dict[int, _Phases]:
    """A scale that was populated again (resumed) shows the mean of its populations.

    Of the cleanings only those count that a cycle of ``finished``, as (scale, cycle), followed: the last of each.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    cleaned = {(row["scale"], row["cycle"]): row for row in rows if row["phase"] == "clean"}
    rows = [row for row in rows if row["phase"] != "clean"]
    rows += [row for cycle, row in cleaned.items() if cycle in finished]
    result = {}
    for scale in sorted({row["scale"] for row in rows}):
        of_scale = [row for row in rows if row["scale"] == scale]
        took = {
            name: [row["duration_ns"] / 1e9 for row in of_scale if row["phase"] == name]
            for name in ("populate", "primary_key", "foreign_key", "clean", "drop")
        }
        sizes = [
            row["size_bytes"]
            for name in ("populate", "primary_key", "foreign_key")
            for row in of_scale
            if row["phase"] == name and row["size_bytes"]
        ]
        mean = {name: float(np.mean(values)) if values else np.nan for name, values in took.items()}
        result[scale] = _Phases(
            size_gb=sizes[-1] / 1e9 if sizes else np.nan,
            populate_s=mean["populate"],
            primary_key_s=mean["primary_key"],
            foreign_key_s=mean["foreign_key"],
            clean_s=float(np.sum(took["clean"])) if took["clean"] else np.nan,
            drop_s=mean["drop"],
        )
    return result


def _frequency(
    buckets: pa.Table, measure: str, load: Mapping[int, Load], levels: Iterable[float]
) -> dict[int, Frequency]:
    """The distribution by scale; ``load`` gives the exact extremes of the residence times."""
    chosen = buckets.filter(pc.field("measure") == measure)
    scale, low, high, count = (whole(chosen, name) for name in ("scale", "low_ns", "high_ns", "count"))
    result = {}
    for x in np.unique(scale):
        here = scale == x
        exact = load[int(x)].extremes_ns if int(x) in load else (None, None)
        values = hist.histogram(low[here], high[here], count[here], min_ns=exact[0], max_ns=exact[1])
        if values.count:
            result[int(x)] = hist.frequency(values, (*levels, *OTHER_QUANTILES))
    return result


def _seconds(table: pa.Table, load: Mapping[int, Load], duration_s: float) -> dict[int, Floats]:
    """See ``Evaluation.seconds``."""
    length = ceil(duration_s)
    scale, cycle, second = (whole(table, name) for name in ("scale", "cycle", "second"))
    values = {name: whole(table, name) for name in ("count", "failed", "p50_ns", "p99_ns", "max_ns")}
    result = {}
    for x, part in load.items():
        here = (scale == x) & (second < length)
        if not here.any():
            continue
        at = np.searchsorted(part.cycles, cycle[here]) * length + second[here]
        size = part.cycles.size * length
        count = np.bincount(at, values["count"][here], size)
        course = np.full((size, 5), np.nan)
        course[:, 0] = count
        course[:, 1] = np.bincount(at, values["failed"][here], size)
        for column, name in ((2, "p50_ns"), (3, "p99_ns")):
            weighted = np.bincount(at, values[name][here] * values["count"][here].astype(float), size)
            np.divide(weighted, count, out=course[:, column], where=count > 0)
        most = np.zeros(size)
        np.maximum.at(most, at, values["max_ns"][here])
        course[:, 4] = np.where(count > 0, most, np.nan)
        result[x] = course
    return result


def _node_rates(load: Mapping[int, Load], duration_s: float) -> dict[str, dict[int, Floats]]:
    """T_in (eq. 6) by node and scale; nan for a cycle in which the node is missing."""
    result: dict[str, dict[int, Floats]] = {}
    for x, part in load.items():
        rates = np.where(part.present, eq.node_rate_tps(part.committed, duration_s), np.nan)
        for column, node in enumerate(part.nodes):
            result.setdefault(node, {})[x] = rates[:, column]
    return dict(sorted(result.items()))


def _remote_share(workload: str, load: Mapping[int, Load]) -> dict[int, float]:
    """By scale, out of all commits, early and late ones included, as ``remote`` counts them."""
    totals = {x: (int(part.remote.sum()), part.kept) for x, part in load.items()}
    if workload != REMOTE_WORKLOAD and not any(remote for remote, _ in totals.values()):
        return {}
    return {x: remote / of for x, (remote, of) in totals.items() if of}


def _resources(table: pa.Table, load: Mapping[int, Load], duration_s: float) -> dict[int, tuple[Resource, ...]]:
    """Costs by scale out of the cumulative counters (their unit ends in " total")."""
    table = table.filter(pc.ends_with(table["unit"], " total"))
    keys = ("scale", "cycle", "node", "monitor", "metric", "unit")
    groups, series = grouped(table, keys)
    if not groups:
        return {}
    values = table["value"].to_numpy()
    names, gain, span_s = gains(series, whole(table, "at_ns"), values, round(duration_s * 1e9))
    found: dict[int, list[Counter]] = {}
    for name, gained, span in zip(names, gain, span_s, strict=True):
        scale, cycle, _, monitor, metric, unit = groups[int(name)]
        found.setdefault(scale, []).append(Counter(monitor, metric, unit, cycle, float(gained), float(span)))
    committed = {x: dict(zip(part.cycles.tolist(), part.by_cycle.tolist(), strict=True)) for x, part in load.items()}
    return {x: costs(counters, committed[x]) for x, counters in sorted(found.items())}
