"""``dsbench commons publish``: archives as entries of a commons."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsbench.cli import errors

if TYPE_CHECKING:
    from dsbench.commons.entry import Package

EPILOG = (
    "Examples: dsbench commons publish archives/*.zip --to results --preview | "
    'dsbench commons publish archives/*.zip --to results --by "Ada Lovelace" --machine "m7g.large" '
    '--price "0.0816 USD/h"'
)


def command(
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

    An entry contains run.json, the tables without the trace, and results.csv. Passwords are never in an archive.
    Existing entries are skipped. Of several archives, those that a commons would refuse are listed and skipped.
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
