"""``dsbench show``: the results of an archive."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsbench.cli import terminal
from dsbench.problem import Problem
from dsbench.read.subjects import NAMES

EPILOG = (
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
    archive: Annotated[Path, typer.Argument(help="Folder or .zip that a run left.")],
    by: Annotated[
        By,
        typer.Option(
            help="scale: the results; or a subject, as the page has them. stages: what each stage reached and took of "
            "the machine, with its response times; statements: tps, latency, failures and retries as pgbench -r tells "
            "them, and the times of each statement of scripts with --per-statement; kinds: counts and times of each "
            "kind of transactions; cost: what a transaction cost, and how evenly clients got theirs; "
            "price: transactions per unit of money; energy: joules for each; nodes: what each "
            "remote node did, and why one was missing; machine: what else each machine did in each cycle; statistics: "
            "the database's own, before and after; errors: attempts that failed; probes: storage tools; checklist: "
            "what decides whether the figures may be compared; checks, durability, stack, settings: the conditions."
        ),
    ] = _SCALE,
    form: Annotated[
        ShowForm, typer.Option("--as", help="csv: the tables alone, with full figures in the units of their heads.")
    ] = ShowForm.TEXT,
    price: terminal.Price = "",
    verbose: terminal.Verbose = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document of all there is.")] = False,
) -> None:
    """Show what a run found, its table and its warnings, or one subject of its archive."""
    from dsbench.read.shown import read, read_as  # Late: help needs none of it.

    if as_json and form is not ShowForm.TEXT:
        problem = f"--as {form.value} and --json are two ways to write one thing"
        raise Problem(problem, "choose one of them", usage=True)
    if form is not ShowForm.TEXT:
        print(read_as(archive, by.value, csv=form is ShowForm.CSV, price=terminal.check_price(price)))
        return
    shown = read(archive, by.value, verbose=verbose, price=terminal.check_price(price))
    if as_json:
        print(json.dumps(shown.document, indent=2, ensure_ascii=False))
    else:
        terminal.show(shown.blocks)
