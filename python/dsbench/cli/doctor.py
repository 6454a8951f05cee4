"""``dsbench doctor``: what can run here, what a server allows, and what the client itself can do."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from dsbench import spec, workloads
from dsbench.cli import errors, usage
from dsbench.cli.options import completing, targets

EPILOG = (
    "Examples: dsbench doctor | dsbench doctor postgresql://me@host/db --clients 64 | "
    "dsbench doctor --calibrate --clients 16 --workload tpcb"
)
_OF_A_RUN = "With TARGET or --calibrate"
_CALIBRATION = "With --calibrate"
_OF_BOTH = ("clients", "workload", "prepare")


def command(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Server to ask what it allows", autocompletion=targets)
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Measure the client against servers that answer at once"),
    ] = False,
    clients: Annotated[
        int, typer.Option(rich_help_panel=_OF_A_RUN, help="Simulated clients")
    ] = 8,
    duration: Annotated[
        float, typer.Option(rich_help_panel=_CALIBRATION, help="Seconds of each of six measurements")
    ] = 2.0,
    workload: Annotated[
        str,
        typer.Option(
            rich_help_panel=_OF_A_RUN, metavar="NAME", help="Workload of dsbench run",
            autocompletion=completing([*workloads.names(), *spec.examples()]),
        ),
    ] = "select",
    prepare: Annotated[
        bool, typer.Option("--prepare/--no-prepare", rich_help_panel=_OF_A_RUN, help="Prepare each statement once")
    ] = True,
    existing: Annotated[
        bool, typer.Option("--existing", rich_help_panel="With TARGET", help="Only builtin scripts that read")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
) -> None:
    """Check what can run on this machine, or what a server allows; or measure the client."""
    if target is not None:
        if given := [*usage.given(context, "duration"), *(["--calibrate"] if calibrate else [])]:
            raise spec.SpecError(given[0], "measures the client, and TARGET names a server", "omit one of them")
        _ask(target, clients, workload, prepare and bool(usage.given(context, "prepare")), existing, as_json)
        return
    if given := usage.given(context, "existing"):
        raise spec.SpecError(given[0], "is about a server", "specify TARGET")
    if calibrate:
        _calibrate(clients, duration, workload, prepare, as_json)
        return
    if given := usage.given(context, "duration"):
        raise spec.SpecError(given[0], "is an option of the calibration", "add --calibrate, or omit it")
    if given := usage.given(context, *_OF_BOTH):
        raise spec.SpecError(given[0], "is about a server or the client", "specify TARGET, or add --calibrate")
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


def _ask(target: str, clients: int, workload: str, prepare: bool, existing: bool, as_json: bool) -> None:
    """Prints what the server of ``target`` allows; ends with 1 where a run would be refused."""
    from dsbench.measure import preflight  # Late: as above.

    values = {"clients": (clients,), "prepare": prepare}
    values |= {"existing": True, "builtin": ["select-only"]} if existing else {"workload": workload}
    asked = spec.merged(values, target=target).spec
    if not asked.target.is_server:
        why = "dsbench starts this server" if asked.target.private is not None else "there is no server to ask"
        raise spec.SpecError("TARGET", why, "specify the URL of a server, such as postgresql://me@host/db")
    facts = preflight.ask_url(asked)
    if as_json:
        print(json.dumps([fact.described() for fact in facts], indent=2, ensure_ascii=False))
    else:
        print("\n".join(preflight.lines(facts)))
    if any(fact.fit is preflight.Fit.REFUSED for fact in facts):
        raise SystemExit(errors.FAILED)


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
