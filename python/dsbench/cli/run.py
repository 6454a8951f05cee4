"""``dsbench run``: one run over a ladder of scales."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dsbench import run, spec
from dsbench.cli import errors, settings
from dsbench.cli.options import taking_settings
from dsbench.cli.progress import Progress, clock
from dsbench.spec import about

EPILOG = (
    "Examples: dsbench run | dsbench run private:postgresql --scales 1,10,100 --cycles 3 --duration 20 | "
    "dsbench run postgresql://me@host/db --profile dsi --out results | "
    "dsbench run private:firebird --workload tpcc --scales 10 --threads 10,20,40 --duration 60 | "
    "dsbench run private:postgresql --workload tpcc --scales 5 --pace terminals --threads 8 --ramp-up 60"
)

Option = typer.Option
_WITH_RESUME = ("target", "resume", "cluster", "patience", "as_json", "quiet")
"""What a run that goes on takes: where it works and what it shows. All else is as it was."""



@taking_settings
def command(
    context: typer.Context,
    target: Annotated[str | None, typer.Argument(help=spec.OPTIONS["target"].help)] = None,
    *,
    config: Annotated[
        Path | None, Option(help="TOML file with these settings; the command line wins.", rich_help_panel=about.WORK)
    ] = None,
    out: Annotated[Path, Option(help="Folder for the archive.")] = Path("archives"),
    resume: Annotated[Path | None, Option(help="Go on with this archive, which was cut short.")] = None,
    cluster: Annotated[
        Path, Option(help="Folder of the nodes' invitation (dsbench cluster invite); made when there is none.")
    ] = Path("cluster"),
    patience: Annotated[float, Option(help="Seconds to wait for the nodes to join.")] = 600.0,
    as_json: Annotated[bool, Option("--json", help="Print the results as one JSON document.")] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress.")] = False,
    **_settings: Any,
) -> None:
    """Measure the transaction rate over a ladder of database sizes."""
    joining = run.Joining(cluster, patience)
    if resume is not None:
        _refuse_changes(context)
        _resume(resume, target, joining, as_json, quiet)
        return
    asked = specification(context.params, config)
    if asked.glimpse and not quiet:
        hours = clock(spec.dsi_seconds())
        hint = f"profile quick: a glimpse. Comparable figures: --profile dsi ({hours} and the time to populate)"
        print(hint, file=sys.stderr)
    with Progress(asked.spec, quiet=quiet) as progress:
        outcome = run.execute(asked.spec, out, _Listener(progress), joining)
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


def specification(params: Mapping[str, Any], config: Path | None) -> spec.Merged:
    """What the parameters of the command ask for, over the file ``config``; ``SpecError`` where that cannot be."""
    values = {name: params[name] for name in spec.OPTIONS if params.get(name) is not None}
    target, texts = values.pop("target", None), values.pop("workload_settings", [])
    return spec.merged(values, target=target, settings=settings.pairs(texts), config=config)


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
