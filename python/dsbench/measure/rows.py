"""Results of a cycle as rows of the archive's tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dsbench.archive import TABLES, Writer
from dsbench.archive.columns import COUNTERS
from dsbench.dataclass import dataclass
from dsbench.measure.loaders import OPEN, TRACE_WORDS, CycleLoad, CycleResult, Group, StatementName, UInts
from dsbench.stats.cycles import CycleFigures, KindOutcomes
from dsbench.stats.histogram import histogram
from dsbench.stats.machine import Used

Key = Mapping[str, Any]
"""scale, stage, cycle, node and clients: the first columns of most tables."""


_ONCE = ("skipped_starts", "remote", "cpu_ns", "moves", "waiting_ns", "client_ns", "client_p99_ns")
"""Counters that a client has once, not for each kind."""
DETAILS = (
    "groups", "monitors", "machine", "programs", "nodes", "errors", "sums", "seconds", "buckets", "statements",
    "statement_buckets", "statement_rows", "trace", "samples", "server_statements", "events", "pauses",
    "served",
)  # fmt: skip
"""Tables of a cycle beside ``cycles``, whose part makes it count."""


@dataclass(frozen=True)
class Names:
    """What numbers in a result stand for."""

    kinds: Sequence[str]
    groups: Sequence[Group]
    statements: Sequence[StatementName] = ()

    def of_groups(self, numbers: Iterable[int]) -> list[str]:
        """Names of groups by number."""
        return [self.groups[int(number)].name for number in numbers]

    def of_kinds(self, numbers: Iterable[int]) -> list[str]:
        """Names of kinds by number."""
        return [self.kinds[int(number)] for number in numbers]

    def runs(self, group: int, kind: int) -> bool:
        """Whether clients of the group run transactions of the kind."""
        return kind in self.groups[group].kinds


def write_cycle(writer: Writer, name: str, names: Names, results: Sequence[tuple[Key, CycleResult]]) -> None:
    """Writes what the nodes of ``results`` did in the cycle whose parts are called ``name``.

    ``cycles`` comes last, in one part for all nodes: a cycle counts once that is there, and then as a whole.
    """
    for key, result in results:
        _write_details(writer, f"{name}_{key['node']}", key, names, result)
    rows = [_cycles(key, names, result) for key, result in results]
    writer.table("cycles", name, pa.concat_tables(rows))


def group_rows(load: CycleLoad, result: CycleResult) -> list[dict[str, Any]]:
    """The rows of the table ``groups`` for one cycle, without its key. Durations are demanded, or measured over all
    nodes where a count or another group decides."""
    return [
        {
            "group": group.name,
            "clients": group.clients,
            "connections": load.connections,
            "all_clients": group.all_clients,
            "pacing": group.pacing,
            "rate_per_s": group.rate_per_s,
            "rows_per_s": group.rows_per_s,
            "until": group.until,
            "until_count": group.until_count,
            "until_of": group.until_of,
            "duration_ns": result.duration_ns(number) if group.duration_ns is None else group.duration_ns,
            "placement": _placement(number, result),
            "ramp_up_ns": load.ramp_up_ns,
        }
        for number, group in enumerate(load.groups)
    ]


def figures(
    key: Key, load: CycleLoad, names: Names, result: CycleResult, level: float | None, paused_ns: int
) -> CycleFigures:
    """The few numbers of a cycle that ``archive.cycles`` reads from its rows; ``key`` names no node."""
    counters = _of_first_kind(names, result).sum(axis=0)
    kinds = {
        name: KindOutcomes(*(int(counters[number, COUNTERS.index(counted.name)]) for counted in fields(KindOutcomes)))
        for number, name in enumerate(names.kinds)
        if any(names.runs(group, number) for group in range(len(names.groups)))
    }
    times: dict[str, list[UInts]] = defaultdict(list)
    for _, kind, measure, buckets in result.histograms:
        if measure == "response" and len(buckets):
            times[names.kinds[kind]].append(buckets)
            times[""].append(buckets)
    response = {kind: histogram(*np.concatenate(parts).astype(np.int64).T) for kind, parts in times.items()}
    shares = (group.until_count or 0 for group in load.groups if group.until_of == "share")
    return CycleFigures(
        key["scale"], key["stage"], key["clients"], key["cycle"], longest_ns(load, result), load.ramp_up_ns, kinds,
        response, next((group.rate_per_s for group in load.groups if group.rate_per_s), None), level, paused_ns,
        max(shares, default=0),
    )  # fmt: skip


def write_use(writer: Writer, part: str, key: Key, used: Used) -> None:
    """Writes what the machine of ``key`` did beside the cycle whose parts are called ``part``."""
    writer.rows("machine", part, [{**key, **asdict(used.use)}])
    rows = [{**asdict(one), "part": "children" if one.children else "itself"} for one in used.programs]
    writer.rows("programs", part, [{**key, **row} for row in rows])


def longest_ns(load: CycleLoad, result: CycleResult) -> int:
    """Duration of the group that takes longest."""
    return max(int(row["duration_ns"]) for row in group_rows(load, result))


def _placement(group: int, result: CycleResult) -> str:
    """``follow``, or ``follow (6 clients), free: the server is on another machine (2 clients)``."""
    known = Counter[str]()
    for number, words, clients in result.placements:
        known[words] += clients if number == group else 0
    clients_by_words = +known
    if len(clients_by_words) == 1:
        return next(iter(clients_by_words))
    return ", ".join(f"{words} ({clients} clients)" for words, clients in clients_by_words.items())


def _write_details(writer: Writer, part: str, key: Key, names: Names, result: CycleResult) -> None:
    writer.rows("errors", part, [{**key, **row} for row in _errors(names, result)])
    writer.rows("served", part, [
        {**key, "group": names.groups[group].name, "server": server, "committed": committed}
        for group, server, committed in result.served
    ])  # fmt: skip
    writer.rows("sums", part, [{**key, "name": name, "value": value} for name, value in sorted(result.sums.items())])
    writer.table("seconds", part, _seconds(key, names, result))
    if len(result.pauses):
        writer.table("pauses", part, _pauses(key, names, result))
    writer.table("buckets", part, _buckets(key, names, result))
    _write_statements(writer, part, key, names, result)
    writer.rows("statement_rows", part, [{**key, **row} for row in _found(names, result)])
    if result.trace is not None:
        _write_trace(writer, part, key, names.kinds, result.trace)


def _cycles(key: Key, names: Names, result: CycleResult) -> pa.Table:
    clients, width, _ = result.counters.shape
    client, kind = np.repeat(np.arange(clients), width), np.tile(np.arange(width), clients)
    group = result.groups[client]
    here = [names.runs(int(g), int(k)) for g, k in zip(group, kind, strict=True)]
    counters = _of_first_kind(names, result).reshape(-1, len(COUNTERS))[here]
    columns: dict[str, Any] = {name: counters[:, i] for i, name in enumerate(COUNTERS)}
    columns |= dict.fromkeys(result.untold, [None] * len(counters))
    columns |= {"client": client[here], "kind": names.of_kinds(kind[here]), "group": names.of_groups(group[here])}
    return _keyed("cycles", key, columns, len(counters))


def _of_first_kind(names: Names, result: CycleResult) -> UInts:
    """The counters, by client and kind: what a client has once is the core's to enter for kind 0, and has to be with
    the first kind that the client runs."""
    counters, once = result.counters.copy(), [COUNTERS.index(name) for name in _ONCE]
    for client, group in enumerate(result.groups):
        first = names.groups[int(group)].kinds[0]
        if first:
            counters[client, first, once] = counters[client, 0, once]
            counters[client, 0, once] = 0
    return counters


def _buckets(key: Key, names: Names, result: CycleResult) -> pa.Table:
    parts = [
        _keyed(
            "buckets",
            key,
            {
                "group": names.of_groups([group]) * len(rows),
                "kind": [names.kinds[kind]] * len(rows),
                "measure": [measure] * len(rows),
                "low_ns": rows[:, 0],
                "high_ns": rows[:, 1],
                "count": rows[:, 2],
            },
            len(rows),
        )
        for group, kind, measure, rows in result.histograms
    ]
    return pa.concat_tables(parts) if parts else TABLES["buckets"].empty_table()


def _write_statements(writer: Writer, part: str, key: Key, names: Names, result: CycleResult) -> None:
    """Nothing where no statement was timed. Groups have rows of the kinds that they run."""
    rows, tables = [], []
    for group, number, failed, retried, sum_ns, min_ns, max_ns, buckets in result.statements:
        known = names.statements[number]
        if not names.runs(group, known.kind):
            continue
        of = {"group": names.groups[group].name, "kind": names.kinds[known.kind], "statement": number + 1}
        counted = {"count": int(buckets[:, 2].sum()), "failed": failed, "retried": retried}
        times = {"sum_ns": sum_ns, "min_ns": min_ns, "max_ns": max_ns}
        rows.append({**key, **of, "line": known.line, "text": known.text, **counted, **times})
        columns: dict[str, Any] = {name: [value] * len(buckets) for name, value in of.items()}
        columns |= {name: buckets[:, at] for at, name in enumerate(("low_ns", "high_ns", "count"))}
        tables.append(_keyed("statement_buckets", key, columns, len(buckets)))
    writer.rows("statements", part, rows)
    if tables:
        writer.table("statement_buckets", part, pa.concat_tables(tables))


def _found(names: Names, result: CycleResult) -> Iterable[dict[str, Any]]:
    """Of statements whose kind the group runs."""
    for group, number, executions, rows, empty in result.found:
        known = names.statements[number] if number < len(names.statements) else None
        if known is not None and executions and names.runs(group, known.kind):
            of = {"group": names.groups[group].name, "kind": names.kinds[known.kind], "statement": number + 1}
            counts = {"executions": executions, "rows": rows, "empty": empty}
            yield {**of, "line": known.line, "text": known.text, **counts}


def _seconds(key: Key, names: Names, result: CycleResult) -> pa.Table:
    here = [names.runs(int(group), int(kind)) for group, kind in result.seconds[:, (0, 2)]]
    rows = result.seconds[here]
    counted = (
        "second", "", "count", "failed", "p50_ns", "p99_ns", "max_ns", "busy", "busy_later", "under_way", "oldest_ns",
    )  # fmt: skip
    columns: dict[str, Any] = {name: rows[:, i] for i, name in enumerate(counted, start=1) if name}
    columns |= dict.fromkeys(result.untold, [None] * len(rows))
    columns |= {"group": names.of_groups(rows[:, 0]), "kind": names.of_kinds(rows[:, 2])}
    return _keyed("seconds", key, columns, len(rows))


def _pauses(key: Key, names: Names, result: CycleResult) -> pa.Table:
    client, began, wanted, ended = result.pauses.T
    columns = {
        "group": names.of_groups(result.groups[client]), "client": client, "began_ns": began,
        "wanted_ns": pa.array(wanted, mask=wanted == OPEN), "ended_ns": pa.array(ended, mask=ended == OPEN),
    }  # fmt: skip
    return _keyed("pauses", key, columns, len(client))


def _errors(names: Names, result: CycleResult) -> list[dict[str, Any]]:
    columns = ("error", "code", "count", "example")
    return [
        {"group": names.groups[group].name, "kind": names.kinds[kind], **dict(zip(columns, row, strict=True))}
        for group, kind, *row in result.errors
    ]


OUTCOMES = ("committed", "rolled back", "failed", "unknown")
_TRACE_ROWS = 1_000_000
"""Rows of a trace in memory at once: a trace may be larger than that."""


def _write_trace(writer: Writer, part: str, key: Key, kinds: Sequence[str], path: Path) -> None:
    """Turns the file of a trace into parts of the table ``trace``, and removes it."""
    with path.open("rb") as file:
        for number in count():
            words = np.fromfile(file, dtype="<u8", count=_TRACE_ROWS * TRACE_WORDS).reshape(-1, TRACE_WORDS)
            if not len(words):
                break
            writer.table("trace", f"{part}_{number:05d}", _trace(key, kinds, words))
    path.unlink()


def _trace(key: Key, kinds: Sequence[str], words: UInts) -> pa.Table:
    last = words[:, 4]
    times = words[:, :3].astype(np.int64)
    rows = len(words)
    nodes = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [key["node"]])
    return pa.table(
        {
            "scale": pa.array(np.full(rows, key["scale"], np.uint32)),
            "stage": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [key["stage"]]),
            "cycle": pa.array(np.full(rows, key["cycle"], np.uint32)),
            "node": nodes,
            "client": pa.array(words[:, 3].astype(np.uint32)),
            "kind": pa.DictionaryArray.from_arrays(((last >> 32) & 0xFF).astype(np.int32), list(kinds)),
            "outcome": pa.DictionaryArray.from_arrays(((last >> 40) & 0xFF).astype(np.int32), list(OUTCOMES)),
            "retries": pa.array((last & 0xFFFFFFFF).astype(np.uint32)),
            "intended_ns": pa.array(times[:, 2]),
            "started_ns": pa.array(times[:, 0]),
            "ended_ns": pa.array(times[:, 1]),
        }
    )


def _keyed(table: str, key: Key, columns: Mapping[str, Any], rows: int) -> pa.Table:
    schema = TABLES[table]
    arrays = [
        pa.array([key[field.name]] * rows if field.name in key else columns[field.name], type=field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
