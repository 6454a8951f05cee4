"""From an archive to the values that tables, diagrams and pages show: the only reader of its rows.

A cycle counts when its row in ``cycles`` was written; what other tables hold of a cycle that was cut
short is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import TABLES, Archive, Asked, RunRecord
from dsbench.read.evaluation.arrow import counts_by, of_cycles, whole, with_all_responses, with_class
from dsbench.read.evaluation.by_kind import (
    changes_of,
    errors_of_kinds,
    headline_of,
    kind_doubts,
    nopm_of,
    of_kinds,
    special_doubts,
    windows_of,
)
from dsbench.read.evaluation.costs import resources
from dsbench.read.evaluation.distributions import frequency, seconds
from dsbench.read.evaluation.evaluated import Evaluation, Series
from dsbench.read.evaluation.groups import (
    Makers,
    groups_of,
    makers_of,
    placement_of,
    series_of,
    with_threads,
)
from dsbench.read.evaluation.judgement import collision, judge, noticed, of_index
from dsbench.read.evaluation.machines import checkpoints, uses
from dsbench.read.evaluation.measured import Measured, measured
from dsbench.read.evaluation.modelled import fall_of, falls_at, over_clients, over_scales
from dsbench.read.evaluation.node_shares import apart, shares
from dsbench.read.evaluation.operations import group_courses, live_bytes
from dsbench.read.evaluation.probed import probed
from dsbench.read.evaluation.scale_results import Phases, phases_of, result
from dsbench.read.evaluation.series import together
from dsbench.read.evaluation.stage_costs import Tables as OfSeries
from dsbench.read.evaluation.stage_costs import efficiencies, timed
from dsbench.read.evaluation.statements import statements_of
from dsbench.read.stats import equations as eq
from dsbench.read.stats.efficiency import Efficiency
from dsbench.read.stats.fairness import Evenness, evenness, irregularity
from dsbench.read.stats.index import imprecise, index
from dsbench.read.stats.precision import median_interval
from dsbench.read.stats.values import Doubt, Floats, Frequency, Index
from dsbench.read.stats.windows import window_doubts
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


@dataclass(frozen=True)
class _Read:
    """The rows of one series of cycles, and what most results rest on."""

    run: RunRecord
    tables: Tables
    key: Series
    load: Mapping[int, Measured]
    phases: Mapping[int, Phases]
    begun: list[int]
    """Scales, those without a cycle too."""
    buckets: pa.Table
    residence: Mapping[int, Frequency]
    monitors: pa.Table
    failed: pa.Table
    makers: Makers

    @classmethod
    def of(cls, run: RunRecord, tables: Tables, key: Series) -> _Read:
        cycles, groups = tables["cycles"], tables["groups"]
        load = measured(cycles, groups)
        finished = set(zip(whole(cycles, "scale").tolist(), whole(cycles, "cycle").tolist(), strict=True))
        phases = phases_of(tables["phases"], key.stage, finished)
        buckets = with_all_responses(of_cycles(tables["buckets"], cycles))
        return cls(
            run, tables, key, load, phases, sorted({*load, *phases}), buckets,
            frequency(buckets, "residence", load, run.spec.levels), of_cycles(tables["monitors"], cycles),
            with_class(of_cycles(tables["errors"], cycles)), makers_of(groups, cycles, max(run.spec.nodes, 1)),
        )  # fmt: skip

    @property
    def cycles(self) -> pa.Table:
        return self.tables["cycles"]

    @property
    def groups(self) -> pa.Table:
        return self.tables["groups"]

    def rows(self, table: str) -> pa.Table:
        """Of ``table``, those of the cycles."""
        return of_cycles(self.tables[table], self.cycles)


def _evaluate(
    name: str, run: RunRecord, tables: Tables, key: Series, live: Mapping[tuple[Series, int], float], *, alone: bool
) -> Evaluation:
    """The cycles of ``tables["cycles"]``, which are all of the series ``key``; ``alone``: the run has no other."""
    read = _Read.of(run, tables, key)
    found = _with_kinds(_with_costs(_rates(name, read, alone=alone), read, live), read)
    collided = collision(run, found.success_share, read.load, read.makers)
    return replace(
        found,
        collision=collided,
        models=over_scales(run, found.cycle_rates, found.scales, found.success_share, collided, read.makers),
        doubts=_doubts(found, read),
    )


def _rates(name: str, read: _Read, *, alone: bool) -> Evaluation:
    """What was committed, how fast, and in which times."""
    run, load, spec, levels = read.run, read.load, read.run.spec, read.run.spec.levels
    results = tuple(result(x, load.get(x), read.phases.get(x), read.residence.get(x), levels) for x in read.begun)
    rates = {x: eq.cycle_rate_tps(part["committed"], part.duration_s) for x, part in load.items()}
    by_second = read.rows("seconds")
    return Evaluation(
        name=name,
        scales=results,
        levels=levels,
        void_scales=frozenset(run.broken),
        grown=frozenset(x for x, phases in read.phases.items() if phases.grown),
        cycle_rates=rates,
        intervals={x: median_interval(found) for x, found in rates.items()},
        cycle_numbers={x: part.cycles for x, part in load.items()},
        node_rates=_node_rates(load),
        kind_counts=counts_by(read.cycles, "kind", "committed"),
        frequency=read.residence,
        response=frequency(read.buckets, "response", {}, levels),
        seconds=seconds(by_second, load),
        success_share={x: 1 - part.total("failed") / part.attempts for x, part in load.items() if part.attempts},
        remote_share=_remote_share(run.entry, load),
        errors=counts_by(read.failed, "class", "count"),
        resources={},
        index=_index(read, rates, alone=alone),
        doubts=(),
        fall=(fall := fall_of(rates, run)),
        falls_at=falls_at(results, run) if fall is not None else {},
        durations_s={x: part.duration_s for x, part in load.items()},
        group_courses=group_courses(run.entry, read.cycles, by_second, load),
        definitions=_definitions(load, read.groups),
        stage=read.key.stage,
        threads=read.key.threads,
        placement=placement_of(read.groups, read.cycles),
        connections=read.makers.connections or read.key.threads * spec.connections * max(spec.nodes, 1),
    )


def _index(read: _Read, rates: Mapping[int, Floats], *, alone: bool) -> Index:
    spec = read.run.spec
    return index(
        {x: found for x, found in rates.items() if _counts(spec, x)},
        begun=[x for x in read.begun if _counts(spec, x)],
        void=frozenset(read.run.broken),
        ladder=PROFILES["dsi"]["scales"],
        duration_s=min((float(part.duration_s.min()) for part in read.load.values()), default=spec.duration),
        conduct=alone and _as_profile(spec),
    )


def _with_costs(found: Evaluation, read: _Read, live: Mapping[tuple[Series, int], float]) -> Evaluation:
    """``found`` with what the machines, the nodes and the server did and took."""
    run, load, key = read.run, read.load, read.key
    of_system = apart(read.monitors, run)
    of_series = OfSeries(read.cycles, read.rows("groups"), read.buckets, of_system)
    sizes = {x: live[of, x] for of, x in live if of == key}
    return replace(
        found,
        resources=resources(of_system, load, read.groups),
        machine=uses(read.rows("machine"), read.rows("programs")),
        nodes=shares(run, found.node_rates, read.buckets, read.monitors, read.rows("nodes"), load, read.groups),
        checkpoints=checkpoints(read.monitors, read.groups),
        evenness=_evenness(load, read.residence, read.groups, read.cycles),
        efficiency=efficiencies(run.entry, of_series, load, found.group_courses, sizes),
        changes=changes_of(read.tables["statistics"], key.stage),
    )


def _with_kinds(found: Evaluation, read: _Read) -> Evaluation:
    """``found`` by kind of transaction and by statement."""
    kinds, kind_frequency, kind_response = of_kinds(read.run, read.cycles, read.buckets, read.load)
    return replace(
        found,
        kinds=kinds,
        kind_errors=errors_of_kinds(read.failed, kinds),
        kind_frequency=kind_frequency,
        kind_response=kind_response,
        statement_times=statements_of(read.rows("statements"), read.rows("statement_buckets")),
        nopm=nopm_of(read.run, read.cycles, read.load, kinds),
        headline=headline_of(read.run, read.cycles, read.load),
        windows=windows_of(read.run, read.rows("sums"), read.load),
    )


def _doubts(found: Evaluation, read: _Read) -> tuple[Doubt, ...]:
    run, spec = read.run, read.run.spec
    judged = judge(
        run, read.begun, read.load, read.residence, found.seconds, found.resources, found.errors, found.nodes,
        found.machine, found.checkpoints, read.makers, found.evenness,
    )  # fmt: skip
    return (
        *judged,
        *special_doubts(run),
        *kind_doubts(run.entry, found.kinds),
        *window_doubts(found.windows),
        *(imprecise(found.index, (spec.precision or 0) / 100) if of_index(spec) else ()),
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
