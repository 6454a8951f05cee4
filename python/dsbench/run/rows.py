"""Results of a cycle as rows of the archive's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dsbench import columns
from dsbench.archive import TABLES, Writer
from dsbench.generator import COUNTERS, TRACE_WORDS, CycleResult, UInts
from dsbench.spec import RunSpec

Key = Mapping[str, Any]
"""scale, stage, cycle, node and threads: the first columns of most tables."""

STAGE, GROUP = columns.ONLY_STAGE, columns.ONLY_GROUP
"""What every run consists of as yet."""

DETAILS = ("groups", "monitors", "nodes", "errors", "sums", "seconds", "buckets", "trace")
"""Tables of a cycle beside ``cycles``, whose part makes it count."""


def write_cycle(writer: Writer, name: str, kinds: Sequence[str], results: Sequence[tuple[Key, CycleResult]]) -> None:
    """Writes what the nodes of ``results`` did in the cycle whose parts are called ``name``.

    ``cycles`` comes last, in one part for all nodes: a cycle counts once that is there, and then as a whole.
    """
    for key, result in results:
        _write_details(writer, f"{name}_{key['node']}", key, kinds, result)
    rows = [_cycles(key, kinds, result) for key, result in results]
    writer.table("cycles", name, pa.concat_tables(rows))


def _write_details(writer: Writer, part: str, key: Key, kinds: Sequence[str], result: CycleResult) -> None:
    writer.rows("errors", part, [{**key, **row} for row in _errors(kinds, result)])
    writer.rows("sums", part, [{**key, "name": name, "value": value} for name, value in sorted(result.sums.items())])
    writer.table("seconds", part, _seconds(key, kinds, result))
    writer.table("buckets", part, _buckets(key, kinds, result))
    if result.trace is not None:
        _write_trace(writer, part, key, kinds, result.trace)


def _cycles(key: Key, kinds: Sequence[str], result: CycleResult) -> pa.Table:
    threads, width, _ = result.counters.shape
    found: dict[str, Any] = {name: result.counters[:, :, i].reshape(-1) for i, name in enumerate(COUNTERS)}
    found["thread"] = np.repeat(np.arange(threads), width)
    found["kind"] = list(kinds) * threads
    # The core counts no rows as yet.
    found |= {"group": [GROUP] * (threads * width), "rows": np.zeros(threads * width, np.uint64)}
    return _keyed("cycles", key, found, threads * width)


def group_row(key: Key, spec: RunSpec) -> dict[str, Any]:
    """The row of ``groups`` for the clients of a cycle; ``spec`` has one number of threads."""
    pacing = spec.pace if spec.pace != "none" else spec.arrival if spec.rate is not None else "closed"
    return {
        **{name: key[name] for name in ("scale", "stage", "cycle", "threads")},
        "group": GROUP,
        "connections": spec.connections,
        "clients": spec.threads * max(spec.nodes, 1),
        "pacing": pacing,
        "rate_per_s": spec.rate,
        "until": "time",
        "until_count": None,
        "until_of": "",
        "duration_ns": round(spec.duration * 1e9),
        "ramp_up_ns": round(spec.ramp_up * 1e9),
    }


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
    found: dict[str, Any] = {name: rows[:, i] for i, name in enumerate(names) if name}
    found["kind"] = [kinds[int(kind)] for kind in rows[:, 1]]
    return _keyed("seconds", key, found, len(rows))


def _errors(kinds: Sequence[str], result: CycleResult) -> list[dict[str, Any]]:
    names = ("error", "code", "count", "example")
    return [{"kind": kinds[kind], **dict(zip(names, row, strict=True))} for kind, *row in result.errors]


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
            "thread": pa.array(words[:, 3].astype(np.uint32)),
            "kind": pa.DictionaryArray.from_arrays(((last >> 32) & 0xFF).astype(np.int32), list(kinds)),
            "outcome": pa.DictionaryArray.from_arrays(((last >> 40) & 0xFF).astype(np.int32), list(OUTCOMES)),
            "retries": pa.array((last & 0xFFFFFFFF).astype(np.uint32)),
            "intended_ns": pa.array(times[:, 2]),
            "started_ns": pa.array(times[:, 0]),
            "ended_ns": pa.array(times[:, 1]),
        }
    )


def _keyed(table: str, key: Key, found: Mapping[str, Any], rows: int) -> pa.Table:
    schema = TABLES[table]
    arrays = [
        pa.array([key[field.name]] * rows if field.name in key else found[field.name], type=field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
