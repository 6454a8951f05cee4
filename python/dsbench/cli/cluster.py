"""``dsbench cluster``: the machines that make load together."""

from __future__ import annotations

import ipaddress
import json
import math
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dsbench.cli import errors
from dsbench.cli.usage import Grouped
from dsbench.measure.joining import ClusterError
from dsbench.problem import how_to_install
from dsbench.spec import SpecError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Invite and start remote nodes.")
_command = partial(app.command, cls=Grouped)


@_command(epilog="Example: dsbench cluster invite --nodes 4 --address bench-server --out cluster")
def invite(
    nodes: Annotated[int, typer.Option(min=1, max=100_000, help="Number of nodes")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the bundles")] = Path("cluster"),
    address: Annotated[
        str, typer.Option(help="Address of this machine for the nodes [its own, port 8786]")
    ] = "",
    hours: Annotated[float, typer.Option(min=0.01, max=87_600, help="Hours that the certificates are valid")] = 72.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON")] = False,
) -> None:
    """Write certificates for a run: a bundle for each node, and what the run itself needs."""
    try:
        from dsbench.measure.nodes import bundle  # Late: an extra.
    except ImportError as error:
        problem = f"this needs a package that is not installed: {error}"
        raise ClusterError(problem, how_to_install(), usage=True) from None
    host, port = _address(address)
    if math.isnan(hours):
        raise SpecError("--hours", "must be a number", "specify a number of hours, such as 72")
    made = bundle.invite(out, nodes, host, port or bundle.PORT, timedelta(hours=hours))
    if as_json:
        said = {"address": made.coordinator.address, "expires": made.coordinator.expires,
                "bundles": [str(path) for path in made.bundles]}  # fmt: skip
        print(json.dumps(said, indent=2))
        return
    print(f"here:              dsbench run TARGET --nodes {nodes} --cluster {out}")
    print(f"on each machine:   dsbench cluster node --join node-N.bundle   (from {out}, one each; keep them secret)")
    print(f"until {made.coordinator.expires}, at {made.coordinator.address}")


def _address(text: str) -> tuple[str, int]:
    """(host, port) of HOST, HOST:PORT or [ADDRESS]:PORT; port 0 where none is named."""
    if not text:
        return "", 0
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]") or (":" in host and not host.startswith("[")):
        host, port = text, ""
    if ":" in host and not _is_address(host.strip("[]")):
        remedy = "write HOST, HOST:PORT or [ADDRESS]:PORT"
        raise SpecError("--address", f"{text!r} is neither a host nor an address", remedy)
    if port and not (port.isdecimal() and 0 < int(port) < 65536):
        raise SpecError("--address", f"{text!r} has no port between 1 and 65535", "write HOST or HOST:PORT")
    return host.strip("[]"), int(port or 0)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@_command(epilog="Example: dsbench cluster up --ssh client1,bench@client2 --cluster cluster")
def up(
    ssh: Annotated[str, typer.Option(help="Machines, with commas: [user@]host[:port]")],
    cluster: Annotated[Path, typer.Option(help="Folder of the invitation")] = Path("cluster"),
    command: Annotated[str, typer.Option(help="Command of dsbench there")] = "dsbench",
) -> None:
    """Start a node on each machine over SSH, and wait until their run has ended."""
    try:
        from dsbench.measure.nodes import bundle, serving  # Late: an extra.
    except ImportError as error:
        problem = f"this needs a package that is not installed: {error}"
        raise ClusterError(problem, how_to_install(), usage=True) from None
    hosts = [host.strip() for host in ssh.split(",") if host.strip()]
    invitation = bundle.invitation(cluster)
    failed = serving.up(hosts, invitation, command, lambda line: print(line, file=sys.stderr, flush=True))
    if failed:
        errors.tell(f"these nodes failed: {', '.join(failed)}", "see their messages above")
        sys.exit(errors.FAILED)


@_command(
    epilog="Examples: dsbench cluster node --join node-1.bundle | ssh host dsbench cluster node --join - <node-1.bundle"
)
def node(
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
