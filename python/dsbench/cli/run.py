"""``dsbench run``: one run over a ladder of scales."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dsbench import run, spec, workloads
from dsbench.cli import errors, settings
from dsbench.cli.progress import Progress, clock
from dsbench.cli.workloads import choices

EPILOG = (
    "Examples: dsbench run | dsbench run private:postgresql --scales 1,10,100 --cycles 3 --duration 20 | "
    "dsbench run postgresql://me@host/db --profile dsi --out results | "
    "dsbench run private:firebird --workload tpcc --scales 10 --threads 10,20,40 --duration 60 | "
    "dsbench run private:postgresql --workload tpcc --scales 5 --pace terminals --threads 8 --ramp-up 60"
)

Option = typer.Option
_WITH_RESUME = ("target", "resume", "cluster", "patience", "as_json", "quiet")
"""What a run that goes on takes: where it works and what it shows. All else is as it was."""

_LADDER = ("scales", "cycles", "duration")
_DEFAULT: str = spec.RunSpec.model_fields["workload"].default
_WORKLOADS = f"{choices()}; default {_DEFAULT}. dsbench workloads tells what each is, and its settings."
_UNITS = " or ".join(dict.fromkeys(workloads.find(name).unit.name for name in workloads.names()))
_RETRYING = ", ".join(name for name in workloads.names() if workloads.find(name).retries) + ": yes, others: no"


def command(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            help="URL of a database (postgresql://user@host/db, mysql://…, firebird://…, sqlite:///file.db), or "
            "private:PRODUCT[@VERSION][?SETTING=VALUE&…] for a server of dsbench's own: postgresql, mariadb, mysql, "
            "firebird, sqlite. Default: private:sqlite."
        ),
    ] = None,
    workload: Annotated[str | None, Option(help=_WORKLOADS)] = None,
    profile: Annotated[str | None, Option(help="dsi: comparable figures, takes hours; quick: a minute.")] = None,
    scales: Annotated[str | None, Option(help=f"Sizes of the database, such as 1,2,5; 1 is one {_UNITS}.")] = None,
    cycles: Annotated[int | None, Option(help="Cycles per scale [10].")] = None,
    duration: Annotated[float | None, Option(help="Demanded duration of a cycle in seconds [60].")] = None,
    threads: Annotated[
        str | None, Option(help="Simulated clients [16]; several, such as 10,20,40, run the cycles at each.")
    ] = None,
    carriers: Annotated[
        int | None,
        Option(help="Threads of the operating system that carry the clients; 0: one per CPU where possible [0]."),
    ] = None,
    connections: Annotated[int | None, Option(help="Connections of each thread, used round robin [1].")] = None,
    nodes: Annotated[
        int | None, Option(help="Remote machines that make the load, with --threads each; 0 makes it here [0].")
    ] = None,
    lease: Annotated[
        float | None, Option(help="Seconds without word after which a node stops and the run goes on without it [6].")
    ] = None,
    isolation: Annotated[
        str | None, Option(help="read-committed, repeatable-read (default) or serializable.")
    ] = None,
    call: Annotated[
        str | None, Option(help="procedure: one round trip, default where the engine has them; or statements.")
    ] = None,
    population: Annotated[
        str | None, Option(help="bulk (default): parallel fast load; procedure: as the paper does it.")
    ] = None,
    retry: Annotated[
        bool | None,
        Option("--retry/--no-retry", help=f"Run again what a collision or deadlock ended [{_RETRYING}]."),
    ] = None,
    prepare: Annotated[bool | None, Option("--prepare/--no-prepare", help="Prepare statements once [no].")] = None,
    reconnect: Annotated[
        bool | None, Option("--reconnect/--no-reconnect", help="Open and close a connection per transaction [no].")
    ] = None,
    rate: Annotated[
        float | None, Option(help="Open loop: starts per second of all clients together. Default: closed loop.")
    ] = None,
    arrival: Annotated[str | None, Option(help="Of the open loop: poisson (default) or constant.")] = None,
    pace: Annotated[
        str | None, Option(help="none (default), or terminals: people who key in and think, as TPC-C has them.")
    ] = None,
    terminals: Annotated[
        int | None, Option(help="Terminals that the threads serve [10 for each unit of scale].")
    ] = None,
    ramp_up: Annotated[
        float | None, Option(help="Seconds of load before each cycle that are not recorded [0].")
    ] = None,
    trace: Annotated[bool | None, Option("--trace/--no-trace", help="Keep every single residence time [no].")] = None,
    seed: Annotated[int | None, Option(help="Seed of all random inputs; the same seed gives the same inputs.")] = None,
    setting: Annotated[
        list[str] | None,
        Option("--set", help="Setting of the workload or of a private server, NAME=VALUE; may be repeated."),
    ] = None,
    config: Annotated[Path | None, Option(help="TOML file with these settings; the command line wins.")] = None,
    out: Annotated[Path, Option(help="Folder for the archive.")] = Path("archives"),
    resume: Annotated[Path | None, Option(help="Go on with this archive, which was cut short.")] = None,
    cluster: Annotated[
        Path, Option(help="Folder of the nodes' invitation (dsbench cluster invite); made when there is none.")
    ] = Path("cluster"),
    patience: Annotated[float, Option(help="Seconds to wait for the nodes to join.")] = 600.0,
    as_json: Annotated[bool, Option("--json", help="Print the results as one JSON document.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Measure the transaction rate over a ladder of database sizes."""
    given = {
        "workload": workload, "scales": scales, "cycles": cycles, "duration": duration,
        "threads": threads, "pace": pace, "terminals": terminals, "ramp_up": ramp_up,
        "carriers": carriers,
        "connections": connections, "isolation": isolation, "call": call, "population": population, "retry": retry,
        "nodes": nodes, "lease": lease,
        "prepare": prepare, "reconnect": reconnect, "rate": rate, "arrival": arrival, "trace": trace, "seed": seed,
    }  # fmt: skip
    joining = run.Joining(cluster, patience)
    if resume is not None:
        _refuse_changes(context)
        _resume(resume, target, joining, as_json, quiet)
        return
    values = {name: value for name, value in given.items() if value is not None}
    asked, hint = _specification(values, target, profile, setting or [], config)
    if hint and not quiet:
        print(hint, file=sys.stderr)
    with Progress(asked, quiet=quiet) as progress:
        outcome = run.execute(asked, out, _Listener(progress), joining)
    _finish(outcome, as_json)


class _Listener:
    """The progress display, which also writes the tables as scales are done."""

    def __init__(self, progress: Progress) -> None:
        self.moment = progress.moment
        self.message = progress.message
        self.archive = progress.archive

    def scale_done(self, path: Path) -> None:
        """Tables are readable while later scales run."""
        from dsbench.report import finish  # Late: its drawing libraries take a second, and help should not.

        finish.write_tables(path)


def _specification(
    values: dict[str, Any], target: str | None, profile: str | None, settings: list[str], config: Path | None
) -> tuple[spec.RunSpec, str]:
    """The specification, and a hint where nothing was said."""
    file = spec.load_toml(config) if config is not None else {}
    wanted = {**file, **values}
    profile = profile or wanted.pop("profile", None)
    named = wanted.get("target", {})
    described = dict(named) if isinstance(named, dict) else {"url": named}
    if target is not None:
        described["url"] = target
    of_workload, of_server = _settings(settings, str(wanted.get("workload", _DEFAULT)))
    described["settings"] = {**described.get("settings", {}), **of_server}
    wanted["target"] = described
    if of_workload:
        wanted["workload_settings"] = {**wanted.get("workload_settings", {}), **of_workload}
    hint = ""
    if profile is None and not any(name in wanted for name in _LADDER):
        profile = "quick"
        ladder = spec.PROFILES["dsi"]
        hours = clock(len(ladder["scales"]) * ladder["cycles"] * ladder["duration"])
        hint = f"profile quick: a glimpse. Comparable figures: --profile dsi ({hours} and the time to populate)"
    if isinstance(workload := wanted.get("workload"), str):
        errors.known_workload(workload)
    return spec.build(wanted, profile=profile), hint


def _settings(texts: list[str], workload: str) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of the workload, by the names that it knows, and all others: those of a private server."""
    given = settings.pairs(texts)
    known = {setting.name for setting in workloads.find(workload).settings}
    return {k: v for k, v in given.items() if k in known}, {k: v for k, v in given.items() if k not in known}


def _refuse_changes(context: typer.Context) -> None:
    """``SpecError`` with the names of all options that were given beside ``--resume`` and would have no effect."""
    source = {param.name: context.get_parameter_source(param.name) for param in context.command.params if param.name}
    given = [
        param.opts[0]
        for param in context.command.params
        if param.name not in _WITH_RESUME and getattr(source.get(param.name or ""), "name", "") == "COMMANDLINE"
    ]
    if given:
        remedy = "leave it out, or start a new run"
        raise spec.SpecError(", ".join(given), "a resumed run keeps its specification and its place", remedy)


def _resume(path: Path, target: str | None, joining: run.Joining, as_json: bool, quiet: bool) -> None:
    from dsbench.report import finish  # Late: its drawing libraries take a second, and help should not.

    asked = finish.specification(path)
    again = spec.Target(**{**asked.target.model_dump(), "url": target}) if target is not None else None
    if again is not None:
        spec.refuse_unused(again, asked.workload)
    with Progress(asked, quiet=quiet) as progress:
        outcome = run.resume(path, again, _Listener(progress), joining)
    _finish(outcome, as_json)


def _finish(outcome: run.Outcome, as_json: bool) -> None:
    """Writes the report, prints the result and ends with the run's exit code."""
    from dsbench.report import finish  # Late: its drawing libraries take a second, and help should not.

    finished = finish.write(outcome.archive)
    if as_json:
        print(json.dumps(finished.document, indent=2, ensure_ascii=False))
    else:
        print(finished.text)
    if finished.problem:
        errors.tell(finished.problem, f"free space, then dsbench plot --fresh {outcome.archive}")
    if outcome.error is not None:
        remedy = outcome.error.remedy.replace("ARCHIVE", str(outcome.archive))
        errors.tell(str(outcome.error), remedy)
        sys.exit(_exit_code(outcome))
    if outcome.void_scales:
        scales = ", ".join(str(x) for x in outcome.void_scales)
        errors.tell(f"the check failed: the figures of scale {scales} are void", "see results.log for the conditions")
    if finished.problem or outcome.void_scales:
        sys.exit(errors.FAILED)


def _exit_code(outcome: run.Outcome) -> int:
    """128 + signal where a signal ended the run, as shells have it; wrong usage may show in the middle only."""
    text = str(outcome.error)
    for number in (signal.SIGINT, signal.SIGTERM):
        if outcome.status == "cut-short" and text.endswith(number.name):
            return 128 + number
    return errors.USAGE if outcome.error is not None and outcome.error.usage else errors.FAILED
