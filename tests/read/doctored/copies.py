"""Copies of archives that can be changed."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dsbench.archive import TABLES, Archive

ARCHIVES = Path(__file__).parents[2] / "data/archives"
Doctor = Callable[["Copy"], None]


class Absent(Exception):
    """There is nothing of that in this archive."""


class Copy:
    """An archive that can be changed, as somebody would who knows its format."""

    def __init__(self, path: Path) -> None:
        archive = Archive.open(path)
        self.run: dict[str, Any] = json.loads(archive.read("run.json"))
        self.tables: dict[str, list[dict[str, Any]]] = {name: archive.table(name).to_pylist() for name in TABLES}
        self.schemas = {name: archive.table(name).schema for name in TABLES}

    def packed(self) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as file:
            file.writestr("x/run.json", json.dumps(self.run))
            for name, rows in self.tables.items():
                if rows:
                    part = io.BytesIO()
                    pq.write_table(pa.Table.from_pylist(rows, schema=self.schemas[name]), part)
                    file.writestr(f"x/{name}.parquet", part.getvalue())
        return made.getvalue()

    def at(self, table: str, **where: Any) -> list[dict[str, Any]]:
        return [row for row in self.tables[table] if all(row[name] == value for name, value in where.items())]

    def leave_out(self, table: str, **where: Any) -> None:
        self.tables[table] = [
            row for row in self.tables[table] if any(row[name] != value for name, value in where.items())
        ]

    @property
    def busiest(self) -> dict[str, Any]:
        """The row of a client that ended most."""
        return max(self.tables["cycles"], key=lambda row: row["committed"])

    def of_cycle(self, row: dict[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in ("scale", "stage", "cycle") if name in row}


def in_run(**values: Any) -> Doctor:
    def doctor(copy: Copy) -> None:
        copy.run |= values

    return doctor


def in_row(table: str, **values: Any) -> Doctor:
    """Sets columns of the row of the client that ended most, or of the first row of another table."""

    def doctor(copy: Copy) -> None:
        if not copy.tables[table]:
            raise Absent
        row = copy.busiest if table == "cycles" else copy.tables[table][0]
        row |= {name: value(row) if callable(value) else value for name, value in values.items()}

    return doctor
