"""From an archive to the values that tables, diagrams and pages show: the only reader of its rows.

A cycle counts when its row in ``cycles`` was written; what other tables hold of a cycle that was cut
short is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.analysis import equations as eq
from dsbench.analysis.efficiency import Efficiency
from dsbench.analysis.fairness import Evenness, evenness, irregularity
from dsbench.analysis.index import imprecise, index
from dsbench.analysis.precision import median_interval
from dsbench.analysis.values import Floats, Frequency
from dsbench.analysis.windows import window_doubts
from dsbench.archive import TABLES, Archive, Asked, RunRecord
from dsbench.evaluation.arrow import counts_by, of_cycles, whole, with_all_responses, with_class
from dsbench.evaluation.by_kind import (
    changes_of,
    errors_of_kinds,
    kind_doubts,
    nopm_of,
    of_kinds,
    special_doubts,
    windows_of,
)
from dsbench.evaluation.costs import resources
from dsbench.evaluation.distributions import frequency, seconds
from dsbench.evaluation.evaluated import Evaluation, Series
from dsbench.evaluation.groups import (
    groups_of,
    makers_of,
    placement_of,
    series_of,
    with_threads,
)
from dsbench.evaluation.judgement import collision, judge, noticed, of_index
from dsbench.evaluation.machines import checkpoints, uses
from dsbench.evaluation.measured import Measured, measured
from dsbench.evaluation.modelled import fall_of, falls_at, over_clients, over_scales
from dsbench.evaluation.node_shares import apart, shares
from dsbench.evaluation.operations import group_courses, live_bytes
from dsbench.evaluation.probed import probed
from dsbench.evaluation.scale_results import phases_of, result
from dsbench.evaluation.series import together
from dsbench.evaluation.stage_costs import Tables as OfSeries
from dsbench.evaluation.stage_costs import efficiencies, timed
from dsbench.evaluation.statements import statements_of
from dsbench.spec import PROFILES
from dsbench.workloads import Entry

Tables = Mapping[str, pa.Table]


def evaluate(archive: Archive) -> Evaluation:
    """Everything that is shown of ``archive``; also of one that was cut short or still grows."""
    run = archive.run
    tables = {name: archive.table(name) for name in TABLES}
    cycles = tables["cycles"] = with_threads(tables["cycles"], run.spec)
    tables["groups"] = groups_of(tables["groups"], cycles, run.spec)
    keys = series_of(cycles, run.spec)
    live = live_bytes(run.entry, cycles)
    if len(keys) == 1:
        (key,) = keys
        one = _evaluate(archive.name, run.of_stage(key.stage), _of_stage(tables, key), key, live, alone=True)
        return replace(one, stages={key: one.efficiency}, probes=probed(tables["probes"]))
    parts = {}
    for key in keys:
        of_stage = _of_stage(tables, key)
        of_key = {**of_stage, "cycles": of_stage["cycles"].filter(pc.field("threads") == key.threads)}
        parts[key] = _evaluate(archive.name, run.at(key.threads).of_stage(key.stage), of_key, key, live, alone=False)
    between = timed(run.stages, tables["phases"], apart(tables["monitors"], run), live)
    whole_run = together(parts, noticed(run))
    models = (*over_clients(parts, run), *whole_run.models)
    stages = _in_order(run, parts, between)
    return replace(whole_run, models=models, stages=stages, probes=probed(tables["probes"]))


def _in_order(
    run: RunRecord, parts: Mapping[Series, Evaluation], between: Mapping[Series, Mapping[int, Efficiency]]
) -> dict[Series, Mapping[int, Efficiency]]:
    """Series and timed stages as the run has them."""
    found = {key: part.efficiency for key, part in parts.items()} | dict(between)
    order = {stage.name: at for at, stage in enumerate(run.stages)}
    return dict(sorted(found.items(), key=lambda one: order.get(one[0].stage, -1)))


def _of_stage(tables: Tables, key: Series) -> Tables:
    """The rows of one stage; what is timed or read around the cycles concerns all stages of a scale."""
    around = ("phases", "statistics", "probes")
    here = pc.field("stage") == key.stage
    return {name: rows if name in around else rows.filter(here) for name, rows in tables.items()}


def _evaluate(
    name: str, run: RunRecord, tables: Tables, key: Series, live: Mapping[tuple[Series, int], float], *, alone: bool
) -> Evaluation:
    """The cycles of ``tables["cycles"]``, which are all of the series ``key``; ``alone``: the run has no other."""
    spec, levels = run.spec, run.spec.levels
    cycles, groups = tables["cycles"], tables["groups"]
    load = measured(cycles, groups)
    finished = set(zip(whole(cycles, "scale").tolist(), whole(cycles, "cycle").tolist(), strict=True))
    phases = phases_of(tables["phases"], key.stage, finished)
    buckets = with_all_responses(of_cycles(tables["buckets"], cycles))
    residence = frequency(buckets, "residence", load, levels)
    by_second = of_cycles(tables["seconds"], cycles)
    course, courses = seconds(by_second, load), group_courses(run.entry, cycles, by_second, load)
    begun = sorted({*load, *phases})
    results = tuple(result(x, load.get(x), phases.get(x), residence.get(x), levels) for x in begun)
    rates = {x: eq.cycle_rate_tps(part["committed"], part.duration_s) for x, part in load.items()}
    monitors = of_cycles(tables["monitors"], cycles)
    of_system = apart(monitors, run)
    spent = resources(of_system, load, groups)
    begun_checkpoints = checkpoints(monitors, groups)
    of_series = OfSeries(cycles, of_cycles(groups, cycles), buckets, of_system)
    node_rates = _node_rates(load)
    nodes = shares(run, node_rates, buckets, monitors, of_cycles(tables["nodes"], cycles), load, groups)
    machine = uses(of_cycles(tables["machine"], cycles), of_cycles(tables["programs"], cycles))
    failed = with_class(of_cycles(tables["errors"], cycles))
    errors = counts_by(failed, "class", "count")
    success = {x: 1 - part.total("failed") / part.attempts for x, part in load.items() if part.attempts}
    void = frozenset(run.broken)
    kinds, kind_frequency, kind_response = of_kinds(run, cycles, buckets, load)
    makers = makers_of(groups, cycles)
    even = _evenness(load, residence, groups, cycles)
    windows = windows_of(run, of_cycles(tables["sums"], cycles), load)
    collided = collision(run, success, load, makers)
    overall = index(
        {x: found for x, found in rates.items() if _counts(spec, x)},
        begun=[x for x in begun if _counts(spec, x)],
        void=void,
        ladder=PROFILES["dsi"]["scales"],
        duration_s=min((float(part.duration_s.min()) for part in load.values()), default=spec.duration),
        conduct=alone and _as_profile(spec),
    )
    return Evaluation(
        name=name,
        scales=results,
        levels=levels,
        void_scales=void,
        cycle_rates=rates,
        intervals={x: median_interval(found) for x, found in rates.items()},
        cycle_numbers={x: part.cycles for x, part in load.items()},
        node_rates=node_rates,
        kind_counts=counts_by(cycles, "kind", "committed"),
        frequency=residence,
        response=frequency(buckets, "response", {}, levels),
        seconds=course,
        success_share=success,
        remote_share=_remote_share(run.entry, load),
        errors=errors,
        resources=spent,
        machine=machine,
        evenness=even,
        index=overall,
        doubts=(
            *judge(
                run,
                begun,
                load,
                residence,
                course,
                spent,
                errors,
                nodes,
                machine,
                begun_checkpoints,
                makers,
                even,
            ),
            *special_doubts(run),
            *kind_doubts(run.entry, kinds),
            *window_doubts(windows),
            *(imprecise(overall, (spec.precision or 0) / 100) if of_index(spec) else ()),
        ),
        nodes=nodes,
        collision=collided,
        fall=(fall := fall_of(rates, run)),
        falls_at=falls_at(results, run) if fall is not None else {},
        models=over_scales(run, rates, results, success, collided, makers),
        kinds=kinds,
        kind_errors=errors_of_kinds(failed, kinds),
        kind_frequency=kind_frequency,
        kind_response=kind_response,
        statement_times=statements_of(
            of_cycles(tables["statements"], cycles), of_cycles(tables["statement_buckets"], cycles)
        ),
        nopm=nopm_of(run, cycles, load, kinds),
        windows=windows,
        changes=changes_of(tables["statistics"], key.stage),
        durations_s={x: part.duration_s for x, part in load.items()},
        efficiency=efficiencies(run.entry, of_series, load, courses, {x: live[of, x] for of, x in live if of == key}),
        group_courses=courses,
        definitions=_definitions(load, groups),
        stage=key.stage,
        threads=key.threads,
        checkpoints=begun_checkpoints,
        placement=placement_of(groups, cycles),
        connections=makers.connections or key.threads * spec.connections * max(spec.nodes, 1),
    )


def _counts(spec: Asked, scale: int) -> bool:
    """Whether the index rests on ``scale``, too: those that were put in between would give it another ladder."""
    return spec.refine == "none" or scale in spec.scales


def _evenness(
    load: Mapping[int, Measured], residence: Mapping[int, Frequency], groups: pa.Table, cycles: pa.Table
) -> dict[int, Evenness]:
    """By scale, where all clients are of one group and there are several."""
    if len(set(of_cycles(groups, cycles)["group"].to_pylist())) != 1:
        return {}
    found = {
        x: evenness(part.cycles, part["committed"], part.present, irregularity(residence.get(x)))
        for x, part in load.items()
    }
    return {x: one for x, one in found.items() if one is not None}


def _definitions(load: Mapping[int, Measured], groups: pa.Table) -> dict[int, tuple[float, float]]:
    """By scale, where streams do even shares of a fixed number of transactions."""
    fixed = {row["scale"] for row in groups.to_pylist() if row["until_of"] == "share"}
    found = {}
    for x, part in ((x, part) for x, part in load.items() if x in fixed):
        spans = (part["committed"], part.first_start_ns, part.last_end_ns)
        found[x] = (float(np.median(eq.stream_rate_tps(*spans))), float(np.median(eq.span_rate_tps(*spans))))
    return found


def _as_profile(spec: Asked) -> bool:
    """Whether the run was conducted as profile dsi wants it; the ladder itself is judged by what was measured.

    With several numbers of threads it was not: a later one finds the database as the cycles of the others left it.
    What an older version of dsbench did not know, it did as the profile wants it.
    """
    asked = spec.described()
    wanted = {k: v for k, v in PROFILES["dsi"].items() if k not in ("scales", "cycles", "duration")}
    return all(asked.get(name, value) == value for name, value in wanted.items())


def _node_rates(load: Mapping[int, Measured]) -> dict[str, dict[int, Floats]]:
    """T_in (eq. 6) by node and scale; nan for a cycle in which the node is missing."""
    result: dict[str, dict[int, Floats]] = {}
    for x, part in load.items():
        rates = np.where(part.present, eq.node_rate_tps(part["committed"], part.duration_s), np.nan)
        for column, node in enumerate(part.nodes):
            result.setdefault(node, {})[x] = rates[:, column]
    return dict(sorted(result.items()))


def _remote_share(workload: Entry, load: Mapping[int, Measured]) -> dict[int, float]:
    """By scale, out of all commits, early and late ones included, as ``remote`` counts them."""
    totals = {x: (part.total("remote"), part.kept) for x, part in load.items()}
    if workload.remote is None and not any(remote for remote, _ in totals.values()):
        return {}
    return {x: remote / of for x, (remote, of) in totals.items() if of}
