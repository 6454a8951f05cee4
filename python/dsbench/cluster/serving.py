"""A node's life: it asks to be admitted, serves the coordinator, and asks again when their connection broke."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import secrets
import signal
import tempfile
import time
from collections.abc import Callable
from typing import Any, Final

import psutil

from dsbench.cluster import wire
from dsbench.cluster.bundle import Bundle, number_of
from dsbench.cluster.errors import ClusterError
from dsbench.cluster.lease import Lease
from dsbench.cluster.node import Node
from dsbench.cluster.worker import Link

PATIENCE_S: Final = 600.0
"""How long a node looks for its coordinator: it may be started long before the run."""
STOPPED: Final = "stopped by a signal"
_PAUSE_S: Final = (0.1, 2.0)
"""Shortest and longest pause between two attempts to join."""
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
        self._joins = 0
        self._security = wire.security(bundle)
        wire.hear(logging.NullHandler())  # The node says what matters in its own words.

    async def last(self) -> str:
        """Joins, serves, joins again, until the coordinator says goodbye."""
        loop = asyncio.get_running_loop()
        asked = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, asked.set)
        with tempfile.TemporaryDirectory(prefix="dsbench-node-") as folder:
            while not self._node.goodbye:
                lease_s = await self._admitted(asked)
                if lease_s is None:
                    return STOPPED
                if self._node.goodbye:
                    break
                self._node.lease = Lease(lease_s)
                await self._work(folder, asked)
                if asked.is_set():
                    return STOPPED
        return self._node.goodbye

    async def _admitted(self, asked: asyncio.Event) -> float | None:
        """Seconds of the lease; ``None`` when the user has lost patience."""
        give_up, pause = time.monotonic() + self._patience_s, _PAUSE_S[0]
        while not asked.is_set():
            try:
                answer = await self._enrol()
            except (TimeoutError, OSError) as error:
                self._judge(error, give_up)
            else:
                if answer["refused"]:
                    raise ClusterError(
                        f"the coordinator at {self._bundle.address} refused this node: {answer['refused']}",
                        "use the dsbench of the coordinator, and one bundle of the run for each node",
                        usage=True,
                    )
                if answer["goodbye"]:
                    self._node.dismiss(answer["goodbye"])
                    return float(answer["lease_s"])
                self._say(f"joined the run at {self._bundle.address} as {self._name} ({self._bundle.member})")
                return float(answer["lease_s"])
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PAUSE_S[1])
        return None

    def _judge(self, error: Exception, give_up_s: float) -> None:
        chain = _chain(error)
        words = chain[-1]
        if any(word in " ".join(chain).lower() for word in _FOREIGN):
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

    async def _enrol(self) -> dict[str, Any]:
        connection = self._security.get_connection_args("worker")
        async with wire.rpc(self._bundle.address, connection_args=connection) as coordinator:
            call = getattr(coordinator, wire.OPERATIONS + "enrol")
            answer: dict[str, Any] = await call(token=self._token, name=self._name, facts=_facts())
            return answer

    async def _work(self, folder: str, asked: asyncio.Event) -> None:
        """One connection, from its begin to its end."""
        self._joins += 1
        number = number_of(self._bundle.member)
        # Dask tells workers apart by address. Ours all listen on their own machine's loopback, where only the node
        # itself could reach them; this address, which nobody calls, is different for each node and each connection.
        contact = f"tls://127.{64 + number // 65536 % 64}.{number // 256 % 256}.{number % 256}:{self._joins % 65536}"
        worker = wire.QuietWorker(
            self._bundle.address, nthreads=1, name=self._bundle.member, resources={"NODE": 1}, memory_limit=0,
            security=self._security, host="tls://127.0.0.1", contact_address=contact, local_directory=folder,
            dashboard=False, death_timeout=60, plugins=(Link(self._node, self._token),), heartbeat_interval="5s",
        )  # fmt: skip
        stopping: asyncio.Task[bool] | None = None
        try:
            await worker
            stopping = asyncio.ensure_future(asked.wait())
            done = asyncio.ensure_future(worker.finished())
            await asyncio.wait([stopping, done], return_when=asyncio.FIRST_COMPLETED)
        except (TimeoutError, OSError, ValueError, RuntimeError) as error:
            self._say(f"the connection failed: {error}")
        finally:
            self._node.stop("the node was stopped" if asked.is_set() else "the connection to the coordinator ended")
            if stopping is not None:
                stopping.cancel()
            await worker.close(timeout=5)
        if not self._node.goodbye and not asked.is_set():
            self._say("the connection to the coordinator ended; joining again")


def _chain(error: BaseException | None) -> list[str]:
    """An error and its causes, the first of which, last in the list, is the one that says anything."""
    chain: list[str] = []
    while error is not None and len(chain) < 5:
        chain.append(str(error) or type(error).__name__)
        error = error.__cause__ or error.__context__
    return chain


def _facts() -> dict[str, Any]:
    return {
        "versions": wire.versions(), "host": platform.node(), "pid": os.getpid(), "cpus": psutil.cpu_count() or 1,
        "system": platform.platform(),
    }  # fmt: skip

