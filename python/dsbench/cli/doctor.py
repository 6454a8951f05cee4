"""``dsbench doctor``: what can run here, what is missing, and what the client itself can do."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from dsbench import spec, workloads
from dsbench.cli import usage
from dsbench.cli.options import completing

EPILOG = "Examples: dsbench doctor | dsbench doctor --calibrate --clients 16 --workload tpcb"
_CALIBRATION = "With --calibrate"
_CALIBRATED = ("clients", "duration", "workload", "prepare")


def command(
    context: typer.Context,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Measure the client against servers that answer at once"),
    ] = False,
    clients: Annotated[
        int, typer.Option(rich_help_panel=_CALIBRATION, help="Simulated clients; one alone is measured, too")
    ] = 8,
    duration: Annotated[
        float, typer.Option(rich_help_panel=_CALIBRATION, help="Seconds of each of six measurements")
    ] = 2.0,
    workload: Annotated[
        str,
        typer.Option(
            rich_help_panel=_CALIBRATION, metavar="NAME", help="Workload of dsbench run; select is the shortest",
            autocompletion=completing([*workloads.names(), *spec.examples()]),
        ),
    ] = "select",
    prepare: Annotated[
        bool, typer.Option("--prepare/--no-prepare", rich_help_panel=_CALIBRATION, help="Prepare each statement once")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
) -> None:
    """Check what can run on this machine, what is missing and what would distort results; or measure the client."""
    if calibrate:
        _calibrate(clients, duration, workload, prepare, as_json)
        return
    if given := usage.given(context, *_CALIBRATED):
        raise spec.SpecError(given[0], "is an option of the calibration", "add --calibrate, or omit it")
    from dsbench.check import doctor  # Late: whoever asks for help needs none of it.

    findings = doctor.findings()
    if as_json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
        return
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        print(f"{'ok  ' if finding.ok else 'look'}  {finding.name:<{width}}  {finding.found}")
        if finding.remedy:
            print(f"      {'':<{width}}  hint: {finding.remedy}")


def _calibrate(clients: int, duration: float, workload: str, prepare: bool, as_json: bool) -> None:
    from dsbench.measure import calibration  # Late: as above.

    asked = spec.merged(
        {"workload": workload, "clients": clients, "duration": duration, "prepare": prepare, "scales": (100,)}
    ).spec
    found = dataclasses.replace(calibration.calibrate(asked, lambda _done, _total: None), workload=workload)
    if as_json:
        print(json.dumps(found.described(), indent=2, ensure_ascii=False))
    else:
        print("\n".join(calibration.lines(found)))
