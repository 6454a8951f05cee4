"""Whether all that was asked for is there: scales, cycles, clients, seconds, and nothing that nobody asked for."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pyarrow.parquet as pq

from dsbench.archive import TABLES, Archive
from dsbench.commons.audit.rows import CYCLE, LATE_NS, MOST, Rows, where
from dsbench.spec.objective import GRADES

_MOST_ROWS: Final = 200_000
"""Of a table of an entry: rules look at each of them, some microseconds long."""
_MOST_TIMES: Final = 2_000_000
"""Of those that have a row for a time and a counter, which are added up together."""
_TIMES: Final = frozenset({"buckets", "seconds", "monitors", "samples", "statement_buckets"})
_EACH: Final = {"groups": 1, "machine": 1, "nodes": 1, "phases": 50, "programs": 50, "monitors": 10_000}
"""Of a cycle for each of its machines, and of a scale, so many rows at most. Those of groups are one for each."""
_METRICS: Final = 1000
"""Rows of ``monitors`` for each second and machine at most; a run has about a hundred."""


def crowded(archive: Archive) -> str:
    """Which table has more rows than an entry may have, by what its files announce; empty for none."""
    counts = Counter[str]()
    for name in archive.names():
        if (table := re.split(r"[./]", name)[0]) in TABLES and name.endswith(".parquet"):
            counts[table] += pq.read_metadata(io.BytesIO(archive.read(name))).num_rows
    most = {table: _MOST_TIMES if table in _TIMES else _MOST_ROWS for table in counts}
    wrong = next((table for table in counts if counts[table] > most[table]), "")
    return f"it has {counts[wrong]:,} rows of the table {wrong}, and an entry at most {most[wrong]:,}" if wrong else ""


def crowd(run: Rows) -> str:
    """Which table has more rows than the cycles and scales of the run leave; empty for none."""
    cycles = run.tables["cycles"]
    count, names = (cycles.group_by(list(keys)).aggregate([]).num_rows for keys in (CYCLE, ("group",)))
    machines = 1 + len(run.run.nodes)
    for table, each in _EACH.items():
        most = count * names if table == "groups" else each * machines * (count + len(run.run.segments) + 1)
        most += _METRICS * machines * sum(run.longest.values()) // 10**9 if table == "monitors" else 0
        if (rows := run.tables[table].num_rows) > most:
            return f"it has {rows:,} rows of the table {table}, and its {count:,} cycles leave {most:,} at most"
    return ""


def complete(run: Rows) -> Iterator[str]:
    """The run ended, and has cycles."""
    if run.run.status != "complete":
        yield f"the run is {run.run.status}, and only a complete one has all its cycles"
    if not run.finished:
        yield "it has no cycle"


def ladder(run: Rows) -> Iterator[str]:
    """Every scale and cycle that was asked for, and no other."""
    spec = run.run.spec
    asked, here = set(spec.scales), {key[0] for key in run.finished}
    if asked - here and spec.refine == "none":
        yield f"scale {min(asked - here)} was requested and has no cycle"
    if here - asked and spec.refine == "none":
        yield f"scale {min(here - asked)} was not requested"
    for other in sorted({row["scale"] for row in run.tables["phases"].to_pylist()} - here):
        yield f"scale {other} was built, and has no cycle"
    loads = [stage.name for stage in run.run.stages if stage.work == "load"]
    for scale in sorted(here):
        if lacking := [stage for stage in loads if not any(key[:2] == (scale, stage) for key in run.finished)]:
            yield f"scale {scale}: the stage {lacking[0]} has no cycle"
    repeated = {stage.name for stage in run.run.stages if stage.work == "load" and stage.repeated}
    for scale in sorted(here):
        numbers = sorted(key[2] for key in run.finished if key[0] == scale)
        if missing := set(range(1, numbers[-1] + 1)) - set(numbers):
            yield f"scale {scale}, cycle {min(missing)} is missing"
        for stage in sorted(repeated):
            there = sum(key[:2] == (scale, stage) for key in run.finished)
            wanted = spec.cycles * len(spec.client_numbers) * (len(GRADES) if spec.graduated else 1)
            if not run.decided and there != wanted:
                yield f"scale {scale}: {wanted} cycles were requested, and there are {there}"


def settings_of_load(run: Rows) -> Iterator[str]:
    """Clients and seconds are those that were asked for."""
    spec, stages = run.run.spec, {stage.name for stage in run.run.stages if stage.repeated}
    groups = run.tables["groups"].to_pylist()
    for row in groups:
        key = (row["scale"], row["stage"], row["cycle"])
        timed = row["until"] == "time" and row["stage"] in stages and len(run.run.stages) <= 5
        asked = round(spec.duration * 1e9)
        if timed and not run.decided and row["stage"] == "load" and abs(row["duration_ns"] - asked) > LATE_NS:
            yield f"{where(key)} lasted {row['duration_ns'] / 1e9:g} s, and {spec.duration:g} s were requested"
        # Where another group ends it, it may not have done anything by then.
        least = 0 if row["until"] == "group" else 1
        if not least <= row["duration_ns"] < MOST:
            yield f"{where(key)} lasted {row['duration_ns']} ns"
    keys = {(row["scale"], row["stage"], row["cycle"], row["group"]) for row in groups}
    if len(keys) != len(groups):
        yield "a group of clients is there twice in a cycle"
    numbers = {row["clients"] for row in groups if row["stage"] == "load"}
    load = [row for row in groups if row["stage"] == "load"]
    if load and not spec.peak and spec.terminals is None and spec.pace == "none" and len(run.run.stages) <= 5 \
            and {row["group"] for row in load} == {"all"} and numbers - set(spec.client_numbers):  # fmt: skip
        yield f"{max(numbers - set(spec.client_numbers))} clients made load, and were not requested"
