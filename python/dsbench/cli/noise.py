"""``dsbench noise``: how much equal runs differ on this machine, and what difference a comparison can find."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from dsbench import spec
from dsbench.archive import try_out
from dsbench.cli import errors, run, terminal
from dsbench.cli.options import taking_settings, targets
from dsbench.cli.progress import ProgressOfRuns
from dsbench.measure.interrupts import Stop
from dsbench.spec.words import GROUPS

EPILOG = (
    "Examples: dsbench noise | dsbench noise private:postgresql --scales 20 --clients 8 | "
    "dsbench noise postgresql://me@host/db --databases 12 --watch 600"
)
ELSEWHERE: Final = GROUPS
"""Headings whose options are in the help of ``dsbench run``."""

Option = typer.Option


@taking_settings
def command(
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help=spec.OPTIONS["target"].help, autocompletion=targets)
    ] = None,
    config: Annotated[
        Path | None, Option(help="TOML file of settings, or the archive of a run to repeat", metavar="FILE")
    ] = None,
    *,
    databases: Annotated[int, Option(min=1, max=1000, metavar="N", help="Databases that are loaded")] = 8,
    starts: Annotated[int, Option(min=1, max=1000, metavar="N", help="Runs on each, with a start of the server")] = 4,
    watch: Annotated[
        float, Option(min=0, max=7200, metavar="SECONDS", help="One long cycle, to find periods; 0 for none")
    ] = 300,
    resume: Annotated[bool, Option("--resume", help="Continue what --out holds, with the same options")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the plan, its time and space; touch nothing")] = False,
    out: Annotated[Path, Option(metavar="FOLDER", help="Folder for the archives and the result")] = Path("noise"),
    as_json: Annotated[bool, Option("--json", help="Print the result as JSON")] = False,
    form: terminal.As = terminal.AnswerForm.TEXT,
    quiet: Annotated[bool, Option("--quiet", "-q", help="No progress")] = False,
    **given: Any,
) -> None:
    """Measure how much equal runs differ on this machine, and what difference a comparison can find.

    The options of dsbench run apply, such as --clients and --scales. The result is kept for this machine: dsbench ab
    and dsbench study run --dry-run then say what they can find.
    """
    terminal.refuse_both(as_json, form)
    # Late: numerical libraries take a second, and help should not.
    from dsbench.library import noise
    from dsbench.measure.ahead import look_ahead, refuse_settings, text_of
    from dsbench.measure.moments import format_time
    from dsbench.several.noise import keep

    asked = run.specification({**given, "target": target}, config)
    if given["scales"] is None and config is None:  # Several by themselves.
        asked = run.specification({**given, "target": target, "scales": str(max(asked.spec.scales))}, config)
    noise.refuse(asked.spec, databases, starts)
    refuse_settings(asked.spec)
    ahead = look_ahead(asked)
    shape = made, each = noise.shape_of(asked.spec, databases, starts)
    span = dict.fromkeys(map(format_time, noise.seconds_of(asked.spec, ahead.time_s, shape, watch)))
    plan = f"plan: {made} x {each} runs of {asked.spec.cycles} cycles, {' to '.join(span)} and the start of each server"
    if dry_run:
        print(f"{text_of(ahead)}\n\n{plan}")
        return
    try_out(out)
    stop = Stop(signals=True)
    with ProgressOfRuns(quiet) as shown:
        shown.line(plan)
        found, error = noise.measure(
            asked.spec, out, databases=databases, starts=starts, watch_s=watch, resume=resume, observer=shown.of,
            stop=stop, told=shown.line,
        )  # fmt: skip
    if found is not None:
        noise.write(found, out)
        if error is None:
            keep(asked.spec, found)
        terminal.show_answer(found.document, found.tell, as_json, form)
    if error is not None:
        errors.tell(f"{error}; what is complete is kept in {out}", "continue with the same command and --resume")
        failed = errors.USAGE if error.usage else errors.FAILED
        sys.exit(failed if stop.signal is None else 128 + stop.signal)
