"""Parquet tables: bytes changed, and columns of other types, sizes and numbers."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from . import archives
from .mutate import NUMBERS, TEXTS, mutated


def make(random: Random) -> bytes:
    """The number of the archive as one byte, the table's name, a line's end, and the file in its place."""
    number = random.randrange(archives.COUNT)
    files = archives.files(number)
    name = random.choice(sorted(name for name in files if name.endswith(".parquet")))
    content = files[name]
    if random.random() < 0.6:
        content = _written(random, pq.read_table(io.BytesIO(content)))
    if random.random() < 0.4:
        content = mutated(random, content)
    return bytes([number]) + name.encode() + b"\n" + content


def _written(random: Random, rows: pa.Table) -> bytes:
    for _ in range(random.choice((1, 1, 2))):
        rows = _changed(random, rows)
    buffer = io.BytesIO()
    compression, size = random.choice(("zstd", "none", "snappy")), random.choice((None, 1, 7))
    # Ten million groups would take minutes to write; a hundred thousand are refused as well.
    size = size and max(size, rows.num_rows // 10**5)
    pq.write_table(rows, buffer, compression=compression, row_group_size=size)
    return buffer.getvalue()


def _changed(random: Random, rows: pa.Table) -> pa.Table:
    pick = random.random()
    at = random.randrange(rows.num_columns)
    name: Any = rows.schema.names[at]
    if pick < 0.1:
        return rows.drop_columns([name]) if rows.num_columns > 1 else rows
    if pick < 0.2:
        return rows.slice(random.randrange(rows.num_rows + 1), random.choice((0, 1, 5, 10**6)))
    if pick < 0.25:
        return pa.concat_tables([rows] * random.choice((2, 3)))
    if pick < 0.26:  # rows that take no room in the file
        count = random.choice((10**5, 10**7))
        return pa.table({name: pa.array(np.zeros(count, dtype=np.uint32))})
    return rows.set_column(at, name, _column(random, rows, name))


def _column(random: Random, rows: pa.Table, name: str) -> Any:
    """Another column in the place of ``name``: some of its values changed, or all of another type."""
    kind = rows.schema.field(name).type
    # Times as numbers: Python has no value for nanoseconds, nor for a year of six digits.
    values = (rows[name].cast(pa.int64()) if pa.types.is_timestamp(kind) else rows[name]).to_pylist()
    pick = random.random()
    if pick < 0.6:
        one: Any = random.choice([n for n in NUMBERS if isinstance(n, int)]) if not _text(kind) else random.choice(TEXTS[4:])
        one = one if pick > 0.1 else None
        every = random.choice((1, 2, 10**9))
        values = [one if at % every == 0 else value for at, value in enumerate(values)]
        try:
            return pa.array(values, kind)
        except (pa.ArrowException, OverflowError, TypeError, UnicodeError):
            values = [0] * len(values)
    other = random.choice((pa.int8(), pa.float64(), pa.string(), pa.binary(), pa.bool_(), pa.timestamp("ns"), pa.list_(pa.int32()), pa.null()))
    filled = {pa.string(): "x", pa.binary(): b"\xff", pa.bool_(): True, pa.list_(pa.int32()): [1], pa.null(): None}.get(other, 1)
    if other == pa.float64():
        filled = random.choice([n for n in NUMBERS if isinstance(n, float)])
    return pa.array([filled] * len(values), other)


def _text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind))


def run(data: bytes, folder: Path) -> None:
    """Reads the archive that has it."""
    head, _, content = data[1:].partition(b"\n")
    archives.unpack(data[0] % archives.COUNT if data else 0, folder / "a", **{head.decode("ascii", "replace"): content})
    archives.read("a", data)
