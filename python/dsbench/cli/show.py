"""``dsbench show``: the results of an archive."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

EPILOG = (
    "Examples: dsbench show archives/20261121T100000Z_host_sqlite_tpcb.zip --json | "
    "dsbench show archives/20261121T100000Z_host_postgresql_scripted.zip --by statement"
)


class By(StrEnum):
    """What the rows of the table stand for."""

    SCALE = "scale"
    STAGE = "stage"
    STATEMENT = "statement"
    COST = "cost"
    NODE = "node"
    MACHINE = "machine"
    CHECKLIST = "checklist"


def command(
    archive: Annotated[Path, typer.Argument(help="Folder or .zip that a run left.")],
    by: Annotated[
        By,
        typer.Option(
            help="scale: the results; stage: what each stage reached and took of the machine, with its response times; "
            "statement: tps, latency, failures and retries as pgbench -r tells them, and the times of each statement "
            "of scripts with --per-statement; "
            "cost: what a transaction cost, and how evenly clients got theirs; "
            "node: what each remote node did, and why one was missing; machine: what else "
            "each machine did in each cycle; checklist: what decides whether the figures may be compared."
        ),
    ] = By.SCALE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show the table, the DSI and the warnings of an archive."""
    from dsbench.read.report import finish  # Late: its drawing libraries take a second, and help should not.

    shown = finish.read(archive, by.value)
    if as_json:
        print(json.dumps(shown.document, indent=2, ensure_ascii=False))
    else:
        print(shown.text)
