"""``dsbench bound``: a workload beside the parts of its transaction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dsbench.archive import OutError, try_out

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
    from dsbench.read.bounds import document, read
    from dsbench.read.report import bounds as report

    found = read(archives)
    files: dict[str, bytes] = {}
    if out is not None:
        try_out(out)
        files = report.files(found)
        try:
            for name, content in files.items():
                (out / name).write_bytes(content)
        except OSError as error:
            raise OutError(f"--out: cannot write to {error.filename or out}: {error.strerror}") from None
    if as_json:
        print(json.dumps(document(found), indent=2, ensure_ascii=False))
        return
    print(report.text(found), end="")
    for name in files:
        print(Path(out or "", name))
