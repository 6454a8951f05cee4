"""``dsbench trend``: where the rates of a configuration changed from run to run."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from dsbench import spec
from dsbench.cli import options, terminal

EPILOG = (
    "Exit codes: 0 no change, or the last one was for the better; 3 the last one was for the worse. "
    "Example: dsbench trend archives --out trend"
)
FELL: Final = 3


class HistoryForm(StrEnum):
    """What histories are printed as."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JUNIT = "junit"


def command(
    folder: Annotated[Path, typer.Argument(help="Folder with archives in it or below it")],
    difference: Annotated[str, typer.Option(metavar="P%", help="Smallest change to report")] = "3%",
    of: options.Of = "rate",
    stage: options.Stage = "",
    group: options.Group = "",
    out: Annotated[
        Path | None, typer.Option(help="Write a page, diagrams, tables and files for Otava to this folder")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
    form: Annotated[
        HistoryForm, typer.Option("--as", help="text, markdown for a pull request, or junit")
    ] = HistoryForm.TEXT,
) -> None:
    """Find where the rate changed over the runs of one configuration, and what else changed there.

    One configuration is one product on one host under one load; versions, settings of the server and labels may differ.
    """
    terminal.refuse_both(as_json, form)
    least = spec.share("--difference", difference)
    # Late: the libraries that draw and compute take a second, and help should not.
    from dsbench.exports import junit_of_histories, otava
    from dsbench.read.choice import make_choice
    from dsbench.several import files, trend

    found, left = trend.histories(folder, least, make_choice(of, stage, group))
    written = [] if out is None else files.write(out, lambda: trend.files(found, left) | otava(found, out))
    others = {"junit": partial(junit_of_histories, found, left)}
    document, blocks = partial(trend.document, found, left), partial(trend.tell, found, left)
    if terminal.show_answer(document, blocks, as_json, form, others):
        for path in written:
            if path.suffix == ".html":
                print(f"\npage: {path}")
    if any(history.fell for history in found):
        sys.exit(FELL)
