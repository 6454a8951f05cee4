"""``dsbench node``: this machine as a source of load for a run on another one."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dsbench.cli import errors
from dsbench.cluster import ClusterError, how_to_install
from dsbench.generator import Bench, CoreError, Target
from dsbench.monitors import network
from dsbench.runner import calibration
from dsbench.spec import RunSpec
from dsbench.stack import core

EPILOG = "Examples: dsbench node --join node-1.bundle | ssh host dsbench node --join - <node-1.bundle"


def command(
    join: Annotated[Path, typer.Option(help="The bundle for this machine; - reads it from standard input.")],
    name: Annotated[str, typer.Option(help="How results call this node [the host's name].")] = "",
    patience: Annotated[float, typer.Option(help="Seconds to look for the run, which may start later.")] = 600.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Make load for a run on another machine, until that run is over."""
    try:
        from dsbench.cluster import bundle, node, serving  # Late: an extra.
    except ImportError as error:
        problem = f"a node needs a package that is not here: {error}"
        raise ClusterError(problem, how_to_install(), usage=True) from None

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    last = serving.serve(bundle.read_of_node(join), node.Node(describe), name, patience, say)
    say(last)
    if last == serving.STOPPED:
        sys.exit(errors.FAILED)


def describe(spec: RunSpec, target: Target, url: str) -> Mapping[str, Any]:
    """What this machine is, and its ceiling for the load of ``spec``."""
    call = Bench(target, spec.workload, spec.scales[0], spec.call).call
    try:
        found = calibration.of_run(spec, target.dialect.name, url, call, lambda _done, _total: None).described()
    except (CoreError, OSError) as error:
        found = {"problem": str(error)}
    return {"calibration": found, "core": core.items(None), "network": network.identity()}
