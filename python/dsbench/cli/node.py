"""``dsbench cluster node``: this machine as a source of load for a run on another one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dsbench.cli import errors
from dsbench.measure.joining import ClusterError
from dsbench.problem import how_to_install

EPILOG = "Examples: dsbench cluster node --join node-1.bundle | ssh host dsbench cluster node --join - <node-1.bundle"


def command(
    join: Annotated[Path, typer.Option(help="Bundle of this machine; - reads standard input")],
    name: Annotated[str, typer.Option(help="Name of this node in results [the host's name]")] = "",
    join_timeout: Annotated[float, typer.Option(help="Seconds to wait for the run")] = 600.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors only")] = False,
) -> None:
    """Make load for a run on another machine, until that run has ended."""
    try:
        from dsbench.measure.nodes import bundle, serving  # Late: an extra.
    except ImportError as error:
        problem = f"a node needs a package that is not installed: {error}"
        raise ClusterError(problem, how_to_install(), usage=True) from None

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    last = serving.serve(bundle.read_of_node(join), name, join_timeout, say)
    say(last)
    if last == serving.STOPPED:
        sys.exit(errors.FAILED)
