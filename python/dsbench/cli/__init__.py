"""The command line. One file per command; adding one is a file here and one line in ``COMMANDS``.

A command is loaded when it is used. Data goes to stdout, progress and log to stderr. Exit codes: 0 done, 1 failed,
2 wrong usage, 130 and 143 stopped by Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import sys
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from dsbench import release
from dsbench.cli import errors, usage
from dsbench.loading import loading

COMMANDS: Final = {
    "run": "Measure the transaction rate over a ladder of database sizes.",
    "node": "Make load for a run on another machine, until that run is over.",
    "show": "Show the table, the DSI and the warnings of an archive.",
    "plot": "Write the diagrams of an archive as SVG, PDF, PNG or for gnuplot.",
    "compare": "Compare archives: a verdict, rates, relative rates, settings.",
    "bound": "Show what the parts of a transaction allow as its rate.",
    "ab": "Find out which of two is faster, by interleaved runs.",
    "trend": "Show where rates changed over the archives of one benchmark.",
    "query": "Ask all archives below a folder by SQL.",
    "publish": "Add archives to a folder of results that others can check.",
    "commons": "Check a folder of published results, and make a site of it.",
    "check": "Check the consistency of a database that dsbench made.",
    "drop": "Remove the database that a run left or kept.",
    "calibrate": "Measure the highest rate that the client itself can make.",
    "doctor": "Show what can run here, what is missing, what would disturb.",
    "papers": "List the experiments of five papers, and make one of them.",
    "workloads": "List the workloads, with their scales and settings.",
    "web": "Show runs, archives and studies in a browser of this machine.",
    "cluster": "Invite and start remote nodes.",
    "servers": "List, install and test private servers.",
    "study": "Make many runs over factors of the whole stack.",
}
"""Each command, the file of its name, in a sentence for ``dsbench --help``."""


class _Commands(UserDict[str, Any]):
    """The commands by name, each loaded when it is first looked up: most of them load half of the program."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            with loading():
                module = import_module(f"dsbench.cli.{name}")
            above = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
            if hasattr(module, "app"):
                above.add_typer(module.app, name=name)
            else:
                above.command(name, cls=usage.Grouped, epilog=module.EPILOG)(module.command)
            self.data[name] = typer.main.get_group(above).commands[name]
        return self.data[name]


class _Loading(TyperGroup):
    """Lists and completes the commands without loading them."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Commands(dict.fromkeys(COMMANDS))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        options = super(TyperGroup, self).shell_complete(ctx, incomplete)
        item: Any = vars(typer.core)["CompletionItem"]
        fitting = [name for name in COMMANDS if name.startswith(incomplete)]
        return [*(item(name, help=COMMANDS[name]) for name in fitting), *options]


app = typer.Typer(
    name="dsbench",
    cls=_Loading,
    help="Measure what a computer is worth as a database server.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dsbench {release.VERSION}")
        raise typer.Exit


@app.callback()
def _dsbench(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure what a computer is worth as a database server."""


def main() -> None:
    """The program: runs a command and turns its error into one message and an exit code."""
    with errors.told():
        try:
            sys.exit(usage.run(app))
        except SystemExit:
            # Here, and not when Python ends: a reader that has gone is no error.
            sys.stdout.flush()
            raise
