"""What to think of a run: the facts of ``run.json`` and of the cycles, put before the rules of doubt."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from dsbench.archive import Asked, RunRecord
from dsbench.archive.conditions import Condition
from dsbench.read.blocks import Block, Notice, Notices
from dsbench.read.groups import Makers, Series
from dsbench.read.measured import Measured
from dsbench.read.naming import listed
from dsbench.read.series import phrases
from dsbench.read.subject import Result, Subject, computed
from dsbench.read.subjects.clients import ClientsResult
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.kinds import KindsResult, kind_doubts, special_doubts
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.nodes import NodesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.both_counts import BothCounts
from dsbench.stats.doubts import doubts
from dsbench.stats.equations import cycle_rate_tps
from dsbench.stats.facts import NodeFacts, RunFacts, ScaleFacts, UnsafeSwitch, outside_share
from dsbench.stats.fairness import Evenness
from dsbench.stats.index import imprecise
from dsbench.stats.ledger import Ledger
from dsbench.stats.machine import CycleUse
from dsbench.stats.precision import half_width
from dsbench.stats.resources import CLIENT_CPU
from dsbench.stats.search import capacity_doubts
from dsbench.stats.steady import Drift, Scatter, drift, over_cycles, scatter, stalls
from dsbench.stats.tpcc import window_doubts
from dsbench.stats.values import Doubt, Floats, Frequency, Resource

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.subjects.nodes import NodeShare

def judge(
    run: RunRecord,
    begun: Iterable[int],
    load: Mapping[int, Measured],
    frequency: Mapping[int, Frequency],
    seconds: Mapping[int, Floats],
    resources: Mapping[int, tuple[Resource, ...]],
    errors: Mapping[int, Mapping[str, int]],
    nodes: Mapping[str, Mapping[int, NodeShare]],
    uses: Mapping[int, tuple[CycleUse, ...]],
    checkpoints: Mapping[int, tuple[int, ...]],
    makers: Makers,
    even: Mapping[int, Evenness],
    server_cpu: Mapping[int, Mapping[int, float]],
    ledgers: Mapping[int, Ledger],
    counted: Mapping[int, tuple[BothCounts, ...]],
) -> tuple[Doubt, ...]:
    """The doubts about a run; ``begun`` are its scales, ``makers`` its groups, the mappings what was measured."""
    broken = failed_checks(run)
    facts = []
    for scale in begun:
        part = load.get(scale, Measured.empty())
        curve = frequency.get(scale)
        full = _full_seconds(seconds.get(scale), part.duration_s)
        facts.append(
            _scale_facts(
                scale,
                part,
                main_error=_most(errors.get(scale, {})),
                histogram_count=curve.count if curve else 0,
                client_cpus=_client_cpus(resources.get(scale, ())),
                drifts=_drifts(full),
                half_width=half_width(rates := cycle_rate_tps(part["committed"], part.duration_s)),
                scatter=scatter(part.cycles, rates, list(full)),
                stood_still=tuple(int(part.cycles[at]) for at in _stalls(full, curve)),
                checkpoints=checkpoints.get(scale, ()),
                uses=uses.get(scale, ()),
                checked=scale in run.checks or run.spec.existing,
                broken=broken.get(scale, ()),
                unmade=_count_unmade(run.unmade.get(scale, ())),
                conditions=len(run.checks.get(scale, ())),
                populations=_populations(run, scale, part),
                nodes=_nodes(nodes, scale),
                evenness=even.get(scale),
                ledger=ledgers.get(scale),
                counted=counted.get(scale, ()),
                server_cpu_us=tuple(server_cpu.get(scale, {}).values()),
            )
        )
    return doubts(_run_facts(run, load, makers), facts, noticed(run))


def failed_checks(run: RunRecord) -> dict[int, tuple[str, ...]]:
    """Scale to the conditions that do not hold, in words; only scales that have one."""
    return {scale: tuple(f"{c.name} ({c.detail})" for c in conditions) for scale, conditions in run.broken.items()}


def _count_unmade(found: Iterable[Condition]) -> tuple[tuple[str, str, int], ...]:
    """Why, how it is mended and how many, of those that can be made."""
    counts = Counter((one.detail, one.remedy) for one in found if one.remedy)
    return tuple((why, remedy, count) for (why, remedy), count in counts.items())


def _scale_facts(
    scale: int,
    load: Measured,
    *,
    main_error: str,
    histogram_count: int,
    client_cpus: float,
    drifts: tuple[tuple[str, Drift], ...],
    half_width: float,
    scatter: Scatter | None,
    stood_still: tuple[int, ...],
    checkpoints: tuple[int, ...],
    uses: tuple[CycleUse, ...],
    checked: bool,
    broken: tuple[str, ...],
    unmade: tuple[tuple[str, str, int], ...],
    conditions: int,
    populations: int,
    nodes: tuple[NodeFacts, ...],
    evenness: Evenness | None,
    ledger: Ledger | None,
    counted: tuple[BothCounts, ...],
    server_cpu_us: tuple[float, ...],
) -> ScaleFacts:
    return ScaleFacts(
        scale=scale,
        cycles=load.cycles.size,
        committed=load.total("committed"),
        failed=load.total("failed"),
        main_error=main_error,
        attempts=load.attempts,
        unknown=load.total("unknown"),
        missed=load.total("skipped_starts"),
        remote=load.total("remote"),
        kept=load.kept,
        absent=int((~load.present).any(axis=1).sum()) if not any(node.absent for node in nodes) else _absent(nodes),
        nodes=nodes,
        outside_share=ledger.own_ns / ledger.clients_ns
        if ledger
        else outside_share(load["residence_ns"], load["failed_ns"], load.first_start_ns, load.last_end_ns),
        client_cpus=client_cpus,
        histogram_count=histogram_count,
        rolled_back=load.total("rolled_back"),
        drifts=drifts,
        half_width=half_width,
        scatter=scatter,
        stood_still=stood_still,
        checkpoints=checkpoints,
        uses=uses,
        checked=checked,
        measured_s=load.measured_s,
        lasted_s=tuple(zip(load.cycles.tolist(), load.duration_s.tolist(), strict=True)),
        broken=broken,
        unmade=unmade,
        conditions=conditions,
        populations=populations,
        evenness=evenness,
        ledger=ledger,
        counted=counted,
        server_cpu_us=server_cpu_us,
    )


def _nodes(nodes: Mapping[str, Mapping[int, NodeShare]], scale: int) -> tuple[NodeFacts, ...]:
    found = ((name, by_scale[scale]) for name, by_scale in nodes.items() if scale in by_scale)
    return tuple(
        NodeFacts(
            name,
            cpu_busy=share.cpu_busy,
            ceiling_share=share.rate_median_tps / share.ceiling_tps,
            start_off_ns=int(np.nan_to_num(share.start_late_ns)) + share.clock_error_ns,
            absent=share.absent,
        )
        for name, share in found
    )


def _absent(nodes: Iterable[NodeFacts]) -> int:
    """Cycles without some node; a node that was never there has no row by which it could be missed."""
    return len({words.partition(":")[0] for node in nodes for words in node.absent})


def of_index(spec: Asked) -> bool:
    """Whether the precision that was asked for is that of the index; a scale alone has none."""
    return spec.precision_of == "index" and len(spec.scales) > 1


def _populations(run: RunRecord, scale: int, load: Measured) -> int:
    """Populations of ``scale`` from which a cycle was measured; one that was cut short before left none."""
    begins = sorted({segment.first_cycle for segment in run.segments if segment.scale == scale})
    return len({bisect_right(begins, cycle) for cycle in load.cycles.tolist()} - {0})


def _run_facts(run: RunRecord, load: Mapping[int, Measured], makers: Makers) -> RunFacts:
    spec = run.spec
    durations_s = [float(part.duration_s.min()) for part in load.values()]
    decided = not spec.peak and (spec.precision is not None or spec.min_duration is not None)
    made = [part.cycles.size for part in load.values()]
    if not decided:
        # Of a run that was cut short, what a scale has at most: the others have a warning of their own.
        cut = run.status != "complete" and not (spec.peak or spec.searches)
        made = [min(spec.cycles, max(made))] if cut and made else []
    return RunFacts(
        workload=run.workload,
        status=run.status,
        reason=run.reason,
        remedy=run.remedy,
        duration_s=min(durations_s, default=spec.duration),
        cycles=spec.cycles,
        made=min(made, default=spec.cycles),
        peak=spec.peak,
        searched=spec.searches or spec.graduated or bool(spec.legs) or bool(spec.event),
        outages=bool(spec.event),
        precision=None if spec.precision is None or spec.searches or of_index(spec) else spec.precision / 100,
        isolation=spec.isolation,
        retry=spec.retry,
        reconnect=spec.reconnect,
        pacings=makers.pacings,
        timed=makers.timed,
        sized_for_s=spec.duration if makers.sized else np.nan,
        nodes=spec.nodes,
        embedded=run.embedded,
        single_writer=run.dialect.single_writer,
        cpus=run.cpus or 0,
        clock=run.item("operating system", "clock source"),
        governor=run.item("core", "frequency governor"),
        memory_limited="memory" in spec.limits,
        undo_log=run.engine == "firebird"
        and "auto_undo=off" not in spec.target.url
        and spec.target.settings.get("auto_undo") != "off",
        ceiling_tps=run.ceiling_tps,
        unsafe=tuple(UnsafeSwitch(s.switch, str(s.value), s.meaning) for s in run.unsafe),
    )


def _most(counts: Mapping[str, int]) -> str:
    return max(counts, key=lambda name: counts[name], default="")


def _client_cpus(resources: Iterable[Resource]) -> float:
    """CPU seconds per second of the load generator."""
    return next((r.per_second / 1e6 for r in resources if r.name == CLIENT_CPU), np.nan)


def _full_seconds(course: Floats | None, durations_s: Floats) -> Floats:
    """Counts of the whole seconds that all cycles have; shape (cycles, seconds), or (0, 0) where none is known."""
    shortest = int(durations_s.min()) if durations_s.size else 0
    if course is None or shortest < 1:
        return np.zeros((0, 0))
    ends = np.cumsum(np.ceil(durations_s)).astype(int)
    begins = np.concatenate([[0], ends[:-1]])
    return np.asarray(course[begins[:, np.newaxis] + np.arange(shortest), 0])


def _stalls(full: Floats, curve: Frequency | None) -> list[int]:
    return stalls(full, curve.quantiles_ns.get(1.0, 0.0)) if curve is not None and full.size else []


def _drifts(full: Floats) -> tuple[tuple[str, Drift], ...]:
    """Drift within the cycles laid over each other, and over all cycles."""
    if full.size == 0:
        return ()
    within = ("within the cycle", drift(full.sum(axis=0)))
    return (within, (f"over the {len(full)} cycles", over_cycles(full))) if len(full) > 1 else (within,)


def noticed(run: RunRecord) -> list[Doubt]:
    """What the run itself found doubtful while it went on."""
    return [Doubt(w.code, w.message, w.remedy, w.scale, w.severe) for w in run.warnings]


def _read_warnings(evaluation: Evaluation) -> tuple[Doubt, ...]:
    run, spec, rows = evaluation.rows.run, evaluation.rows.run.spec, evaluation.rows
    judged = judge(
        run, [row.scale for row in evaluation.of(RateResult).scales], rows.load,
            evaluation.of(LatencyResult).frequency, evaluation.of(CourseResult).seconds,
        evaluation.of(CostResult).resources, evaluation.of(ErrorsResult).errors, evaluation.of(NodesResult).nodes,
            evaluation.of(MachineResult).machine, evaluation.of(MachineResult).checkpoints,
        rows.makers, evaluation.of(CostResult).evenness, evaluation.of(CostResult).server_cpu,
            evaluation.of(ClientsResult).ledger, evaluation.of(ClientsResult).both_counts,
    )  # fmt: skip
    return (
        *judged,
        *special_doubts(run),
        *kind_doubts(run.workload, evaluation.of(KindsResult).kinds),
        *window_doubts(evaluation.of(KindsResult).windows),
        *capacity_doubts(evaluation.of(LoadResult).load),
        *(imprecise(evaluation.of(RateResult).index, (spec.precision or 0) / 100) if of_index(spec) else ()),
    )


def of_all_series(parts: Mapping[Series, Evaluation], noticed: Sequence[Doubt]) -> tuple[Doubt, ...]:
    """The warnings of all series, each once; ``noticed`` are those of them that stand in ``run.json``."""
    found: list[Doubt] = []
    names = phrases(parts)
    for key, part in parts.items():
        for doubt in part.of(WarningsResult).doubts:
            # What concerns the whole run or the database is the same for every series, and what the run noticed
            # while it went on is told with its cycle.
            general = doubt.scale is None or doubt.severe or doubt.code == "unchecked" or doubt in noticed
            told = doubt if general else replace(doubt, message=f"{names[key]}: {doubt.message}")
            found += [] if told in found else [told]
    return tuple(sorted(found, key=lambda doubt: not doubt.severe))


def group_warnings(found: Sequence[Doubt]) -> list[list[Doubt]]:
    """Warnings of one kind with one remedy together, those that void figures first.

    Warnings about the whole run differ in what they are about: each stands for itself.
    """
    groups: dict[tuple[str, str, bool], list[Doubt]] = {}
    for doubt in found:
        key = (doubt.code, doubt.remedy if doubt.scale is not None else doubt.message, doubt.severe)
        groups.setdefault(key, []).append(doubt)
    return sorted(groups.values(), key=lambda group: not group[0].severe)


def count_warnings(evaluation: Evaluation) -> int:
    """Of all kinds, as they are listed."""
    return len(group_warnings(evaluation.of(WarningsResult).doubts))


def list_warnings(evaluation: Evaluation) -> list[str]:
    """A line for each group with the scales, its remedy below it."""
    return [line for group in group_warnings(evaluation.of(WarningsResult).doubts) for line in _lines(group)]


def _by_message(group: Sequence[Doubt]) -> list[tuple[str, list[int]]]:
    """What is said, with the scales of which it is: figures of one scale are no figures of another."""
    found: dict[str, list[int]] = {}
    for doubt in group:
        scales = found.setdefault(_without_scale(doubt.message, doubt.scale), [])
        scales += [] if doubt.scale is None or doubt.scale in scales else [doubt.scale]
    return list(found.items())


def _lines(group: Sequence[Doubt]) -> Iterator[str]:
    word = "VOID" if group[0].severe else "warning"
    for message, scales in _by_message(group):
        where = f" at scale {scales[0]}" if scales else ""
        also = f" (also at {', '.join(map(str, scales[1:]))})" if scales[1:] else ""
        yield f"{word}{where}{also}: {message}"
    if group[0].remedy:
        yield f"  hint: {group[0].remedy}"


def tell_warnings(found: Sequence[Doubt], *, whole: bool = True) -> Iterator[Block]:
    """By kind: what is known, the scales, and one remedy. What differs by scale is that of the first of them, named,
    and not the ``whole``."""
    if found:
        yield Notices([_notice(group, whole) for group in group_warnings(found)])


def _notice(group: Sequence[Doubt], whole: bool) -> Notice:
    first, said = group[0], _by_message(group)
    numbers = sorted({doubt.scale for doubt in group if doubt.scale is not None})
    where = [f"scale{'s' * (len(numbers) > 1)} {', '.join(f'{scale:,}' for scale in numbers)}"] if numbers else []
    several = len(numbers) > 1 and len(said) > 1
    messages = [f"at scale {listed(scales)}, {message}" if several else message for message, scales in said]
    if len(messages) > 1 and not whole:
        messages = [messages[0], f"and {len(messages) - 1} more of this kind"]
    return Notice("; ".join(messages), where, first.remedy, first.severe)


def _without_scale(message: str, scale: int | None) -> str:
    """``message`` without its scale, which stands beside it."""
    return re.sub(rf" of scale {scale}(?=[ :])", "", message.removeprefix(f"scale {scale}: "), count=1)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    yield from tell_warnings(evaluation.of(WarningsResult).doubts)


class WarningsResult(Result):
    doubts = computed(
        _read_warnings, whole=lambda evaluation: of_all_series(evaluation.series, noticed(evaluation.run))
    )


SUBJECT: Final = Subject(
    "warnings", "Warnings", WarningsResult, tell=_tell,
    on_page=lambda evaluation: tell_warnings(evaluation.of(WarningsResult).doubts, whole=False),
    nothing="There are no warnings.",
)
