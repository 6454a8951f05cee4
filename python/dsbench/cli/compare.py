"""``dsbench compare``: archives side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dsbench.cli import terminal
from dsbench.problem import Problem

EPILOG = (
    "Examples: dsbench compare archives/*.zip --out comparison | dsbench compare archives/*.zip --reference before | "
    "dsbench compare studies/clients --out comparison | dsbench compare --bound tp1.zip t1.zip t2.zip --out bound"
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
    bound: Annotated[
        bool,
        typer.Option(
            "--bound",
            help="Show the upper bound of a rate instead: what the parts of a transaction allow, such as T1 and T2 for "
            "TP1. It is 1 / (sum over the parts of how often a transaction has it / its peak rate), for each server.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write comparison.txt, .json, .html and diagrams, or bound.txt, to this folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Set archives side by side: a sentence, relative rates, rates, times, failures, checks, what differs.

    Archives of the same settings and label count as repetitions: then their spread gives the intervals.
    """
    if bound:
        _bound(archives, reference, price, out, as_json)
        return
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


def _bound(archives: list[Path], reference: str, price: str, out: Path | None, as_json: bool) -> None:
    if reference or price:
        named = "--reference" if reference else "--price"
        raise Problem(f"{named}: a bound has none", "leave it out, or leave --bound out", usage=True)
    from dsbench.several import bounds, files  # Late: as above.

    found = bounds.read(archives)
    written = [] if out is None else files.write(out, lambda: bounds.files(found))
    if as_json:
        print(files.as_json(bounds.document(found)))
        return
    print(bounds.text(found), end="")
    for path in written:
        print(path)
