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

app = typer.Typer(help="Published results: begin a folder of them, check them, make a site.")
_command = partial(app.command, cls=Grouped)


@_command(epilog="Example: dsbench commons init results")
def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder, such as a fresh clone.")],
) -> None:
    """Begin a repository of results: a README, the licence of the data, a workflow that checks pull requests."""
    from dsbench.commons.repository import begin

    for path in begin(folder):
        print(path)
    print(f"Add a result: dsbench commons publish ARCHIVE --to {folder}", file=sys.stderr)


@_command(epilog="Examples: dsbench commons check results | dsbench commons check results --json")
def check(
    folder: Annotated[Path, typer.Argument(help="The commons.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compute every figure again from the tables, and refuse what differs or cannot be true."""
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
    folder: Annotated[Path, typer.Argument(help="The commons.")],
    out: Annotated[Path, typer.Option(metavar="SITE", help="Where the site goes.")] = Path("site"),
    reports: Annotated[
        bool, typer.Option("--reports", help="With the whole report of each entry, about a megabyte each.")
    ] = False,
) -> None:
    """Make a site that opens from a file: a ranking of what was measured alike, each entry, comparisons, versions.

    Entries that do not hold are named and left out. The site lies outside of the commons, in place of an earlier one.
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
