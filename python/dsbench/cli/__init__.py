"""The command line. One file per command; adding one is a file here and one line in ``app``.

Data goes to stdout, progress and log to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage,
130 and 143 stopped by Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import dsbench
from dsbench.cli import (
    ab,
    bound,
    calibrate,
    check,
    cluster,
    compare,
    doctor,
    drop,
    errors,
    node,
    plot,
    query,
    run,
    servers,
    show,
    study,
    trend,
    usage,
    web,
    workloads,
)
from dsbench.cli.options import Grouped

app = typer.Typer(
    name="dsbench",
    help="Measure what a computer is worth as a database server.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dsbench {dsbench.__version__}")
        raise typer.Exit


@app.callback()
def _dsbench(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure what a computer is worth as a database server."""


_COMMANDS = (
    run, node, show, plot, compare, bound, ab, trend, query, check, drop, calibrate, doctor, workloads, web,
)  # fmt: skip
for _module in _COMMANDS:
    app.command(_module.__name__.rpartition(".")[2], cls=Grouped, epilog=_module.EPILOG)(_module.command)
app.add_typer(cluster.app, name="cluster")
app.add_typer(servers.app, name="servers")
app.add_typer(study.app, name="study")


def main() -> None:
    """The program: runs a command and turns its error into one message and an exit code."""
    with errors.told():
        try:
            sys.exit(usage.run(app))
        except SystemExit:
            # Here, and not when Python ends: a reader that has gone is no error.
            sys.stdout.flush()
            raise
