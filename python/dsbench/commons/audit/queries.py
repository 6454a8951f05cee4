"""Whether queries that are asked once each, as in TPC-H, were all asked, one after another, by as many streams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from dsbench.archive.conditions import State
from dsbench.commons.audit.rows import CYCLE, LATE_NS, Key, Rows, where

_STREAMS: Final = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
"""Scale factors from which on TPC-H asks for one stream more, from two on (clause 5.3.4)."""
_BETWEEN_NS: Final = 5e9
"""How long after a query the next one of its stream may begin: its text is made and the answer kept in between, which
took a millisecond, and a program that waits for a CPU takes seconds."""
_BESIDE: Final = 0.25
"""And as a share of the time of the longer one of both, whose answer may be long."""
_ANSWERS: Final = re.compile(r"(\d+) of (\d+) are those of DuckDB")


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
