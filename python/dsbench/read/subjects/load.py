"""The highest rate at which an objective holds, and the latency at each rate that was tried."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, Final

from dsbench.archive.cycles import read_cycles
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.subject import Measure, Result, Subject, Values, computed
from dsbench.read.subjects.cost import server_cpu
from dsbench.spec.objective import Objective
from dsbench.stats.cycles import CycleFigures
from dsbench.stats.search import QUANTILES, Load, search

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.rows import Tables


def read_loads(tables: Tables, objectives: Sequence[Objective], whole_s: float) -> dict[int, Load]:
    """Scale to the search for a rate with ``objectives``, by the tables of an archive; empty where there is none.

    Cycles of less than ``whole_s`` seconds only looked for the region.
    """
    if not objectives:
        return {}
    cycles = read_cycles(tables)
    committed = {(one.scale, one.cycle): one.committed for one in cycles}
    cpu_us: dict[int, dict[int, float]] = defaultdict(dict)
    for (scale, cycle), us in server_cpu(tables["monitors"], tables["groups"], committed).items():
        cpu_us[scale][cycle] = us
    by_scale: dict[int, list[CycleFigures]] = defaultdict(list)
    for one in cycles:
        by_scale[one.scale].append(one)
    found = {scale: search(of, objectives, whole_s, cpu_us[scale]) for scale, of in by_scale.items()}
    return {scale: load for scale, load in found.items() if load is not None}


def _read_load(evaluation: Evaluation) -> Mapping[int, Load]:
    spec = evaluation.rows.whole.run.spec
    return read_loads(evaluation.rows.whole.tables, spec.objectives, spec.duration)


_COLUMNS: Final = (
    Column("scale"), Column("cycle", spare=True), Column("demanded", "1/s", digits=4),
    Column("achieved", "tps", digits=4), *(Column(f"p{100 * q:g}", "ms") for q in QUANTILES),
    Column("missed", form=".3%", about="share of the transactions that missed the objective"),
    Column("holds", left=True),
    Column("server CPU", "µs", about="CPU time of the server per transaction"),
    Column("seconds", "s", digits=2, spare=True),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    rows: list[tuple[Any, ...]] = []
    for scale, load in evaluation.of(LoadResult).load.items():
        yield Sentence(f"Scale {scale:,}: {load.words}.", "lead")
        at = [one.text for one in evaluation.run.spec.objectives].index(load.objective.text)
        for one in sorted(load.tried, key=lambda tried: tried.demanded):
            step = one.steps[at]
            share = step.missed / step.count if step.count else nan
            rows.append((scale, one.cycle, one.demanded, one.achieved, *one.quantiles_ms, share,
                         one.holds, one.cpu_us, one.seconds))  # fmt: skip
    if rows:
        yield Table("Response times by rate", _COLUMNS, rows)


def _capacities(part: Evaluation) -> Values:
    return {scale: load.rate for scale, load in part.of(LoadResult).load.items()}


class LoadResult(Result):
    load = computed(_read_load, whole=_read_load)
    """By scale: the search of the highest rate with an objective; empty without one."""


SUBJECT: Final = Subject(
    "load", "Capacity", LoadResult, tell=_tell,
    nothing="There was no search for a rate (--objective).",
    measures=(
        Measure("capacity", "tps", "highest rate at which the objective holds", _capacities,
                needs="run with --objective", possible=lambda spec: spec.searches),
    ),
)  # fmt: skip
