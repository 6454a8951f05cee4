"""``dsbench plot``: the diagrams of an archive again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EPILOG = "Example: edit results-rate.vl.json in the archive's folder, then dsbench plot ARCHIVE"


def command(
    archive: Annotated[Path, typer.Argument(help="Folder of an archive, or its .zip together with --out.")],
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make the .vl.json files anew from the data: your edits are lost.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write to this folder instead of the archive's.")] = None,
) -> None:
    """Draw the diagrams again from the (edited) results-*.vl.json files."""
    from dsbench.report import finish  # Late: its drawing libraries take a second, and help should not.

    for path in finish.plot(archive, out, fresh=fresh):
        print(path)
