"""``dsbench calibrate``: what the client itself costs on this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import typer

from dsbench import spec, workloads
from dsbench.cli.options import completing
from dsbench.measure.calibration import calibrate, lines
from dsbench.measure.journal import RunError

_WORKLOADS = f"{workloads.choices()}, or as of dsbench run; the default has the shortest transactions."
EPILOG = "Examples: dsbench calibrate --clients 16 --workload tpcb | dsbench calibrate --workload ycsb-a"


def command(
    clients: Annotated[int, typer.Option(help="Simulated clients, beside one alone.")] = 8,
    duration: Annotated[float, typer.Option(help="Seconds of each of the six measurements.")] = 2.0,
    workload: Annotated[
        str, typer.Option(help=_WORKLOADS, autocompletion=completing([*workloads.names(), *spec.examples()]))
    ] = "select",
    prepare: Annotated[bool, typer.Option("--prepare/--no-prepare", help="Prepare statements once.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure the client's own ceiling, against engines that answer at once."""
    asked = spec.merged(
        {"workload": workload, "clients": clients, "duration": duration, "prepare": prepare, "scales": (100,)}
    ).spec
    try:
        found = replace(calibrate(asked, lambda _done, _total: None), workload=workload)
    except OSError as error:
        problem = f"the null server cannot be started: {error}"
        raise RunError(problem, "see that a folder can be made in TMPDIR") from None
    if as_json:
        print(json.dumps(found.described(), indent=2, ensure_ascii=False))
    else:
        print("\n".join(lines(found)))
