"""``dsbench compare``: archives side by side."""

from __future__ import annotations

from functools import partial
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
            help="Two or more archives in the order of the columns; one with several numbers of clients; or a study"
        ),
    ],
    reference: Annotated[
        str, typer.Option(metavar="ARCHIVE", help="Archive, label or number of clients to divide by [the first]")
    ] = "",
    price: terminal.Price = "",
    bound: Annotated[
        bool,
        typer.Option(
            "--bound",
            help="Show the upper bound of a rate from runs of its parts (TP1)",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write a page, diagrams and tables to this folder")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
    form: terminal.As = terminal.AnswerForm.TEXT,
) -> None:
    """Compare archives: a verdict, rates and relative rates, times, failures, and what differs in the settings.

    Archives of the same settings and label count as repetitions, and their spread gives the intervals. The
    bound of a server is 1 / sum(n / peak rate) over the parts, if a transaction contains a part n times.
    """
    terminal.refuse_both(as_json, form)
    if bound:
        _bound(archives, reference, price, out, as_json, form)
        return
    # Late: the libraries that draw and compute take a second, and help should not.
    from dsbench.archive import without_zips
    from dsbench.read.blocks import Listed
    from dsbench.several import files, shown
    from dsbench.several.compare import read
    from dsbench.study import sort_archives

    paths, first = sort_archives(without_zips(archives))
    comparison = read(paths, reference or first, terminal.check_price(price))
    # Before anything is printed: whoever reads a pipe may have enough of it early.
    written = [] if out is None else files.write(out, lambda: shown.files(comparison))
    if not terminal.show_answer(partial(shown.document, comparison), partial(shown.tell, comparison), as_json, form):
        return
    pages = [f"page: {path}" for path in written if path.suffix == ".html"]
    terminal.show([Listed(["", *(pages or ["next: the same as a page with diagrams: --out FOLDER"])])])


def _bound(
    archives: list[Path], reference: str, price: str, out: Path | None, as_json: bool, form: terminal.AnswerForm
) -> None:
    if reference or price or form is not terminal.AnswerForm.TEXT:
        named = "--reference" if reference else "--price" if price else "--as"
        raise Problem(f"{named} cannot be combined with --bound", "omit it, or omit --bound", usage=True)
    from dsbench.several import bounds, files  # Late: as above.

    found = bounds.read(archives)
    written = [] if out is None else files.write(out, lambda: bounds.files(found))
    if as_json:
        print(files.as_json(bounds.document(found)))
        return
    print(bounds.text(found), end="")
    for path in written:
        print(path)
