"""``dsbench commons``: a folder of published results: begin one, check it, make a site of it."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsbench.cli import errors, publish
from dsbench.cli.usage import Grouped

if TYPE_CHECKING:
    from dsbench.commons.site import Verified

app = typer.Typer(help="Publish results, check those of others, and build a website of them.")
_command = partial(app.command, cls=Grouped)


@_command(epilog="Example: dsbench commons init results")
def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder, such as a fresh clone")],
) -> None:
    """Start a repository of results, with README, licence and a check of pull requests."""
    from dsbench.commons.repository import begin

    for path in begin(folder):
        print(path)
    print(f"Add a result: dsbench commons publish ARCHIVE --to {folder}", file=sys.stderr)


@_command(epilog="Examples: dsbench commons check results | dsbench commons check results --json")
def check(
    folder: Annotated[Path, typer.Argument(help="Folder of the results")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
) -> None:
    """Recompute every figure from its data, and refuse entries that differ."""
    from dsbench.commons import site

    found = site.check(folder, _progress)
    if as_json:
        print(json.dumps({"sound": [entry.id for entry in found.sound], "refused": list(found.refused)}, indent=2))
    else:
        _tell(found)
    if found.refused:
        sys.exit(errors.FAILED)


@_command(epilog="Examples: dsbench commons build results --out site | dsbench commons build results --reports")
def build(
    folder: Annotated[Path, typer.Argument(help="Folder of the results")],
    out: Annotated[Path, typer.Option(metavar="SITE", help="Folder of the website")] = Path("site"),
    reports: Annotated[
        bool, typer.Option("--reports", help="Include the report of each entry, about a megabyte each")
    ] = False,
) -> None:
    """Build a website of results: rankings, entries, comparisons, versions.

    It needs no server. Entries that fail the check are listed and skipped. The folder of the website must lie outside
    of the results; an earlier website there is replaced.
    """
    from dsbench.commons import site

    made = site.build(folder, out, reports=reports, progress=_progress)
    _tell(made.verified)
    print(made.path)
    if made.verified.refused:
        sys.exit(errors.FAILED)


def _tell(found: Verified) -> None:
    for sentence in found.refused:
        errors.refuse(sentence)
    entries = len(found.sound) + len(found.refused)
    print(f"{len(found.sound)} of {entries} {'entry holds' if entries == 1 else 'entries hold'}", file=sys.stderr)


def _progress(done: int, entries: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{done} of {entries} verified", end="\n" if done == entries else "", file=sys.stderr, flush=True)


_command("publish", epilog=publish.EPILOG)(publish.command)
