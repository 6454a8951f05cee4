"""``dsbench check``: the workload's conditions against a database that is there."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from dsbench import runner, spec, workloads
from dsbench.cli import errors, settings
from dsbench.cli.options import completing

_DEFAULT: str = spec.RunSpec.model_fields["workload"].default
EPILOG = (
    "Examples: dsbench check postgresql://me@host/db --workload tpcb --scale 10 | "
    "dsbench check firebird://me@host/alias --workload tpcc --scale 5"
)


def command(
    target: Annotated[str, typer.Argument(help="URL of the database, or the private server that kept it in a folder.")],
    scale: Annotated[
        int | None, typer.Option(min=1, max=200_000, help="Scale at which it was populated; a kept one tells it.")
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help=f"{workloads.choices()} [{_DEFAULT}, or that of a kept one].",
            autocompletion=completing(workloads.names()),
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of the workload that it was populated with, NAME=VALUE; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check the consistency of a database that dsbench has made."""
    if workload is not None:
        spec.known_workload(workload)
    asked = {"workload": workload, "scales": scale and (scale,), "workload_settings": settings.pairs(given or [])}
    where = spec.build({"target": {"url": target}}).target
    if where.private is not None and where.directory is None:
        remedy = "name the URL of a database in which a run has left its tables, or the folder of a private server"
        raise spec.SpecError("TARGET", "a private server is gone with its run: there is nothing to check", remedy)
    found = runner.check_target(where, {name: value for name, value in asked.items() if value})
    if as_json:
        print(json.dumps([{"name": c.name, "holds": c.holds, "detail": c.detail} for c in found.conditions], indent=2))
    else:
        for condition in found.conditions:
            print(f"{'holds ' if condition.holds else 'BROKEN'}  {condition.name}: {condition.detail}")
    if found.words:
        print(found.words, file=sys.stderr)
    if not all(condition.holds for condition in found.conditions):
        errors.tell("the database is not consistent")
        sys.exit(errors.FAILED)
