"""Results of a cycle as rows of the archive's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dsbench.archive import TABLES, Writer
from dsbench.generator import COUNTERS, CycleResult

Key = Mapping[str, Any]
"""scale, cycle and node: the first three columns of most tables."""


def write_cycle(writer: Writer, key: Key, kinds: Sequence[str], result: CycleResult) -> None:
    """Writes everything of one cycle. ``cycles`` comes last: a cycle counts once that part is there."""
    part = f"scale-{key['scale']:05d}_cycle-{key['cycle']:05d}_{key['node']}"
    writer.rows("errors", part, [{**key, **row} for row in _errors(result)])
    writer.table("seconds", part, _seconds(key, kinds, result))
    writer.table("buckets", part, _buckets(key, kinds, result))
    if result.trace is not None:
        writer.table("trace", part, _trace(key, kinds, result.trace))
    writer.table("cycles", part, _cycles(key, kinds, result))


def _cycles(key: Key, kinds: Sequence[str], result: CycleResult) -> pa.Table:
    threads, width, _ = result.counters.shape
    columns: dict[str, Any] = {name: result.counters[:, :, i].reshape(-1) for i, name in enumerate(COUNTERS)}
    columns["thread"] = np.repeat(np.arange(threads), width)
    columns["kind"] = list(kinds) * threads
    return _keyed("cycles", key, columns, threads * width)


def _buckets(key: Key, kinds: Sequence[str], result: CycleResult) -> pa.Table:
    parts = [
        _keyed(
            "buckets",
            key,
            {
                "kind": [kinds[kind]] * len(rows),
                "measure": [measure] * len(rows),
                "low_ns": rows[:, 0],
                "high_ns": rows[:, 1],
                "count": rows[:, 2],
            },
            len(rows),
        )
        for kind, measure, rows in result.histograms
    ]
    return pa.concat_tables(parts) if parts else TABLES["buckets"].empty_table()


def _seconds(key: Key, kinds: Sequence[str], result: CycleResult) -> pa.Table:
    rows = result.seconds
    names = ("second", "", "count", "failed", "p50_ns", "p99_ns", "max_ns")
    columns: dict[str, Any] = {name: rows[:, i] for i, name in enumerate(names) if name}
    columns["kind"] = [kinds[int(kind)] for kind in rows[:, 1]]
    return _keyed("seconds", key, columns, len(rows))


def _errors(result: CycleResult) -> list[dict[str, Any]]:
    names = ("error", "code", "count", "example")
    return [dict(zip(names, row, strict=True)) for row in result.errors]


OUTCOMES = ("committed", "rolled back", "failed", "unknown")


def _trace(key: Key, kinds: Sequence[str], words: Any) -> pa.Table:
    """The trace file's records: three times, the client, and retries, kind and outcome in one word."""
    last = words[:, 4]
    times = words[:, :3].astype(np.int64)
    count = len(words)
    return pa.table(
        {
            "scale": pa.array(np.full(count, key["scale"], np.uint32)),
            "cycle": pa.array(np.full(count, key["cycle"], np.uint32)),
            "node": pa.array([key["node"]] * count).dictionary_encode(),
            "thread": pa.array(words[:, 3].astype(np.uint32)),
            "kind": pa.array([kinds[int(k)] for k in (last >> 32) & 0xFF], pa.string()).dictionary_encode(),
            "outcome": pa.array([OUTCOMES[int(o)] for o in (last >> 40) & 0xFF], pa.string()).dictionary_encode(),
            "retries": pa.array((last & 0xFFFFFFFF).astype(np.uint32)),
            "intended_ns": pa.array(times[:, 2]),
            "started_ns": pa.array(times[:, 0]),
            "ended_ns": pa.array(times[:, 1]),
        }
    )


def _keyed(table: str, key: Key, columns: Mapping[str, Any], count: int) -> pa.Table:
    schema = TABLES[table]
    arrays = [
        pa.array([key[field.name]] * count if field.name in key else columns[field.name], type=field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
