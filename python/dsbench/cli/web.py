"""``dsbench web``: everything in a browser of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dsbench.problem import Problem

EPILOG = "Examples: dsbench web | dsbench web --port 0 --archives results"


def command(
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any that is free")] = 8080,
    archives: Annotated[
        Path, typer.Option(help="Folder for the archives")
    ] = Path("archives"),
    commons: Annotated[
        Path | None, typer.Option(help="Folder of published results [commons, beside the archives]")
    ] = None,
) -> None:
    """Start, watch, read and compare runs and studies in a browser of this machine.

    It listens on the loopback interface only; the address that it prints logs one browser in, once.
    """
    if not archives.absolute().parent.is_dir():
        raise Problem(f"--archives: there is no folder {archives.absolute().parent}", "create it first", usage=True)
    from dsbench.web.server import serve  # Late: what it needs is an extra.

    serve(archives, port, commons)
