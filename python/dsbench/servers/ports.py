"""Ports for private servers, and files for connections."""

from __future__ import annotations

import contextlib
import random
import resource
import socket
from collections.abc import Sequence
from pathlib import Path

_LOWEST = 10_000
"""Below it services have their usual ports."""


def free_port() -> int:
    """A port that no program here has.

    It is none of those that the kernel gives to outgoing connections, where others are left: any program
    could be given it between this call and the start of the server. Another server can still take it.
    """
    first, last = _outgoing()
    ports: Sequence[int] = [*range(_LOWEST, first), *range(last + 1, 65_536)] or range(_LOWEST, 65_536)
    while True:
        port = random.choice(ports)
        if _is_free(port):
            return port


def _outgoing() -> tuple[int, int]:
    """First and last port of outgoing connections; Linux' own where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        first, last = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
        return int(first), int(last)
    return 32_768, 65_535


def _is_free(port: int) -> bool:
    # On all addresses: that fails where a program has the port on one of them.
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.bind(("", port))
        return True
    return False


def network_host(listen: str) -> str | None:
    """The host name by which clients reach a server that listens on these addresses; ``None`` without any."""
    first = listen.split(",")[0].strip()
    if not first:
        return None
    return socket.gethostname() if first in ("*", "0.0.0.0", "::") else first


def raise_file_limit() -> None:
    """Lets this process open as many files as the system lets it: each connection is one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = 2**20 if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
