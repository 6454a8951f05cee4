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
    target: Annotated[str, typer.Argument(help="URL of the database.")],
    scale: Annotated[int, typer.Option(min=1, max=21_474, help="Scale at which it was populated.")],
    workload: Annotated[
        str, typer.Option(help=f"{workloads.choices()}.", autocompletion=completing(workloads.names()))
    ] = _DEFAULT,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of the workload that it was populated with, NAME=VALUE; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check the consistency of a database that dsbench has made."""
    spec.known_workload(workload)
    of_workload = settings.pairs(given or [])
    wanted = {"target": {"url": target}, "workload": workload, "scales": (scale,), "workload_settings": of_workload}
    asked = spec.build(wanted)
    if asked.target.private is not None:
        remedy = "name the URL of a database in which a run has left its tables"
        raise spec.SpecError("TARGET", "a private server is gone with its run: there is nothing to check", remedy)
    found = runner.check_target(asked, scale, runner.Silent())
    if as_json:
        print(json.dumps([{"name": c.name, "holds": c.holds, "detail": c.detail} for c in found], indent=2))
    else:
        for condition in found:
            print(f"{'holds ' if condition.holds else 'BROKEN'}  {condition.name}: {condition.detail}")
    if not all(condition.holds for condition in found):
        errors.tell("the database is not consistent")
        sys.exit(errors.FAILED)
