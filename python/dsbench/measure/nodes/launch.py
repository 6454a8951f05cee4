"""Starts nodes on other machines over SSH: each gets its bundle through its standard input, no file is left there."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncssh

from dsbench.measure.nodes import ClusterError
from dsbench.measure.nodes.bundle import AGAIN, Invitation

_ALIVE_S = 15
_HOSTS = "write host, user@host or user@host:port, with commas between them"

Say = Callable[[str], None]


def up(hosts: Sequence[str], invitation: Invitation, command: str, say: Say) -> list[str]:
    """Runs a node on each of ``hosts`` (``[user@]host[:port]``) until their run is over; gives those that failed.

    ``command`` calls dsbench there. Who may log in, and whether a host is the right one, is for the user's own SSH
    configuration: keys, agent, ``known_hosts``. A signal ends the nodes, too.
    """
    if len(hosts) > (invited := len(invitation.bundles)):
        raise ClusterError(f"{invitation.folder} invites {invited} nodes, not {len(hosts)}", AGAIN, usage=True)
    if not hosts:
        raise ClusterError("--ssh names no host", _HOSTS, usage=True)
    return asyncio.run(_up([_where(host) for host in hosts], hosts, invitation.bundles, command, say))


async def _up(
    where: Sequence[Mapping[str, Any]], hosts: Sequence[str], bundles: Sequence[Path], command: str, say: Say
) -> list[str]:
    each = zip(where, hosts, bundles, strict=False)
    nodes = [asyncio.ensure_future(_node(place, host, bundle, command, say)) for place, host, bundle in each]
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, lambda: [node.cancel() for node in nodes])
    ends = await asyncio.gather(*nodes, return_exceptions=True)
    for host, end in zip(hosts, ends, strict=True):
        if isinstance(end, BaseException):
            say(f"{host}: {str(end) or 'stopped'}")
    return [host for host, end in zip(hosts, ends, strict=True) if end != 0]


async def _node(where: Mapping[str, Any], host: str, bundle: Path, command: str, say: Say) -> int:
    """One node's life; its exit status."""
    async with asyncssh.connect(**where, keepalive_interval=_ALIVE_S) as connection:
        line = f"{command} node --join -"
        async with connection.create_process(line, stderr=asyncssh.STDOUT) as process:
            process.stdin.write(bundle.read_text())
            process.stdin.write_eof()
            try:
                async for text in process.stdout:
                    say(f"{host}: {text.rstrip()}")
            except asyncio.CancelledError:
                process.terminate()
                raise
            done = await process.wait()
            return int(done.exit_status if done.exit_status is not None else 1)


def _where(host: str) -> dict[str, Any]:
    """What ``asyncssh.connect`` wants to know."""
    match = re.fullmatch(r"(?:([^@]+)@)?(\[[^\]]+\]|[^:@\[\]]+)(?::(\d+))?", host)
    if match is None:
        raise ClusterError(f"--ssh: {host!r} is no host", _HOSTS, usage=True)
    user, name, port = match.groups()
    where = {"host": name.strip("[]"), "username": user, "port": int(port) if port else None}
    return {key: value for key, value in where.items() if value is not None}
