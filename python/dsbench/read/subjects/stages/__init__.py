"""What each stage reached and took, out of the tables of an archive: see ``analysis.efficiency``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive.record import StageAsked
from dsbench.dataclass import dataclass
from dsbench.format import FAILED
from dsbench.read.blocks import Block, Column, Part, Sentence, Table, Terms
from dsbench.read.groups import Series, grouped, plain, whole
from dsbench.read.measured import Measured
from dsbench.read.naming import tag
from dsbench.read.series import labels
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.read.subjects.course import CourseResult, whole_seconds
from dsbench.read.subjects.stages.operations import (
    count,
    demanded,
    in_order,
    inserted_bytes,
    last_sizes,
    live_bytes,
    own_times,
    taken_from,
    target,
)
from dsbench.stats import histogram as hist
from dsbench.stats.efficiency import (
    BORDERS,
    COLUMNS,
    SUSTAINED,
    Background,
    Efficiency,
    Spent,
    Times,
    in_buckets,
    per,
    values,
)
from dsbench.stats.values import Floats
from dsbench.workloads import Entry

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.rows import RunRows

@dataclass(frozen=True)
class Tables:
    """Those of one series."""

    cycles: pa.Table
    groups: pa.Table
    buckets: pa.Table
    """With response times of all groups where one has them."""
    monitors: pa.Table
    """Of the system under test."""


def efficiencies(
    entry: Entry, tables: Tables, load: Mapping[int, Measured], courses: Mapping[int, Mapping[str, Floats]],
    live: Mapping[int, float],
) -> dict[int, Efficiency]:
    """By scale; ``courses`` are those of ``group_courses``, ``live`` the bytes of user data at the end."""
    kinds = {kind.name: kind for kind in entry.kinds}
    names = in_order(tables.groups)
    counts = count(tables.cycles, kinds)
    taken = taken_from(tables.cycles, tables.groups, tables.monitors)
    sizes, times_of = last_sizes(tables.monitors), own_times(tables.groups)
    found = {}
    for scale, part in load.items():
        here = {name: counts[scale, name] for name in names.get(scale, ()) if (scale, name) in counts}
        if not here:
            continue
        rated = demanded(tables.groups, scale)
        measured = next((name for name in here if name not in rated), next(iter(here)))
        one, spans = here[measured], taken.get(scale, {})
        times, flying = _times(tables.buckets, scale), _in_flight(tables.cycles, scale)
        times = {name: replace(some, max_ns=max(some.max_ns, flying.get(name, 0))) for name, some in times.items()}
        longest_ns = times[measured].max_ns if measured in times else flying.get(measured, 0)
        inserting = [group for group in here.values() if group.inserts]
        # Groups may end at times of their own; where some insert, rates are over the time of the stage.
        lasted: dict[int, float] = dict(zip(part.cycles.tolist(), part.duration_s.tolist(), strict=True))
        own: dict[int, float] = {} if inserting else times_of.get((scale, measured), {})
        times_s = {cycle: own.get(cycle, in_all) for cycle, in_all in lasted.items()}
        counted = inserting if one.inserts else [one]
        spent = Spent(
            duration_s=sum(times_s.values()) if own else part.measured_s,
            operations=one.total,
            inserts=one.inserts,
            inserted=sum(group.total for group in inserting) if inserting else nan,
            **spans,
            **_last(sizes, scale),
            longest_ns=float(longest_ns) if longest_ns else nan,
            rates=whole_seconds(courses[scale][measured], part) if measured in courses.get(scale, {}) else np.empty(0),
            written_bytes=inserted_bytes(tables.cycles, scale, kinds),
            live_bytes=live.get(scale, nan),
        )
        background = tuple(
            Background(name, "rows" if group.rows else "transactions", target(rated[name], group),
                       group.total / part.measured_s, group.inserts)
            for name, group in here.items() if name != measured and name in rated
        )  # fmt: skip
        deleting = [group.total for group in here.values() if group.deletes]
        deleted = sum(deleting) / part.measured_s if deleting else nan
        found[scale] = Efficiency(
            measured, "rows" if one.rows else "transactions", values(spent), background, times, deleted,
            tuple(per(sum(group.operations.get(cycle, 0.0) for group in counted), time_s)
                  for cycle, time_s in times_s.items()),
        )  # fmt: skip
    return found


def timed(
    stages: Sequence[StageAsked], phases: pa.Table, monitors: pa.Table, live: Mapping[tuple[Series, int], float]
) -> dict[Series, dict[int, Efficiency]]:
    """Stages of statements that are timed: what they went through and took, by scale. ``monitors`` are those of the
    system under test; ``live`` is what ``live_bytes`` gives."""
    found: dict[Series, dict[int, Efficiency]] = {}
    rows = phases.select(["scale", "stage", "cycle", "phase", "duration_ns", "rows"]).to_pylist()
    there: dict[int, float] = {}
    for stage in stages:
        there |= {scale: size for (key, scale), size in live.items() if key.stage == stage.name}
        here = [row for row in rows if row["stage"] == row["phase"] == stage.name]
        if stage.work != "work" or not here:
            continue
        own = pa.Table.from_pylist(here)
        of_stage = monitors.filter((pc.field("stage") == stage.name) & (pc.field("cycle") == 0))
        known = of_stage.filter(pa.array(np.isin(whole(of_stage, "scale"), whole(own, "scale")), pa.bool_()))
        taken, sizes = taken_from(own, own, known), last_sizes(known)
        found[Series(stage.name, 0)] = {
            row["scale"]: _of_statements(row, taken, sizes, there.get(row["scale"], nan)) for row in here
        }
    return found


def _of_statements(
    row: Mapping[str, Any], taken: Mapping[int, dict[str, float]], sizes: Mapping[tuple[int, str], float], live: float
) -> Efficiency:
    scale, rows = row["scale"], float(row["rows"] or nan)
    known: dict[str, Any] = {**taken.get(scale, {}), **_last(sizes, scale)}
    spent = Spent(row["duration_ns"] / 1e9, rows, inserts=True, inserted=rows, live_bytes=live, **known)
    return Efficiency("", "rows", values(spent))


def _last(sizes: Mapping[tuple[int, str], float], scale: int) -> dict[str, float]:
    return {f"{name}_bytes": sizes.get((scale, name), nan) for name in ("database", "directory", "resident")}


def _times(buckets: pa.Table, scale: int) -> dict[str, Times]:
    """Group to its response times; residence times where no group has a rate."""
    here = buckets.filter(pc.field("scale") == scale)
    response = here.filter(pc.field("measure") == "response")
    chosen = response if response.num_rows else here.filter(pc.field("measure") == "residence")
    chosen = plain(chosen)
    names, number = grouped(chosen, ("group",))
    low, high, count = (whole(chosen, name) for name in ("low_ns", "high_ns", "count"))
    found = {}
    for at, (name,) in enumerate(names):
        of = number == at
        values = hist.histogram(low[of], high[of], count[of])
        if values.count:
            found[name] = in_buckets(values)
    return found


def _in_flight(cycles: pa.Table, scale: int) -> dict[str, int]:
    """Group to the longest transaction that was in flight at the end of a cycle, from its intended start."""
    here = plain(cycles.filter((pc.field("scale") == scale) & (pc.field("in_flight_max_ns") > 0)))
    rows = here.group_by("group").aggregate([("in_flight_max_ns", "max")]).to_pylist()
    return {row["group"]: row["in_flight_max_ns_max"] for row in rows}


def _live(rows: RunRows) -> dict[tuple[Series, int], float]:
    return live_bytes(rows.run.workload, rows.tables["cycles"])


def _read_efficiency(evaluation: Evaluation) -> dict[int, Efficiency]:
    rows = evaluation.rows
    tables = Tables(rows.cycles, rows.of_cycles("groups"), rows.buckets, rows.monitors)
    live = {x: size for (key, x), size in _live(rows.whole).items() if key == rows.key}
    return efficiencies(rows.run.workload, tables, rows.load, evaluation.of(CourseResult).group_courses, live)


def _read_stage(evaluation: Evaluation) -> dict[Series, Mapping[int, Efficiency]]:
    return {evaluation.key: evaluation.of(StagesResult).efficiency}


def _read_stages(evaluation: Evaluation) -> dict[Series, Mapping[int, Efficiency]]:
    """Of all series and of the stages of statements between them, as the run has them."""
    whole = evaluation.rows.whole
    found = {key: one.of(StagesResult).efficiency for key, one in evaluation.series.items()}
    found |= timed(whole.run.stages, whole.tables["phases"], whole.monitors, _live(whole))
    order = {stage.name: at for at, stage in enumerate(whole.run.stages)}
    return dict(sorted(found.items(), key=lambda one: order.get(one[0].stage, -1)))


_NOTE: Final = (
    "–: not known. q: an operation of the measured clients, i: an inserted row, or an operation without inserts. "
    "Device, context switches and CPU are those of the whole machine."
)
_EXACT: Final = (
    "The archive counts response times in buckets at most 0.1% wide. A bucket across a border counts on the side "
    "of its middle; at a border: how many these are. The maximum is exact and includes transactions in flight."
)
_FIGURES: Final = tuple(Column(one.name, one.unit, about=one.sentence) for one in COLUMNS)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """What each stage reached and took of the machine, the work beside it, and its response times."""
    found = list(_each_stage(evaluation))
    if not found:
        return
    keys = _keys(evaluation)
    if failing := [", ".join(cells) for cells, one in found if one.sustained is False]:
        words = f"the background inserts did not reach {SUSTAINED:.0%} of their target rate."
        yield Sentence(f"{FAILED} in {'; '.join(failing)}: {words}", "warning")
    whole = tabulate_efficiency(evaluation)
    # Programs that set archives beside each other need the tag; here it is the same in each row.
    yield replace(whole, columns=whole.columns[:-1], rows=[row[:-1] for row in whole.rows])
    yield Sentence(_NOTE, "note")
    terms = [(column.head, column.about) for column in _FIGURES]
    yield Part("What the columns mean", [Terms(terms)], folded=True)
    if beside := [(cells, one) for cells, stage in found for one in stage.background]:
        heads = (
            Column("group", left=True), Column("counted", left=True), Column("target", "1/s"),
            Column("sustained", "1/s"), Column("share", form=".1%"), Column(f"{SUSTAINED:.0%} rule", left=True),
        )  # fmt: skip
        rows = [(*cells, one.group, one.counted, one.target_per_s, one.sustained_per_s, one.share,
                 "sustained" if one.met else FAILED) for cells, one in beside]  # fmt: skip
        missed = frozenset(at for at, (_, one) in enumerate(beside) if not one.met)
        yield Table("Background work", (*keys, *heads), rows, missed)
    counts = (*map(Column, BORDERS), Column("max", "ms", 1e-6), Column("at a border"))
    times = [(*cells, group, *one.counts, float(one.max_ns), one.unsure)
             for cells, stage in found for group, one in stage.times.items()]  # fmt: skip
    yield Table("Response times by stage: how many up to", (*keys, Column("group", left=True), *counts), times)
    yield Sentence(_EXACT, "note")


def tabulate_efficiency(evaluation: Evaluation) -> Table:
    """A row for each stage and scale: as results-efficiency.csv has it, for programs too."""
    found = list(_each_stage(evaluation))
    columns = (*_keys(evaluation), *_FIGURES, Column("sustained", left=True), Column("tag", left=True))
    kept = {True: "yes", False: "no", None: None}
    name = tag(evaluation.run) if found else ""
    rows = [(*cells, *one.values.values(), kept[one.sustained], name) for cells, one in found]
    failing = frozenset(at for at, (_, one) in enumerate(found) if one.sustained is False)
    return Table("Efficiency by stage", columns, rows, failing)


def _each_stage(evaluation: Evaluation) -> Iterator[tuple[tuple[str, ...], Efficiency]]:
    """What tells a row from the others, and what was reached; stages of statements as well, in order."""
    said = labels(evaluation.of(StagesResult).stages) if len(evaluation.of(StagesResult).stages) > 1 else {}
    for key, scales in evaluation.of(StagesResult).stages.items():
        yield from (((*said.get(key, {}).values(), str(scale)), one) for scale, one in sorted(scales.items()))


def _keys(evaluation: Evaluation) -> tuple[Column, ...]:
    said = labels(evaluation.of(StagesResult).stages) if len(evaluation.of(StagesResult).stages) > 1 else {}
    names = next(iter(said.values()), {})
    return (*(Column(name, left=name == "stage") for name in names), Column("scale"))


def _of_column(name: str) -> Callable[[Evaluation], dict[int, float]]:
    return lambda part: {x: one.values[name] for x, one in part.of(StagesResult).efficiency.items()}


_MORE: Final = ("ips", "qps")
"""Columns of which more is better."""
_ADDED: Final = ("cpups", "rps", "rmbps", "rpq", "rkbpq", "read_amp", "wps", "wmbps", "wpi", "wkbpi", "write_amp")
"""Those that are often 0, or shares: their trials have an arithmetic mean."""
MEASURES: Final = tuple(
    Measure(one.name, one.unit, f"column {one.name}: {one.sentence}", _of_column(one.name), more=one.name in _MORE,
            geometric=one.name not in _ADDED, of_statements=True)
    for one in COLUMNS if one.name not in ("p50", "p99")
)  # fmt: skip
"""The columns of the Insert Benchmark, but for its rates at levels: ``p50`` and ``p99`` are latencies here."""


class StagesResult(Result):
    efficiency = computed(_read_efficiency)
    """Scale to what the cycles reached and took of the machine, by the columns of the Insert Benchmark."""
    stages = computed(_read_stage, whole=_read_stages)
    """The same of every series, and of the stages of statements in between, which have 0 clients; in order."""


def _tell_on_page(evaluation: Evaluation) -> Iterator[Block]:
    """Of a workload that has several stages, or other clients beside those that it measures."""
    if evaluation.counts_operations or any(part.counts_operations for part in evaluation.series.values()):
        yield from _tell(evaluation)


SUBJECT: Final = Subject(
    "stages", "Stages", StagesResult, tell=_tell, on_page=_tell_on_page,
    nothing="No cycle was finished, so no stage has figures.",
    measures=MEASURES,
)  # fmt: skip
