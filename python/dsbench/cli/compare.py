"""``dsbench compare``: archives side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dsbench.cli import terminal

EPILOG = (
    "Examples: dsbench compare archives/*.zip --out comparison | dsbench compare archives/*.zip --reference before | "
    "dsbench compare studies/clients --out comparison"
)


def command(
    archives: Annotated[
        list[Path],
        typer.Argument(
            help="Folders or zips that runs left, in the order of the columns; name repetitions, too. Or one that has "
            "several numbers of clients, or the folder of a study, whose archives are in the order of its levels."
        ),
    ],
    reference: Annotated[
        str, typer.Option(metavar="ARCHIVE", help="One of them, its label, or a number of clients of a single one: all "
                          "are divided by it. Default: the first, of a study that at its references.")
    ] = "",
    price: terminal.Price = "",
    out: Annotated[
        Path | None, typer.Option(help="Write comparison.txt, .json, .html and diagrams to this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Set archives side by side: a sentence, relative rates, rates, times, failures, checks, what differs.

    Archives of the same settings and label count as repetitions: then their spread gives the intervals.
    """
    # Late: the libraries that draw and compute take a second, and help should not.
    from dsbench.read.blocks import Listed
    from dsbench.several import files, shown
    from dsbench.several.compare import read
    from dsbench.study import sort_archives

    paths, first = sort_archives(archives)
    comparison = read(paths, reference or first, terminal.check_price(price))
    # Before anything is printed: whoever reads a pipe may have enough of it early.
    written = [] if out is None else files.write(out, lambda: shown.files(comparison))
    if as_json:
        print(files.as_json(shown.document(comparison)))
        return
    terminal.show(shown.tell(comparison))
    pages = [f"page: {path}" for path in written if path.suffix == ".html"]
    terminal.show([Listed(["", *(pages or ["next: the same as a page with diagrams: --out FOLDER"])])])
