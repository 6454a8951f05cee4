"""``dsbench show``: the results of an archive."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsbench.cli import terminal
from dsbench.read.subjects import NAMES

EPILOG = (
    f"Subjects: {', '.join(NAMES)}. "
    "Examples: dsbench run private:sqlite --label mine | dsbench show archives/*_mine.zip --as markdown | "
    "dsbench show archives/*_mine.zip --by latency --as csv | dsbench show archives/*_mine.zip --json"
)
By = StrEnum("By", {word.upper(): word for word in ("scale", *NAMES)})  # type: ignore[misc]
"""What is shown: a subject, or ``scale``."""
_SCALE = By("scale")


class ShowForm(StrEnum):
    """How it is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"


def command(
    archives: Annotated[list[Path], typer.Argument(help="Folders or zips of archives")],
    by: Annotated[By, typer.Option(metavar="SUBJECT", help="scale, or one of those below")] = _SCALE,
    form: Annotated[ShowForm, typer.Option("--as", help="text, markdown, or csv: the tables alone")] = ShowForm.TEXT,
    price: terminal.Price = "",
    verbose: terminal.Verbose = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON, of several a list")] = False,
) -> None:
    """Show the results of runs: the verdict, a table and the warnings, or one subject."""
    from dsbench.archive import without_zips  # Late: help needs none of it.
    from dsbench.read.shown import read, read_as

    terminal.refuse_both(as_json, form)
    named, money = without_zips(archives), terminal.check_price(price)
    if as_json:
        found = [read(path, by.value, verbose=verbose, price=money).document for path in named]
        print(json.dumps(found if len(found) > 1 else found[0], indent=2, ensure_ascii=False))
        return
    for number, path in enumerate(named):
        if number:
            print()
        if form is not ShowForm.TEXT:
            print(read_as(path, by.value, csv=form is ShowForm.CSV, price=money))
            continue
        if len(named) > 1:
            print(f"{path}:")
        terminal.show(read(path, by.value, verbose=verbose, price=money).blocks)
