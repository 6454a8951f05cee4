"""Parquet files of a table: its parts while a run goes on, and one for the whole."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dsbench.archive.columns import TABLES as TABLES_OF_COLUMNS
from dsbench.archive.errors import ArchiveError, told
from dsbench.archive.schemas import DESCRIBED, TABLES
from dsbench.archive.sound import checked, spare, texts_of, typed

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
        return rows if name not in TABLES else completed(name, checked(typed(name, rows, len(data))))
    except ArchiveError as error:
        raise ArchiveError(f"{where}: {error}", error.remedy, usage=True) from None
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        words = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise ArchiveError(f"{where} is damaged: {words}", "take another copy of the archive", usage=True) from None


def completed(name: str, rows: pa.Table) -> pa.Table:
    """``rows`` with all columns of their table: those that an older version did not know have what it meant."""
    schema = TABLES.get(name)
    if schema is None or rows.schema.names == schema.names:
        return rows
    older = {column.name: column.older for column in TABLES_OF_COLUMNS[name].columns}
    known = set(rows.schema.names)
    columns = [
        rows[field.name] if field.name in known else _same(older[field.name], field.type, rows.num_rows)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _same(value: str | int | None, kind: pa.DataType, count: int) -> pa.Array[Any]:
    """``value`` for each of ``count`` rows."""
    return pa.array([value] * count, kind)


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
