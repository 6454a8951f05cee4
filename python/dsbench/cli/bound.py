"""``dsbench bound``: a workload beside the parts of its transaction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EPILOG = "Example: dsbench bound tp1.zip t1.zip t2.zip --out bound"


def command(
    archives: Annotated[
        list[Path], typer.Argument(help="Folders or zips that runs of a workload and of its parts left.")
    ],
    out: Annotated[Path | None, typer.Option(help="Write bound.txt and the diagrams to this folder.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show the upper bound of a rate: what the parts of a transaction allow, such as T1 and T2 for TP1.

    The bound is 1 / (sum over the parts of how often a transaction has it / its peak rate), for each server.
    """
    # Late: the libraries that draw and compute take a second, and help should not.
    from dsbench.several import bounds, files

    found = bounds.read(archives)
    written = [] if out is None else files.write(out, lambda: bounds.files(found))
    if as_json:
        print(files.as_json(bounds.document(found)))
        return
    print(bounds.text(found), end="")
    for path in written:
        print(path)
