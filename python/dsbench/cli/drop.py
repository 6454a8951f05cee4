"""``dsbench drop``: removes a database that dsbench has made."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dsbench import spec
from dsbench.cli import errors
from dsbench.measure.keeping import drop_target

EPILOG = (
    "Examples: dsbench drop postgresql://me@host/db | dsbench drop sqlite:///file.db --yes | "
    "dsbench drop 'private:postgresql?directory=/data/bench'"
)


def command(
    target: Annotated[str, typer.Argument(help="TARGET of the run that kept the database")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
) -> None:
    """Remove the database that a run left or kept. A run that uses it is never disturbed.

    If it contains objects of others, such as a table of yours, dsbench lists them and removes nothing.
    """
    refused = False

    def agreed(words: str) -> bool:
        nonlocal refused
        if not yes and not sys.stdin.isatty():
            remedy = "add --yes to remove it"
            raise spec.SpecError("--yes", f"{words}: this needs confirmation, and standard input is not a "
                                          "terminal", remedy)
        refused = not yes and not typer.confirm(f"{words}\nRemove it?", default=False, err=True)
        return not refused

    asked = spec.build({"target": {"url": target}}).target
    removed = drop_target(asked, agreed)
    if refused:
        errors.tell("nothing was removed")
        sys.exit(errors.FAILED)
    print(f"removed: {removed}" if removed else f"{asked.redacted}: dsbench has nothing there")
