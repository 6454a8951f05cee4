"""A node's life: it asks to be admitted, serves the coordinator, and asks again when their connection broke."""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import signal
import ssl
import time
from collections.abc import Callable
from typing import Any, Final

import psutil

from dsbench.cluster import channel, frames
from dsbench.cluster.bundle import Bundle
from dsbench.cluster.errors import ClusterError
from dsbench.cluster.frames import ProtocolError
from dsbench.cluster.lease import Lease
from dsbench.cluster.link import Link
from dsbench.cluster.node import Node

PATIENCE_S: Final = 600.0
"""How long a node looks for its coordinator: it may be started long before the run."""
STOPPED: Final = "stopped by a signal"
_PAUSE_S: Final = (0.1, 2.0)
"""Shortest and longest pause between two attempts to join."""
_ENDING_S: Final = 5.0
"""How long the load may take to end when its connection has."""
_FOREIGN: Final = ("certificate", "alert", "unknown ca", "unknown_ca")
"""Words in errors of TLS that no further attempt can mend."""


def serve(bundle: Bundle, node: Node, name: str, patience_s: float, say: Callable[[str], None]) -> str:
    """Takes part in the run of ``bundle`` until it is over; gives the coordinator's last words.

    Raises ``ClusterError`` when the node is refused, or cannot find its coordinator for ``patience_s``.
    """
    return asyncio.run(_Membership(bundle, node, name or platform.node(), patience_s, say).last())


class _Membership:
    """One node's membership in one run."""

    def __init__(self, bundle: Bundle, node: Node, name: str, patience_s: float, say: Callable[[str], None]) -> None:
        self._bundle, self._node, self._name, self._say = bundle, node, name, say
        self._patience_s = patience_s
        self._token = secrets.token_hex(8)
        self._security = channel.context(bundle, "client")

    async def last(self) -> str:
        """Joins, serves, joins again, until the coordinator says goodbye."""
        loop = asyncio.get_running_loop()
        asked = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, asked.set)
        while not self._node.goodbye:
            link = await self._admitted(asked)
            if link is None:
                return self._node.goodbye or STOPPED
            await self._work(link, asked)
            if asked.is_set():
                return STOPPED
        return self._node.goodbye

    async def _admitted(self, asked: asyncio.Event) -> Link | None:
        """The connection; ``None`` when the run is over, or the user has lost patience."""
        give_up, pause = time.monotonic() + self._patience_s, _PAUSE_S[0]
        while not asked.is_set():
            link = Link(self._node, self._bundle, self._security, self._token)
            try:
                answer = await link.enrol(self._name, _facts())
            except OSError as error:  # ssl.SSLError and TimeoutError are such
                self._judge(error, give_up)
            else:
                if answer["refused"]:
                    link.close()
                    raise ClusterError(
                        f"the coordinator at {self._bundle.address} refused this node: {answer['refused']}",
                        "use the dsbench of the coordinator, and one bundle of the run for each node",
                        usage=True,
                    )
                if answer["goodbye"]:
                    link.close()
                    self._node.dismiss(answer["goodbye"])
                    return None
                self._node.lease = Lease(float(answer["lease_s"]))
                self._say(f"joined the run at {self._bundle.address} as {self._name} ({self._bundle.member})")
                return link
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PAUSE_S[1])
        return None

    def _judge(self, error: OSError, give_up_s: float) -> None:
        words = error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error) or "no answer"
        if isinstance(error, ssl.SSLError) and any(word in str(error).lower() for word in _FOREIGN):
            raise ClusterError(
                f"{self._bundle.address}: {words}",
                "the coordinator there belongs to another run, or the bundle has expired: take a bundle of this run",
                usage=True,
            )
        if time.monotonic() > give_up_s:
            raise ClusterError(
                f"no coordinator at {self._bundle.address} for {self._patience_s:.0f} s: {words}",
                "start dsbench run --nodes there, and see that its port can be reached from here",
            )

    async def _work(self, link: Link, asked: asyncio.Event) -> None:
        """One connection, from its begin to its end."""
        serving, stopping = asyncio.ensure_future(link.serve()), asyncio.ensure_future(asked.wait())
        await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        self._node.stop("the node was stopped" if asked.is_set() else "the connection to the coordinator ended")
        serving.cancel()
        (end,) = await asyncio.gather(serving, return_exceptions=True)
        if isinstance(end, ProtocolError):
            self._say(f"the connection failed: {end}")
        # The load has to end before this node joins again: it could not take part in the next cycle.
        give_up = time.monotonic() + _ENDING_S
        while link.working and time.monotonic() < give_up:
            await asyncio.sleep(_PAUSE_S[0])
        if not self._node.goodbye and not asked.is_set():
            self._say("the connection to the coordinator ended; joining again")


def _facts() -> dict[str, Any]:
    return {
        "versions": frames.versions(), "host": platform.node()[:300], "pid": os.getpid(),
        "cpus": psutil.cpu_count() or 1, "system": platform.platform()[:300],
    }  # fmt: skip

