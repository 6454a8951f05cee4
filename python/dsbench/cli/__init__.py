"""The command line. One file per command; adding one is a file here and one line in ``COMMANDS``.

A command is loaded when it is used. Data goes to stdout, progress and log to stderr. Exit codes: 0 done, 1 failed,
2 wrong usage, 130 and 143 stopped by Ctrl-C and SIGTERM.
"""

from __future__ import annotations

import os
import sys
from collections import UserDict
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from dsbench import release
from dsbench.cli import errors, terminal, usage
from dsbench.loading import loading

COMMANDS: Final = {
    "Measure": {
        "run": "Run a benchmark: load a database, run transactions, report.",
        "ab": "Find out which of two servers or settings is faster.",
        "noise": "Find out how much equal runs differ on this machine.",
        "study": "Vary several settings, and find which of them matter.",
        "check": "Test whether a server is consistent and durable.",
    },
    "Compare": {
        "compare": "Compare runs: a verdict, rates, relative rates, settings.",
        "trend": "Find where the rate changed over many runs.",
    },
    "Look": {
        "show": "Show the results of a run, or one subject of them.",
        "plot": "Draw the diagrams of a run as SVG, PDF, PNG or for gnuplot.",
        "query": "Query runs with SQL.",
        "web": "Start, watch, read and compare runs and studies in a browser.",
    },
    "Publish": {"commons": "Publish results, check others, build a website."},
    "Set up": {
        "doctor": "Check what can run on this machine, and how fast the client is.",
        "servers": "List and install the servers that dsbench starts itself.",
        "cluster": "Make the load on other machines.",
        "drop": "Remove the database that a run kept.",
    },
}
"""By heading each command, the file of its name, in a sentence for ``dsbench --help``."""
_COMMANDS: Final = {name: words for section in COMMANDS.values() for name, words in section.items()}


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
            self.data[name].brief = getattr(module, "BRIEF", "")
            self.data[name].elsewhere = getattr(module, "ELSEWHERE", ())
        return self.data[name]


class _Loading(TyperGroup):
    """Lists and completes the commands without loading them."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Commands(dict.fromkeys(_COMMANDS))

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        width = max(map(len, _COMMANDS))
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:<{width}}", words) for name, words in commands.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        options = super(TyperGroup, self).shell_complete(ctx, incomplete)
        item: Any = vars(typer.core)["CompletionItem"]
        fitting = [name for name in _COMMANDS if name.startswith(incomplete)]
        return [*(item(name, help=_COMMANDS[name]) for name in fitting), *options]


app = typer.Typer(
    name="dsbench",
    cls=_Loading,
    help="Measure how many transactions a database server does, and how long they take.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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
    """Measure how many transactions a database server does, and how long they take."""


def main() -> None:
    """The program: runs a command and turns its error into one message and an exit code."""
    # Programs that are called write numbers and words as their locale has them, and are read by these rules.
    os.environ.update(LC_ALL="C.UTF-8", LANGUAGE="")
    terminal.open_all()
    with errors.told():
        try:
            sys.exit(usage.run(app))
        except SystemExit:
            # Here, and not when Python ends: a reader that has gone is no error.
            sys.stdout.flush()
            raise
