"""``dsbench compare``: archives side by side."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dsbench import spec
from dsbench.archive import Archive, OutError, try_out

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
    from dsbench.read.report import several
    from dsbench.read.report.stages_compared import coloured
    from dsbench.read.side_by_side import read

    comparison = read(archives, reference)
    files: dict[str, bytes] = {}
    if out is not None:
        try_out(out)
        # Before anything is printed: whoever reads a pipe may have enough of it early.
        _write(out, files := several.files(comparison))
    if as_json:
        print(json.dumps(several.document(comparison), indent=2, ensure_ascii=False))
    else:
        text = several.text(comparison)
        print(coloured(text) if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text, end="")
        for name in files:
            print(Path(out or "", name))


def _write(out: Path, files: dict[str, bytes]) -> None:
    try:
        for name, content in files.items():
            (out / name).write_bytes(content)
    except OSError as error:
        raise OutError(f"--out: cannot write to {error.filename or out}: {error.strerror}") from None
