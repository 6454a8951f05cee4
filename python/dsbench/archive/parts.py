"""Parquet files of a table: its parts while a run goes on, and one for the whole."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dsbench.archive.errors import ArchiveError, told
from dsbench.archive.schemas import DESCRIBED, TABLES

MERGED: Final = ".merged.parquet"
"""Ending of a merged file whose parts are not away yet."""
PART: Final = ".part"
"""Ending of a file while it is written."""
_GROUP_ROWS: Final = 1_000_000


def rows_of(source: Path | io.BytesIO) -> pa.Table:
    """Rows of one Parquet file, on this thread: a run leaves hundreds of small ones, which a pool only delays."""
    with pq.ParquetFile(source) as file:
        return file.read(use_threads=False)


def table_of(name: str, data: bytes, where: str) -> pa.Table:
    """The rows of a Parquet file of the table ``name``, with all its columns; ``ArchiveError`` says ``where`` it lies.

    Whoever wrote it: rows cost no more memory than a table of that size on disk may have, and have the types of the
    table and numbers that a run can have.
    """
    try:
        described = pq.read_metadata(io.BytesIO(data))
        spare(name, described, len(data))
        texts = [column for column in texts_of(name) if column in described.schema.names]
        with pq.ParquetFile(io.BytesIO(data), metadata=described, read_dictionary=texts) as file:
            known = [column for column in file.schema_arrow.names if name not in TABLES or column in TABLES[name].names]
            rows = file.read(columns=known, use_threads=False)
        return rows if name not in TABLES else completed(name, checked(name, typed(name, rows, len(data))))
    except ArchiveError as error:
        raise ArchiveError(f"{where}: {error}", error.remedy, usage=True) from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        words = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise ArchiveError(f"{where} is damaged: {words}", "use another copy of the archive", usage=True) from None


def completed(name: str, rows: pa.Table) -> pa.Table:
    """``rows`` with all columns of their table: those that it gained later are empty."""
    schema = TABLES.get(name)
    if schema is None or rows.schema.names == schema.names:
        return rows
    known = set(rows.schema.names)
    columns = [rows[one.name] if one.name in known else pa.nulls(rows.num_rows, one.type) for one in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def merge(name: str, sources: Sequence[Path], target: Path) -> None:
    """Writes the rows of ``sources`` into one file, in row groups of about a million: a trace may be large."""
    temporary = target.with_name(target.name + PART)
    with told(target, temporary):
        temporary.unlink(missing_ok=True)
        schema = DESCRIBED.get(name) or pq.read_schema(sources[0])
        with pq.ParquetWriter(temporary, schema, compression="zstd") as file:
            waiting: list[pa.Table] = []
            for source in sources:
                waiting.append(completed(name, rows_of(source)))
                if sum(rows.num_rows for rows in waiting) >= _GROUP_ROWS:
                    file.write_table(pa.concat_tables(waiting))
                    waiting = []
            if waiting:
                file.write_table(pa.concat_tables(waiting))
        os.replace(temporary, target)


def replace(path: Path, content: bytes) -> None:
    """Writes a file whole, or not at all."""
    temporary = path.with_name(path.name + PART)
    with told(path, temporary):
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:  # A link of that name, in an archive of a stranger, is not followed.
            file.write(content)
        os.replace(temporary, path)


_SMALL: Final = 16 * 2**20
"""Bytes of rows for which no ratio is asked."""
_GROUPS: Final = 1000
"""Groups of rows, of which a run writes one for a million rows; each takes time, however little it holds."""
_RATIO: Final = 1000
"""Bytes of rows for each byte of their file: rows that repeat each other take next to nothing there."""
_ROWS: Final = 10_000_000
"""Of a table of an archive; a day of samples of a hundred counters has nine million."""
_TRACE_ROWS: Final = 100_000_000
_BYTES: Final = 2**30
"""Of the rows of a file in memory."""
_NUMBER: Final = 2**53
"""Above any number that is counted here: in ns a hundred days."""
_SIGNED: Final = 2**62
"""Above any difference of clocks and any sum of amounts."""
_LARGEST: Final = {"scale": 2**31, "cycle": 10**7, "clients": 10**6, "client": 10**6, "second": 10**7}
"""Of numbers by which rows are told apart: arrays are made as large as they say."""
_TOLD: Final = frozenset((
    "scale", "cycle", "node", "client", "measure", "low_ns", "high_ns", "count", "second", "at_ns", "monitor", "metric",
    "unit", "value", "phase", "duration_ns", "state", "why", "error", "code", "name", "segment", "moment", "object",
    "connections", "all_clients", "pacing", "stage", "group", "clients",
))  # fmt: skip
"""Columns of which every row has a value."""
_TOLD_IN: Final = {
    "cycles": ("residence_ns", "first_start_ns", "last_end_ns"), "programs": ("cpu_ns",),
    "machine": ("span_ns", "run_ns", "kernel_ns", "others_ns", "unseen_ns", "stolen_ns", "idle_ns"),
    "nodes": ("clock_error_ns", "clock_drift_ns"), "samples": ("sessions", "looks"),
    "statements": ("sum_ns", "min_ns", "max_ns"),
    "statement_rows": ("executions", "rows", "empty"),
    "plans": ("number", "plan"),
}  # fmt: skip
"""The same of one table each, beside those that others have empty."""
_UNTOLD_IN: Final = {"statistics": ("clients",)}
"""Those that one table each may have empty."""
_REMEDY: Final = "use another copy of the archive"


def texts_of(name: str) -> list[str]:
    """Columns of text of the table ``name``: each value of theirs is read once, however many rows have it."""
    return [] if name not in TABLES else [field.name for field in TABLES[name] if not _numeric(field.type)]


def spare(name: str, described: Any, size: int) -> None:
    """Refuses a file of ``size`` bytes whose Parquet metadata ``described`` announces rows out of proportion.

    Rows of the table ``name`` get all of its columns, whatever the file has.
    """
    not_too_many(name, described.num_rows, "it")
    if described.num_row_groups > _GROUPS:
        raise ArchiveError(f"it has {described.num_row_groups} row groups, more than {_GROUPS}", _REMEDY)
    groups = [described.row_group(number) for number in range(described.num_row_groups)]
    parts = [group.column(number) for group in groups for number in range(group.num_columns)]
    announced = sum(max(part.total_uncompressed_size, 8 * part.num_values) for part in parts)
    wanted = max(announced, 8 * described.num_rows * len(TABLES.get(name, ("",))))
    _fits(wanted, size)
    most = _BYTES if name in TABLES else 8 * _BYTES
    if wanted > most:
        raise ArchiveError(f"its rows would take {wanted} bytes, more than {most}", _REMEDY)
    if any(part.num_values < 0 or part.total_uncompressed_size < 0 for part in parts):
        raise ArchiveError("a column of less than no values", _REMEDY)


def not_too_many(name: str, rows: int, what: str) -> None:
    """Refuses more ``rows`` of the table ``name`` than a run leaves; ``what`` has them."""
    most = _ROWS if name in TABLES else _TRACE_ROWS
    if rows > most:
        raise ArchiveError(f"{what} has {rows} rows of the table {name}, more than {most}", _REMEDY)


def _fits(wanted: int, size: int) -> None:
    room = max(_SMALL, _RATIO * size)
    if wanted > room:
        raise ArchiveError(f"its {size} bytes would become {wanted}, more than {room}", _REMEDY)


def typed(name: str, rows: pa.Table, size: int) -> pa.Table:
    """The columns of ``rows`` with the types of the table ``name``; ``ArchiveError`` where they have others."""
    fields = [TABLES[name].field(column) for column in rows.schema.names]
    texts = 0
    for field in fields:
        found = rows.schema.field(field.name).type
        if _numeric(field.type) != _numeric(found) or not (_numeric(found) or pa.types.is_dictionary(found)):
            raise ArchiveError(f"the column {field.name} is of type {found}, not {field.type}", _REMEDY)
        if not _numeric(found):
            texts += sum(_letters(chunk) for chunk in rows[field.name].chunks)
            for chunk in rows[field.name].chunks:
                _written(chunk, field.name)
    _fits(texts, size)
    if lacking := sorted(_told(name) - set(rows.schema.names)):
        raise ArchiveError(f"the column {lacking[0]} is not there", _REMEDY)
    return rows.cast(pa.schema(fields))


def _told(name: str) -> frozenset[str]:
    """Columns of the table ``name`` of which every row has a value."""
    return _TOLD.intersection(TABLES[name].names).union(_TOLD_IN.get(name, ())).difference(_UNTOLD_IN.get(name, ()))


def _written(chunk: Any, column: str) -> None:
    try:
        chunk.dictionary.validate(full=True)
    except pa.ArrowInvalid as error:
        raise ArchiveError(f"the column {column} has invalid text: {error}", _REMEDY) from None


def _letters(chunk: Any) -> int:
    """Bytes of the texts of all rows."""
    import pyarrow.compute as pc  # Late: a run reads none of its tables.

    lengths = pc.binary_length(chunk.dictionary)
    return int(pc.sum(pc.cast(lengths.take(chunk.indices), pa.int64())).as_py() or 0)


def _numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def checked(name: str, rows: pa.Table) -> pa.Table:
    """``rows`` of the table ``name``, all of which a run can have; ``ArchiveError`` names the column of others."""
    import pyarrow.compute as pc  # Late: as above.

    told = _told(name)
    for field in rows.schema:
        column: Any = rows[field.name]
        if column.null_count and field.name in told:
            raise ArchiveError(f"the column {field.name} has rows without a value", _REMEDY)
        if pa.types.is_integer(field.type) and rows.num_rows > column.null_count:
            ends: Any = pc.min_max(column).as_py()
            most = _LARGEST.get(field.name, _SIGNED if pa.types.is_signed_integer(field.type) else _NUMBER)
            if ends["max"] > most or ends["min"] < -most:
                raise ArchiveError(f"the column {field.name} has impossible numbers: {ends['max']}", _REMEDY)
        elif pa.types.is_floating(field.type) and rows.num_rows and not _finite(column):
            raise ArchiveError(f"the column {field.name} has values that are not numbers", _REMEDY)
    return rows


def _finite(column: Any) -> bool:
    import pyarrow.compute as pc  # Late: as above.

    return bool(pc.all(pc.is_finite(column)).as_py() is not False)
