"""``dsbench query``: SQL over all archives below a folder."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer

from dsbench.cli import errors

EPILOG = (
    "Examples: dsbench query archives | "
    'dsbench query archives "SELECT archive, scale, rate_median_tps FROM scales ORDER BY 3 DESC" | '
    'dsbench query studies/isolation "SELECT isolation, trials.clients, avg(rate_median_tps) FROM trials JOIN scales '
    'USING (archive) GROUP BY ALL" --as csv'
)


class QueryForm(StrEnum):
    """How the rows are printed."""

    TEXT = "text"
    CSV = "csv"
    JSON = "json"


def command(
    folder: Annotated[Path, typer.Argument(help="Folder with archives in it or below it")],
    sql: Annotated[
        str, typer.Argument(help="Query of DuckDB; without it the views and their columns are listed")
    ] = "",
    form: Annotated[QueryForm, typer.Option("--as", help="Format of the result")] = QueryForm.TEXT,
) -> None:
    """Query all archives below a folder with SQL: runs, scales, settings, trials of studies, and every table."""
    from dsbench.library import query  # Late: its libraries take a second.

    found = query.find(folder)
    for problem in found.problems:
        print(f"left out: {problem}", file=sys.stderr)
    try:
        if not sql:
            for name, columns in query.described(found).items():
                print(f"{name}: {query.names()[name]}\n  {', '.join(columns)}")
            return
        rows = query.ask(found, sql)
    except query.QueryError as error:
        errors.tell(str(error), error.remedy)
        sys.exit(errors.USAGE if error.usage else errors.FAILED)
    _print(rows.heads, rows.rows, form)


def _print(heads: list[str], rows: list[list[Any]], form: QueryForm) -> None:
    if form is QueryForm.JSON:
        known = [dict(zip(heads, map(_json, row), strict=True)) for row in rows]
        print(json.dumps(known, indent=2, ensure_ascii=False, default=str))
    elif form is QueryForm.CSV:
        csv.writer(sys.stdout, lineterminator="\n").writerows([heads, *rows])
    else:
        cells = [heads, *([_shown(value) for value in row] for row in rows)]
        widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
        right = [all(isinstance(row[at], int | float) or row[at] is None for row in rows) for at in range(len(heads))]
        for row in cells:
            padded = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
            print("  ".join(padded).rstrip())


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "" if value is None else str(value)
    return "".join(c if c.isprintable() else " " for c in text)
