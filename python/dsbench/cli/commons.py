"""``dsbench commons``: a folder of published results: begin one, check it, make a site of it."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsbench.cli import errors
from dsbench.cli.usage import Grouped

if TYPE_CHECKING:
    from dsbench.commons.entry import Package
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


@_command(epilog=(
    "Examples: dsbench commons publish archives/*.zip --to results --preview | "
    'dsbench commons publish archives/*.zip --to results --by "Ada Lovelace" --machine "m7g.large" '
    '--price "0.0816 USD/h"'
))
def publish(
    archives: Annotated[list[Path], typer.Argument(help="Archives to publish")],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the results; dsbench commons init makes one")],
    by: Annotated[str, typer.Option(help="Who measured")] = "",
    machine: Annotated[
        str, typer.Option(help="Name of the machine; entries of one name are one machine")
    ] = "",
    price: Annotated[
        str,
        typer.Option(
            metavar="AMOUNT/SPAN",
            help="Price of the machine, such as 1.2 EUR/h [that of the run]",
        ),
    ] = "",
    currency: Annotated[str, typer.Option(help="Currency of a --price without one [USD]")] = "",
    notes: Annotated[str, typer.Option(help="Text for readers")] = "",
    about: Annotated[
        Path | None, typer.Option(help="TOML file with by, machine, notes and price")
    ] = None,
    hide: Annotated[
        str,
        typer.Option(help="host, user, paths, addresses, label, programs; or none"),
    ] = "host,user,paths,addresses",
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what would be published and hidden; write nothing")
    ] = False,
) -> None:
    """Add archives to a folder of results, without host names, users, paths and addresses.

    An entry contains run.json, the tables without the trace, and results.csv. Passwords of TARGET and of settings
    are in no archive. Existing entries are skipped. Of several archives, those that a commons would refuse are listed
    and skipped.
    """
    from dsbench.commons import about as owner
    from dsbench.commons import entry, packing

    said = owner.describe_owner(about, by, machine, price, currency, notes)
    kinds = set() if hide == "none" else {word.strip() for word in hide.split(",") if word.strip()}
    packages, refused = [], False
    for path in archives:
        try:
            packages.append(packing.prepare(path, said, kinds))
        except owner.RefusedError as error:
            if len(archives) == 1:
                raise
            errors.refuse(str(error))
            refused = True
    if not preview:
        entry.list_entries(to)  # A name that is mistyped makes no commons.
    for package in packages:
        if preview:
            _describe(package)
            continue
        try:
            print(entry.write(package, to))
        except owner.PublishedError as error:
            print(error, file=sys.stderr)
    if not preview:
        print(f"Check it: dsbench commons check {to}", file=sys.stderr)
    if refused:
        sys.exit(errors.FAILED)


def _describe(package: Package) -> None:
    print(package.entry.sentence)
    print(f"entry {package.entry.id}, {len(package.archive) / 1024:,.0f} KiB")
    if disturbed := package.entry.disturbed:
        print(f"  shown   {'disturbed':<13} {disturbed}; it will not be ranked")
    for warning in package.entry.warnings:
        print(f"  shown   {'warning':<13} {warning}")
    for name, value in package.entry.system.items():
        if value not in ("", None, 0):
            print(f"  shown   {name:<13} {value}")
    if package.entry.about.price:
        print(f"  shown   {'price':<13} {package.entry.about.price.words}")
    for kind, found in sorted(package.hidden.items()):
        for was, now in sorted(found.items()):
            print(f"  hidden  {kind:<13} {was} -> {now or 'nothing'}")
    if not package.hidden:
        print("  hidden  nothing: the archive contains none of it")
