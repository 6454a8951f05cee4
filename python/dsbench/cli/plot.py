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
    archive: Annotated[Path, typer.Argument(help="Folder of an archive, or its .zip together with --out.")],
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make the .vl.json files anew from the data: your edits are lost.")
    ] = False,
    rates: Annotated[
        PlotForm | None,
        typer.Option(
            help="As --fresh, with such an axis of rates in the diagrams rate, node and cycle [log where the rates "
            "span more than two decades, else linear]."
        ),
    ] = None,
    kind: Annotated[
        PlotKind,
        typer.Option("--format", help="pictures, or svg or pdf: both SVG and PDF; png; gnuplot: .gp and .dat of each "
                     "diagram that is one plot. With --out, and as png, with the picture that the report begins with."),
    ] = PlotKind.PICTURES,
    width: Annotated[
        int, typer.Option(min=100, max=10_000, help="Of --format png, in pixels: 1920 fills a slide, 2008 are 17 cm of "
                          "a paper at 300 dpi.")
    ] = 1920,
    out: Annotated[Path | None, typer.Option(help="Write to this folder instead of the archive's.")] = None,
) -> None:
    """Write the diagrams of an archive as SVG and PDF, as PNG or for gnuplot, as its results-*.vl.json have them."""
    from dsbench.read import finish  # Late: its drawing libraries take a second, and help should not.

    form: Literal["linear", "log"] = "log" if rates is PlotForm.LOG else "linear"
    draw = partial(finish.for_slides, width=width) if kind is PlotKind.PNG else \
        finish.for_gnuplot if kind is PlotKind.GNUPLOT else finish.plot  # fmt: skip
    for path in draw(archive, out, fresh=fresh, form=None if rates is None else form):
        print(path)
