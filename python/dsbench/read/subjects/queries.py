"""Queries that are run alone and as several streams: their times, and the figures that TPC-H makes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import exp, isfinite, log, nan
from statistics import fmean
from typing import TYPE_CHECKING, Final

from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.stats.queries import COLD, QUERIES, REFRESHES, Decision, Run, Temperatures, decide
from dsbench.workloads import find

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.spec import RunSpec

_NO_RESULT: Final = (
    "These figures are TPC-H-like: they are not TPC results, and cannot be compared with TPC results."
)


def _read_queries(evaluation: Evaluation) -> dict[int, Decision]:
    """By scale, of all stages together; empty for a workload that has no such stages."""
    whole = evaluation.rows.whole
    if whole.run.workload.meaning.specification != "TPC-H":
        return {}
    size = float(whole.run.spec.workload_settings.get("size", "1"))
    rows = whole.tables["cycles"].to_pylist()
    found = {}
    for scale in sorted({row["scale"] for row in rows}):
        decision = decide((row for row in rows if row["scale"] == scale), round(scale * size, 2))
        if decision is not None:
            found[scale] = decision
    return found


_FIGURES: Final = (
    Column("scale"), Column("SF", digits=6), Column("streams"), Column("run", left=True),
    Column("Power@Size-like", digits=4), Column("Throughput@Size-like", digits=4), Column("QphH@Size-like", digits=4),
    Column("geometric mean", "ms", 1e3), Column("sum", "s"), Column("of queries"), Column("T_s", "s"),
)  # fmt: skip
_TIMES: Final = (
    Column("scale"), Column("query", left=True), Column("power 1", "ms", 1e3), Column("power 2", "ms", 1e3),
    Column("streams, minimum", "ms", 1e3), Column("greatest", "ms", 1e3), Column("times"),
    Column("geometric mean", "ms", 1e3), Column("95% from", "ms", 1e3), Column("to", "ms", 1e3),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    found = evaluation.of(QueriesResult).queries
    if not found:
        return
    yield Sentence(_NO_RESULT, "note")
    for scale, one in found.items():
        for run in one.runs:
            if run.unfinished:
                words = f"{', '.join(run.unfinished)} did not finish in run {run.number}: its power is void"
                mean = f"the geometric mean is that of the {run.finished} queries that did."
                yield Sentence(f"scale {scale}: {words}, and {mean}", "warning")
    rows = [
        (scale, one.factor, one.streams, f"{run.number}, counts" if run is one.reported else str(run.number),
         run.power, run.throughput, run.qphh, run.geometric_s, run.sum_s, run.finished, run.elapsed_s or nan)
        for scale, one in found.items() for run in one.runs
    ]  # fmt: skip
    yield Table("Power and throughput", _FIGURES, rows)
    times = []
    for scale, one in found.items():
        for query in one.queries:
            power = (*query.power_s, None, None)[:2]
            streams = (min(query.streams_s), max(query.streams_s)) if query.streams_s else (None, None)
            count = len(query.power_s) + len(query.streams_s)
            times.append((scale, query.kind, *power, *streams, count, query.mean_s, *query.interval_s))
    yield Table("Times of the queries", _TIMES, times)
    yield from _tell_temperatures(evaluation)
    yield Sentence(
        "The interval is that of the geometric mean of all times, by Student's t over their logarithms: parameters "
        "differ between runs of a query, and streams run concurrently.", "note",
    )  # fmt: skip


_TEMPERATURES: Final = (
    Column("scale"), Column("query", left=True), Column("cold", "ms", 1e3), Column("hot", "ms", 1e3),
    Column("cold / hot", digits=3), Column("95% from", digits=3), Column("to", digits=3), Column("restarts"),
)  # fmt: skip


def _tell_temperatures(evaluation: Evaluation) -> Iterator[Block]:
    rows: list[tuple[object, ...]] = []
    for scale, one in evaluation.of(QueriesResult).queries.items():
        known = one.temperatures
        if known is None:
            continue
        if isfinite(known.power_cold):
            words = f"the power of the 22 queries is {known.power_cold:,.4g}/h cold and {known.power_hot:,.4g}/h hot"
            times = f"a cold query takes {known.cold_s / known.hot_s:.3g} times as long"
            yield Sentence(f"scale {scale}: {words}: {times}.", "lead")
        rows += ((scale, query.kind, _mean(query.cold_s), _mean(query.hot_s), query.ratio, *query.interval,
                  len(query.cold_s)) for query in known.queries)  # fmt: skip
    if not rows:
        return
    yield Table("Cold and hot", _TEMPERATURES, rows)
    restarts = [row for row in evaluation.rows.whole.tables["phases"].to_pylist() if row["phase"] == "restart"]
    took = sum(row["duration_ns"] for row in restarts) / 1e9 / max(len(restarts), 1)
    held = max((row["size_bytes"] or 0 for row in restarts), default=0)
    began = "all sessions were reopened" if evaluation.run.embedded else "the server was stopped and started again"
    yield Sentence(
        f"Cold: before a query {began} ({took:.2g} s on average), and its files were removed from the page cache, up "
        f"to {held / 2**20:,.4g} MiB. Caches of the storage and of a hypervisor were not cleared. Hot: the shorter "
        "time of two repetitions. Queries have the default parameters, without refreshes.",
        "note",
    )  # fmt: skip


def _mean(times: Sequence[float]) -> float:
    return exp(fmean(map(log, times)))


def _temperature(figure: Callable[[Temperatures], float]) -> Callable[[Evaluation], dict[int, float]]:
    def read(part: Evaluation) -> dict[int, float]:
        known = {x: figure(one.temperatures)
            for x, one in part.of(QueriesResult).queries.items() if one.temperatures is not None}
        return {x: value for x, value in known.items() if isfinite(value)}

    return read


def _in_cold(figure: Callable[[Temperatures], float]) -> Callable[[Evaluation], dict[int, float]]:
    return lambda part: _temperature(figure)(part) if part.stage == COLD else {}


def _mean_of_all(run: Run) -> float:
    return run.geometric_s if run.finished == len(QUERIES) else nan


def _of_run(figure: Callable[[Run], float]) -> Callable[[Evaluation], dict[int, float]]:
    return lambda part: {x: figure(one.reported)
        for x, one in part.of(QueriesResult).queries.items() if isfinite(figure(one.reported))}


def _of_test(test: str, figure: Callable[[Run], float]) -> Callable[[Evaluation], dict[int, float]]:
    """Of the run whose ``test``, power or throughput, the stage is."""

    def read(part: Evaluation) -> dict[int, float]:
        known = {x: figure(run) for x, one in part.of(QueriesResult).queries.items() for run in one.runs
                 if part.stage == f"{test}{run.number}"}  # fmt: skip
        return {x: value for x, value in known.items() if isfinite(value)}

    return read


def _time_of(kind: str) -> Callable[[Evaluation], dict[int, float]]:
    """In seconds: of all tests the geometric mean, of a stage that repeats its queries the mean."""

    def read(part: Evaluation) -> dict[int, float]:
        from dsbench.read.subjects.kinds import KindsResult  # Late: it needs this module.

        if part.of(QueriesResult).queries:
            times = {x: [q.mean_s for q in one.queries if q.kind == kind]
                for x, one in part.of(QueriesResult).queries.items()}
        else:
            known = {x: [row for row in rows if row.kind == kind and row.committed]
                for x, rows in part.of(KindsResult).kinds.items()}
            times = {x: [row.service_mean_ns / 1e9 for row in rows] for x, rows in known.items()}
        return {x: found[0] for x, found in times.items() if found and isfinite(found[0])}

    return read


def _time_in_stage(kind: str) -> Callable[[Evaluation], dict[int, float]]:
    """In seconds, of a stage alone: in tests the geometric mean over its streams, else as in all."""

    def read(part: Evaluation) -> dict[int, float]:
        if not part.of(QueriesResult).queries:
            return _time_of(kind)(part)
        logs: dict[int, list[float]] = defaultdict(list)
        for row in part.rows.cycles.to_pylist():
            if row["kind"] == kind and row["committed"]:
                logs[row["scale"]].append(log(row["residence_ns"] / 1e9 / row["committed"]))
        return {x: exp(fmean(found)) for x, found in logs.items()}

    return read


def _runs_tests(*tests: str) -> Callable[[RunSpec], bool]:
    """Whether a run has the stages of TPC-H, with ``--set tests`` one of ``tests`` where they are named."""

    def possible(spec: RunSpec) -> bool:
        asked = spec.workload_settings.get("tests", "both")
        return find(spec.workload).meaning.specification == "TPC-H" and (not tests or asked in tests)

    return possible


def _runs_cold(spec: RunSpec) -> bool:
    return _runs_tests()(spec) and spec.workload_settings.get("cold", "0") != "0"


def _runs_kind(kind: str) -> Callable[[RunSpec], bool]:
    return lambda spec: any(one.name == kind for one in find(spec.workload, spec.workload_settings).kinds)


_POWER: Final = "run --workload tpch"
_STREAMS: Final = f"{_POWER} with both tests: without --set tests=power"
_COLD: Final = f"{_POWER} with --set cold=3"
_KIND: Final = "run --workload tpch, or --workload ch with its --stage"


class QueriesResult(Result):
    queries = computed(_read_queries)
    """By scale: power, throughput and the times of queries, of all stages; empty where there are no such queries."""


SUBJECT: Final = Subject(
    "queries", "Queries", QueriesResult, tell=_tell,
        nothing="The workload has no power and throughput tests of queries.",
    measures=(
        Measure("power", "1/h", "power of the lower run, TPC-H-like", _of_run(lambda run: run.power),
                needs=_POWER, in_stage=_of_test("power", lambda run: run.power), possible=_runs_tests()),
        Measure("throughput", "1/h", "throughput of the lower run, TPC-H-like",
                _of_run(lambda run: run.throughput), needs=_STREAMS,
                in_stage=_of_test("throughput", lambda run: run.throughput), possible=_runs_tests("both")),
        Measure("qphh", "1/h", "composite of power and throughput, TPC-H-like", _of_run(lambda run: run.qphh),
                needs=_STREAMS, in_stage=lambda _: {}, possible=_runs_tests("both")),
        Measure("query-time", "s", f"geometric mean of the {len(QUERIES)} queries in the power test of the lower run",
                _of_run(_mean_of_all), more=False, needs=_POWER, in_stage=_of_test("power", _mean_of_all),
                possible=_runs_tests()),
        Measure("power-cold", "1/h", "power of the 22 queries, each on a server that was just started, TPC-H-like",
                _temperature(lambda known: known.power_cold), needs=_COLD, possible=_runs_cold,
                in_stage=_in_cold(lambda known: known.power_cold)),
        Measure("power-hot", "1/h", "power of the 22 queries, each repeated, TPC-H-like",
                _temperature(lambda known: known.power_hot), needs=_COLD, possible=_runs_cold,
                in_stage=_in_cold(lambda known: known.power_hot)),
        *(Measure(kind.lower(), "s", f"mean time of {kind}, in all tests or in a stage", _time_of(kind), more=False,
                  needs=_KIND, in_stage=_time_in_stage(kind), possible=_runs_kind(kind))
          for kind in (*QUERIES, *REFRESHES)),
    ),
)  # fmt: skip
