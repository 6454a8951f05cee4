"""Whether starts were as they had to be: in an open loop, at the levels of a graduated load, in a search for a rate.

And of queries that are asked once each, as in TPC-H: one after another, by as many streams.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from dsbench.archive.asked import Asked
from dsbench.archive.conditions import State
from dsbench.commons.audit.rows import CYCLE, LATE_NS, Key, Rows, where
from dsbench.read.subjects.load import read_loads
from dsbench.spec.objective import GRADES, ROUNDS
from dsbench.stats.capacity import next_step
from dsbench.stats.search import Load, plan_search, sum_up
from dsbench.stats.tpcc import ceiling_of

_GRADED: Final = 2e-3
"""What rates that are rounded to four digits are off, relatively."""
_HASTE: Final = 1.2
"""How many times as much as on average people at terminals enter at most in a cycle, beside what is chance."""
_SIGMAS: Final = 8
"""Standard deviations by which no count of a Poisson process lies off."""
_STREAMS: Final = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
"""Scale factors from which on TPC-H asks for one stream more, from two on (clause 5.3.4)."""
_BETWEEN_NS: Final = 5e9
"""How long after a query the next one of its stream may begin: its text is made and the answer kept in between, which
took a millisecond, and a program that waits for a CPU takes seconds."""
_BESIDE: Final = 0.25
"""And as a share of the time of the longer one of both, whose answer may be long."""
_ANSWERS: Final = re.compile(r"(\d+) of (\d+) are those of DuckDB")


def paced(run: Rows) -> Iterator[str]:
    """In an open loop no more ends than is due: what the demanded rate comes to over the cycle and its ramp-up."""
    ended: dict[Key, int] = {}
    for key, values in run.ended.items():
        ended[*key[:3], key[5]] = ended.get((*key[:3], key[5]), 0) + values[0] + values[1]
    legs = run.run.spec.legs
    for row in run.tables["groups"].to_pylist():
        if row["pacing"] not in ("poisson", "constant") or row["rows_per_s"] is not None:
            continue
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        due = sum(leg.due(leg.duration_s) for leg in legs) if legs else 0.0
        if row["rate_per_s"] and not legs:
            due = row["rate_per_s"] * (row["duration_ns"] + (row["ramp_up_ns"] or 0)) / 1e9
        most = due + _SIGMAS * due**0.5 + _SIGMAS
        if due and ended.get(key, 0) > most:
            yield f"{where(key)}: {ended[key]:,} transactions ended of {due:,.0f} that were due"


def graded(run: Rows) -> Iterator[str]:
    """A graduated load has each of its levels, at that share of the first one's rate."""
    spec = run.run.spec
    rows = [row for row in run.tables["groups"].to_pylist() if row["level"] is not None]
    if rows and not spec.graduated:
        yield "the levels of its load were not requested"
    if not spec.graduated:
        return
    loads = read_loads(run.tables, spec.objectives, spec.duration) if spec.searches else {}
    for scale in sorted({key[0] for key in run.finished}):
        found: dict[float, list[float]] = {}
        cycles: dict[float, set[int]] = {}
        for row in (row for row in rows if row["scale"] == scale):
            found.setdefault(row["level"], []).append(row["rate_per_s"])
            cycles.setdefault(row["level"], set()).add(row["cycle"])
        if not found and scale in loads and loads[scale].capacity is None:
            continue  # Its search found no rate to take shares of.
        full = next(iter(found.get(GRADES[0], ())), 0.0)
        for level in GRADES:
            if (there := len(cycles.get(level, ()))) != spec.cycles:
                yield f"scale {scale}: {spec.cycles} cycles at {level}% were requested, and there are {there}"
            off = [rate for rate in found[level] if level and abs(rate - full * level / 100) > _GRADED * full]
            if off:
                yield f"scale {scale}: {off[0]:g} starts per second are not {level}% of {full:g}"
        order = [level for level, _ in sorted(cycles.items(), key=lambda one: min(one[1]))]
        if order != sorted(order, reverse=True):
            yield f"scale {scale}: its levels are not in their order"


def terminals(run: Rows) -> Iterator[str]:
    """People at terminals enter no more than their keying and thinking lets them, whatever the database does."""
    spec, kinds = run.run.spec, run.run.workload.kinds
    if spec.pace != "terminals":
        return
    each_s = _HASTE * sum(ceiling_of(kinds, kind.name, 1, 1.0) for kind in kinds)
    for cycle, count in run.whole.items():
        people = spec.terminals_at(cycle[0], run.run.workload.defaults.terminals_per_unit) or 0
        due = people * each_s * (run.longest.get(cycle, 0) + run.ramps.get(cycle, 0)) / 1e9
        if count > due + _SIGMAS * due**0.5 + people + _SIGMAS:
            yield f"{where(cycle)}: {count:,} transactions ended, and {people} terminals enter {due:,.0f}"


def search(run: Rows) -> Iterator[str]:
    """Each step of a search for a rate is the one that follows from those before it, and the last one ends it."""
    spec = run.run.spec
    if not spec.searches:
        return
    wanted = [(one.allowed, one.limit_ns / 1e9) for one in spec.objectives]
    search = plan_search(spec.duration, spec.ramp_up, spec.precision, spec.max_cycles)
    for scale, load in read_loads(run.tables, spec.objectives, spec.duration).items():
        for at, one in enumerate(load.tried):
            steps = [[before.steps[number] for before in load.tried[:at]] for number in range(len(wanted))]
            step = next_step(steps, wanted, search, one.demanded)
            if step is None:
                yield from _end_of_search(scale, load, at, spec)
                break
            if abs(one.demanded - step.rate) > _GRADED * step.rate or abs(one.seconds - step.seconds) > 1e-2:
                words = f"{one.demanded:,.6g}/s for {one.seconds:g} s, and {step.rate:,.6g}/s for {step.seconds:.4g} s"
                yield f"scale {scale}, cycle {one.cycle}: its search went on with {words} follow from the steps before"
                break


def _end_of_search(scale: int, load: Load, at: int, spec: Asked) -> Iterator[str]:
    """From cycle number ``at`` on: cycles at the rate that was found, and once more where most of these miss."""
    rate, rest = sum_up(load.tried[:at], spec.objectives).rate, load.tried[at:]
    there = len(rest)
    if spec.graduated:
        if any(not abs(one.demanded - rate) <= _GRADED * rate for one in rest):
            yield f"scale {scale}: its search was over, and it went on with {rest[0].demanded:,.6g}/s"
        return
    for _ in range(ROUNDS):
        round_, rest = rest[: spec.cycles], rest[spec.cycles :]
        if any(not abs(one.demanded - rate) <= _GRADED * rate for one in round_):
            yield f"scale {scale}: its search was over, and it went on with {round_[0].demanded:,.6g}/s"
            return
        if len(round_) != spec.cycles:
            break
        at += spec.cycles
        rate = sum_up(load.tried[:at], spec.objectives).lower
        if not rate:
            break
    else:
        rate = 0.0
    if rate or rest:
        yield f"scale {scale}: {spec.cycles} cycles at the rate it found were requested, and there are {there}"


def queries(run: Rows) -> Iterator[str]:
    """Each test has its stages, its streams and its answers, and a stream asks one query after another."""
    spec = run.run.spec
    if run.run.workload.meaning.specification != "TPC-H":
        return
    settings = spec.workload_settings
    tests = ("power", "throughput") if settings.get("tests", "both") == "both" else ("power",)
    asked = [f"{test}{number}" for number in range(1, int(settings.get("runs", "2")) + 1) for test in tests]
    rows = run.tables["cycles"].to_pylist()
    for scale in sorted({key[0] for key in run.finished}):
        there = {key[1] for key in run.finished if key[0] == scale}
        if lacking := [stage for stage in asked if stage not in there]:
            yield f"scale {scale}: {lacking[0]} was requested and is missing"
        factor = round(scale * float(settings.get("size", "1")), 2)
        streams = int(settings.get("streams", "0")) or 2 + sum(factor >= one for one in _STREAMS)
        for stage in (stage for stage in asked if stage.startswith("throughput") and stage in there):
            here = [row for row in rows if (row["scale"], row["stage"], row["group"]) == (scale, stage, "query")]
            if (found := len({(row["node"], row["client"]) for row in here})) != streams:
                yield f"scale {scale}: {streams} streams are requested, and {stage} has {found}"
        yield from _answers(run, scale, [stage for stage in asked if stage in there])
    yield from _one_after_another(rows)


def _answers(run: Rows, scale: int, stages: Sequence[str]) -> Iterator[str]:
    """Where answers were compared, those of each stage were, and each of them is right."""
    told = {one.name: one for one in run.run.checks.get(scale, ())}
    if not any(name.removeprefix("answers of ") in stages for name in told):
        return  # None were to be compared.
    for stage in stages:
        one = told.get(f"answers of {stage}")
        if one is not None and one.state is State.NOT_MADE:
            continue
        found = _ANSWERS.match(one.detail) if one else None
        if one is None or found is None:
            yield f"scale {scale}: its check does not cover the answers of {stage}"
        elif one.state is State.HOLDS and found[1] != found[2]:
            yield f"scale {scale}: the answers of {stage} are right by its check, and {one.detail[:100]}"


def _one_after_another(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A client that asked each of its queries once asked it after the one before, and soon."""
    clients: dict[Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["stage"].startswith(("power", "throughput")):
            clients.setdefault(tuple(row[name] for name in (*CYCLE, "group", "node", "client")), []).append(row)
    for key, asked in clients.items():
        if any(row["committed"] != 1 or row["failed"] for row in asked):
            continue
        for one, other in pairwise(sorted(asked, key=lambda row: int(row["first_start_ns"]))):
            waited = other["first_start_ns"] - one["last_end_ns"]
            most = _BETWEEN_NS + _BESIDE * max(one["residence_ns"], other["residence_ns"])
            names = f"{one['kind']} and {other['kind']}"
            if waited < -LATE_NS:
                yield f"{where(key)}: one stream asked {names} at the same time"
            if waited > most:
                yield f"{where(key)}: no query ran for {waited / 1e9:.4g} s between {names}"
