"""``dsbench compare``: archives side by side."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dsbench import spec
from dsbench.archive import Archive

EPILOG = "Examples: dsbench compare archives/*.zip --out comparison | dsbench compare archives/*.zip --reference before"


def command(
    archives: Annotated[
        list[Path],
        typer.Argument(help="Folders or zips that runs left, in the order of the columns. Name repetitions, too."),
    ],
    reference: Annotated[
        str, typer.Option(metavar="ARCHIVE", help="One of them, or a label: all are divided by it. Default: the first.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="Write comparison.txt, .json, .html and diagrams to this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Set archives side by side: a verdict, rates, relative rates, times, failures, checks, what differs.

    Archives of the same settings and label count as repetitions: then their spread gives the intervals.
    """
    if len(archives) < 2:
        Archive.open(archives[0])  # Its error, where it is a folder of archives, says so.
        raise spec.SpecError("ARCHIVES", "compare needs at least two archives", "name two or more")
    # Late: the libraries that draw and compute take a second, and help should not.
    from dsbench.read.several import files, shown
    from dsbench.read.several.compare import read
    from dsbench.read.text import colour_signs

    comparison = read(archives, reference)
    # Before anything is printed: whoever reads a pipe may have enough of it early.
    written = [] if out is None else files.write(out, lambda: shown.files(comparison))
    if as_json:
        print(files.as_json(shown.document(comparison)))
        return
    text = shown.text(comparison)
    print(colour_signs(text) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text, end="")
    for path in written:
        print(path)
