"""``dsbench run``: one run over a ladder of scales."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsbench import spec
from dsbench.cli import errors, options, terminal, usage
from dsbench.cli.options import taking_settings, targets
from dsbench.loading import loading
from dsbench.measure.moments import in_brief
from dsbench.spec import words
from dsbench.spec.storage import joined

if TYPE_CHECKING:
    from dsbench import library
    from dsbench.measure.interrupts import Stop
    from dsbench.measure.journal import RunError
    from dsbench.measure.moments import Observer
    from dsbench.measure.preflight.facts import Fact
    from dsbench.measure.run import Outcome

EPILOG = (
    "--no-NAME turns off what a profile or a file turned on. docs/run.toml has the details of each option. Examples: "
    "dsbench run private:postgresql --scales 1,10,100 --cycles 3 --duration 20 | "
    "dsbench run postgresql://me@host/db --profile dsi --out results | "
    "dsbench run private:firebird --workload tpcc --scales 10 --clients 10,20,40 --duration 60 | "
    "dsbench run postgresql://me@host/db --script my.sql --clients 8 --duration 60 --existing | "
    "dsbench run private:postgresql --limit memory=1GiB --limit cpus=1.5 --storage 'ext4?block=1k' | "
    "dsbench run private:postgresql --load '0s:500, 20s:5000, 30s:500, 60s:end' --clients 16"
)
DETAILS = {
    "--config": "docs/run.toml is such a file. An archive is a folder, its zip or its run.json. Options override it.",
    "--erase": "A device that is in use, or has a signature (wipefs), is refused even so.",
    "--trust": "Settings with programs, files, addresses or users are refused without it: docs/security.md.",
    "--resume": "It continues where it ended, with the specification that it has.",
    "--report": "dsbench show and dsbench plot make the report later.",
    "--cluster": "dsbench cluster invite makes such a folder, too.",
    "--dask": "The address of its scheduler: tls://HOST:PORT or tcp://127.0.0.1:PORT. There is no invitation.",
    "--dask-tls": "Files of the authority, and of a certificate and its key.",
}  # fmt: skip
"""By option of this command what --help leaves out."""

BRIEF = """\
Usage: dsbench run [OPTIONS] [TARGET]

Load a database, run transactions, and report rates and response times.
TARGET: a URL such as postgresql://me@host/db, or private:postgresql, mariadb,
mysql, firebird or sqlite for a server that dsbench starts  [private:sqlite]

  --workload NAME       tpcb, tpcc, tpch, select, insert, FILE.sql …  [tpcb]
  --scales N,N,…        sizes of the database, in units of the workload
  --clients N,N,…       simulated clients; several: all sizes with each  [4]
  --cycles N            measured cycles at each size  [3]
  --duration TIME       of a cycle  [4s]
  --ramp-up TIME        load before each cycle, not measured  [0]
  --profile NAME        quick, dsi, capacity, graduated …  [quick]
  --rate N              open loop: transactions per second  [closed loop]
  --objective p99=20ms  find the highest rate that keeps it
  --isolation LEVEL     read-committed, repeatable-read or serializable
  --script FILE         transactions of yours, in pgbench's language
  --set NAME=VALUE      setting of the workload or of the private server
  --out FOLDER          where the results go  [archives]
  --dry-run             show the plan, its time and space; create nothing

  dsbench run private:postgresql --scales 10 --clients 8 --duration 60
  dsbench run postgresql://me@host/db --profile capacity
All options: dsbench run --help
"""

Option = typer.Option
_WITH_RESUME = (
    "target", "resume", "trust", "cluster", "dask", "dask_tls", "join_timeout", "metrics", "report", "as_json", "quiet",
    "verbose",
)  # fmt: skip
"""What a run that goes on takes: where it works and what it shows. All else is as it was."""


@taking_settings
def command(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help=spec.OPTIONS["target"].help, autocompletion=targets)
    ] = None,
    *,
    config: Annotated[
        Path | None,
        Option(
            help="TOML file of settings, or the archive of a run to repeat", metavar="FILE", rich_help_panel=words.WORK
        ),
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show the plan, its time and space; create nothing", rich_help_panel=words.WORK)
    ] = False,
    example_config: Annotated[
        bool,
        Option("--example-config", help="Print a file for --config with every setting", rich_help_panel=words.WORK),
    ] = False,
    list_workloads: Annotated[
        bool, Option("--list", help="List the workloads, or describe the one of --workload", rich_help_panel=words.WORK)
    ] = False,
    erase: Annotated[
        str, Option(metavar="DEVICE", help="Confirm that --storage may erase this device", rich_help_panel=words.WORK)
    ] = "",
    trust: Annotated[
        bool,
        Option(
            "--trust", help="Accept settings beyond tuning from --config or "
                            "--resume", rich_help_panel=words.WORK,
        ),
    ] = False,
    out: Annotated[Path, Option(metavar="FOLDER", help="Folder for the archive")] = Path("archives"),
    resume: Annotated[Path | None, Option(metavar="ARCHIVE", help="Continue a run that was cut short")] = None,
    report: Annotated[str, Option(help="full, or none: the measurements alone", metavar="full|none")] = "full",
    metrics: Annotated[str, Option(help="Serve Prometheus metrics at PORT or HOST:PORT", metavar="PORT")] = "",
    cluster: Annotated[
        Path, Option(metavar="FOLDER", help="Invitation of the nodes; created if it is missing")
    ] = Path("cluster"),
    dask: Annotated[str, Option(help="Use the workers of a running Dask as nodes", metavar="ADDRESS")] = "",
    dask_tls: Annotated[str, Option(help="TLS files of --dask [as Dask is configured]", metavar="CA,CERT,KEY")] = "",
    join_timeout: Annotated[float, Option(metavar="SECONDS", help="Time to wait for the nodes")] = 600.0,
    as_json: Annotated[bool, Option("--json", help="Print the results as JSON")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress")] = False,
    verbose: terminal.Verbose = False,
    **_settings: Any,
) -> None:
    """Load a database, run transactions, and report rates and response times."""
    if example_config:
        from dsbench.cli import example  # Late: nothing else needs it.

        print(example.text(), end="")
        return
    if list_workloads:
        from dsbench.cli import workloads  # Late: as above.

        workloads.show(context.params["workload"], as_json=as_json)
        return
    joining = (cluster, join_timeout, dask, dask_tls)
    if report not in ("full", "none"):
        raise spec.SpecError("--report", f"cannot read {report[:60]!r}", "write full or none")
    if resume is not None:
        _refuse_changes(context)
        _resume(resume, target, joining, metrics, as_json, quiet, trust, verbose, report == "full")
        return
    asked = specification({**context.params, "erase": erase}, config)
    if not asked.spec.nodes and (idle := usage.given(context, "cluster", "dask", "dask_tls", "join_timeout")):
        raise spec.SpecError(", ".join(idle), "it has no effect without --nodes", "add --nodes N")
    if dry_run:
        with loading():
            from dsbench.measure import preflight
            from dsbench.measure.ahead import look_ahead, refuse_settings, text_of
        refuse_settings(asked.spec)
        ahead = look_ahead(asked)
        # A file may be somebody else's: only a server that the command line names is asked.
        facts, absent = _ask(asked.spec) if target is not None and asked.spec.target.is_server else ([], "")
        told = {**ahead.described(), "server": [fact.described() for fact in facts], "not_asked": absent}
        described = json.dumps(told, indent=2, ensure_ascii=False) if as_json else ""
        asks = ["server", *(f"  {line}" for line in preflight.lines(facts))] if facts else []
        asks += [f"the server was not asked: {absent}"] if absent else []
        print(described or "\n".join([text_of(ahead, verbose=verbose), *asks]))
        if any(fact.fit is preflight.Fit.REFUSED for fact in facts):
            sys.exit(errors.USAGE)
        return
    plan, *more = in_brief(asked)
    if not quiet:
        print(terminal.wrap(plan, sys.stderr), file=sys.stderr, flush=True)
    # Late: what makes a run takes most of a second to load, and its first line should be there at once.
    with loading(running=True):
        from dsbench import library
        from dsbench.cli.progress import Progress
        from dsbench.measure.interrupts import Stop
    stop = Stop(signals=True)
    shown = Progress(asked.spec, more, quiet=quiet, verbose=verbose)
    with shown as progress, _exported(progress, asked.spec, metrics) as observer:
        joined_by = library.Joining(*joining)
        finished = library.perform(asked.spec, out, observer, stop, joined_by, report=report == "full")
    _tell(finished, stop, as_json, verbose)


def _ask(asked: spec.RunSpec) -> tuple[list[Fact], str]:
    """What the server of a plan allows, or why it was not asked: it may start later."""
    from dsbench.measure import preflight
    from dsbench.measure.journal import RunError

    try:
        return preflight.ask_url(asked), ""
    except RunError as error:
        if error.usage:
            raise
        return [], f"{error}; hint: {error.remedy}"


def _exported(progress: Observer, asked: spec.RunSpec, metrics: str) -> AbstractContextManager[Observer]:
    """``progress``, which Prometheus can read where that is asked for."""
    if not metrics:
        return nullcontext(progress)
    from dsbench.cli.metrics import exported  # Late: few runs have it.

    return exported(progress, asked, metrics)


def specification(params: Mapping[str, Any], config: Path | None) -> spec.Merged:
    """What the parameters of the command ask for, over the file ``config``; ``SpecError`` where that cannot be."""
    names = (*spec.OPTIONS, *spec.SCRIPTS)
    values = {name: params[name] for name in names if params.get(name) not in (None, [], ())}
    target, texts = values.pop("target", None), values.pop("workload_settings", [])
    if "storage" in values:
        values["storage"] = joined(values["storage"])
    if params.get("erase"):
        values["erase"] = params["erase"]
    if "limits" in values:
        values["limits"] = options.pairs(values["limits"], "--limit", "memory=1GiB")
    if "load" in values:
        values["load"] = _read_load(values["load"])
    before = None
    if config is not None and (config.is_dir() or config.suffix in (".zip", ".json")):
        with loading():
            from dsbench.library.running import earlier
        before = earlier(config)
    return spec.merged(
        values, target=target, settings=options.pairs(texts), config=config, earlier=before,
        trust=bool(params.get("trust")),
    )  # fmt: skip


def _read_load(text: str) -> str:
    """The legs of a load, or of the file that is named in their place: no time stands in its name."""
    if ":" in text:
        return text
    try:
        return Path(text).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        remedy = "specify a file with TIME:RATE in its lines, or write '0s:100, 60s:500, 90s:end'"
        raise spec.SpecError("--load", f"cannot read {text[:60]!r}: {why}", remedy) from None


def _refuse_changes(context: typer.Context) -> None:
    """``SpecError`` with the names of all options that were given beside ``--resume`` and would have no effect."""
    changes = [param.name for param in context.command.params if param.name and param.name not in _WITH_RESUME]
    if given := usage.given(context, *changes):
        remedy = "omit it, or start a new run"
        raise spec.SpecError(", ".join(given), "a resumed run keeps its specification and its folder", remedy)


def _resume(
    path: Path, target: str | None, joining: tuple[Path, float, str, str], metrics: str, as_json: bool,
    quiet: bool, trust: bool, verbose: bool, report: bool,
) -> None:
    with loading(running=True):
        from dsbench import library
        from dsbench.cli.progress import Progress
        from dsbench.measure.interrupts import Stop
    stop, begun = Stop(signals=True), library.open(path).spec
    with Progress(begun, quiet=quiet, verbose=verbose) as progress, _exported(progress, begun, metrics) as observer:
        joined_by = library.Joining(*joining)
        finished = library.going_on(path, target, observer, stop, joined_by, trust=trust, report=report)
    _tell(finished, stop, as_json, verbose)


def _tell(finished: library.Finished, stop: Stop, as_json: bool, verbose: bool) -> None:
    """Prints the result and ends with the run's exit code."""
    outcome, shown = finished.outcome, finished.shown
    if shown is None and not (as_json or verbose):
        print(f"{outcome.status}: {outcome.archive}")
        print(f"results: dsbench show {outcome.archive}\nreport: dsbench plot {outcome.archive}")
    elif shown is None or verbose:
        from dsbench.read.shown import read  # Late: a run without a report needs none of it.

        shown = read(outcome.archive, verbose=verbose)
    if as_json and shown is not None:
        print(json.dumps(shown.document, indent=2, ensure_ascii=False))
    elif shown is not None:
        terminal.show(shown.blocks)
    if finished.problem:
        errors.tell(finished.problem, f"free up space, then dsbench plot --fresh {outcome.archive}")
    if outcome.error is not None:
        errors.tell(str(outcome.error), outcome.error.remedy)
        sys.exit(_exit_code(outcome, outcome.error, stop))
    if outcome.void_scales:
        scales = ", ".join(str(x) for x in outcome.void_scales)
        errors.tell(f"the check failed: the figures of scale {scales} are void", "see results.log for the conditions")
    if outcome.aborted:
        errors.tell(f"some clients of the run were aborted: {outcome.aborted}", "correct the script, and start a new "
                                                                                "run")
        sys.exit(errors.USAGE)
    if finished.problem or outcome.void_scales:
        sys.exit(errors.FAILED)


def _exit_code(outcome: Outcome, error: RunError, stop: Stop) -> int:
    """128 + signal where a signal ended the run, as shells have it; wrong usage may show in the middle only."""
    if outcome.status == "cut-short" and stop.signal is not None:
        return 128 + stop.signal
    return errors.USAGE if error.usage else errors.FAILED
