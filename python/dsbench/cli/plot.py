"""``dsbench plot``: the diagrams of an archive again."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

EPILOG = (
    "To change a diagram, edit its results-*.vl.json in the archive's folder, then plot that folder. "
    "Examples: dsbench run private:sqlite --label mine | dsbench plot archives/*_mine.zip --format pdf --out figures | "
    "dsbench plot archives/*_mine.zip --format png --width 2008 --out figures | "
    "dsbench plot archives/*_mine.zip --format gnuplot --out figures | cd figures && gnuplot results-rate.gp"
)


class PlotForm(StrEnum):
    """How the axes of rates are drawn."""

    LINEAR = "linear"
    LOG = "log"


class PlotKind(StrEnum):
    """What is written."""

    PICTURES = "pictures"
    SVG = "svg"
    PDF = "pdf"
    PNG = "png"
    GNUPLOT = "gnuplot"


def command(
    archive: Annotated[Path, typer.Argument(help="Folder of an archive, or its zip with --out")],
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Recreate the .vl.json files from the data; edits are lost")
    ] = False,
    rates: Annotated[
        PlotForm | None,
        typer.Option(
            help="Axis of rates, with --fresh [log over two decades and more]"
        ),
    ] = None,
    kind: Annotated[
        PlotKind,
        typer.Option("--format", metavar="WORD", help="pictures, svg or pdf (each SVG and PDF), png or gnuplot"),
    ] = PlotKind.PICTURES,
    width: Annotated[
        int, typer.Option(min=100, max=10_000, help="Pixels of a png: 1920 for a slide, 2008 for 17 cm at 300 dpi")
    ] = 1920,
    out: Annotated[Path | None, typer.Option(help="Folder for the files [that of the archive]")] = None,
) -> None:
    """Draw the diagrams of an archive, as its results-*.vl.json describe them, as SVG and PDF, PNG or for gnuplot."""
    from dsbench.read import finish  # Late: its drawing libraries take a second, and help should not.

    form: Literal["linear", "log"] = "log" if rates is PlotForm.LOG else "linear"
    draw = partial(finish.for_slides, width=width) if kind is PlotKind.PNG else \
        finish.for_gnuplot if kind is PlotKind.GNUPLOT else finish.plot  # fmt: skip
    for path in draw(archive, out, fresh=fresh, form=None if rates is None else form):
        print(path)
