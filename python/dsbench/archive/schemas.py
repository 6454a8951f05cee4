"""The tables' columns as Arrow has them: with bare types for rows on their way, described for whole tables."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from dsbench.archive import columns

FORMAT: Final = 1
"""Of what is written, and of what is read. docs/archive.md says what a later one owes it."""


def _type(column: columns.ArchiveColumn) -> pa.DataType:
    plain = pa.type_for_alias(column.type)
    return pa.dictionary(pa.int32(), plain) if column.few else plain


def _described(column: columns.ArchiveColumn) -> pa.Field[Any]:
    """The field with what a reader of the file wants to know."""
    known = {"description": column.sentence, "unit": column.unit, "adds": column.adds}
    return pa.field(column.name, _type(column), metadata={name: text for name, text in known.items() if text})


TABLES: Final[dict[str, pa.Schema]] = {
    name: pa.schema([(column.name, _type(column)) for column in table.columns])
    for name, table in columns.TABLES.items()
}
"""Table to its columns."""

DESCRIBED: Final[dict[str, pa.Schema]] = {
    name: pa.schema([_described(column) for column in table.columns], metadata={"description": table.sentence})
    for name, table in columns.TABLES.items()
}
"""The same with sentences and units, as the files of a sealed archive carry them."""
