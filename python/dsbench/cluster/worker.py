"""What runs inside Dask on a node: the task that takes part in a turn, and the beats beside it."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future as Waiting
from concurrent.futures import TimeoutError as TooLate
from typing import TYPE_CHECKING, Any, Final

from dsbench.cluster import wire
from dsbench.cluster.clock import Estimate, estimate

if TYPE_CHECKING:
    from dsbench.cluster.node import Node

PLUGIN: Final = "dsbench"
_SENDING_S: Final = 20.0
_SLICE_S: Final = 0.02
"""How long a thread that waits for an answer leaves the lease unwatched."""


def take_part(key: str) -> None:
    """The task: this node's part of the turn ``key``. It runs on the worker's only thread for tasks."""
    link: Link = wire.get_worker().plugins[PLUGIN]
    link.node.take_part(link, key)


class Link(wire.WorkerPlugin):  # type: ignore[misc]
    """The node's connection to the coordinator, as long as it lasts."""

    name = PLUGIN

    def __init__(self, node: Node, token: str) -> None:
        self.node = node
        self._token = token
        self._worker: Any = None
        self._beating: asyncio.Task[None] | None = None

    def setup(self, worker: Any) -> None:
        """Dask has made the worker: from now on the node beats."""
        self._worker = worker
        self._beating = asyncio.ensure_future(self._beat())

    def teardown(self, worker: Any) -> None:  # noqa: ARG002  Dask's name
        """The connection is gone. The load ends with it: its thread would keep the node from joining again."""
        self.node.stop("the connection to the coordinator ended")
        if self._beating is not None:
            self._beating.cancel()

    async def _beat(self) -> None:
        while self._worker.status.name in ("init", "undefined"):
            await asyncio.sleep(_SLICE_S)
        lease = self.node.lease
        while True:
            sent = lease.now_s()
            try:
                beat = self._call("beat", token=self._token, key=self.node.key, totals=self.node.totals)
                answer = await asyncio.wait_for(beat, lease.length_s / 3)
            except (TimeoutError, OSError):
                answer = None
            if answer is not None and not await self._heard(answer, sent):
                return
            if answer is not None:
                await self._deliver()
            if lease.expired:
                self.node.stop("no word from the coordinator: the lease ran out")
            await asyncio.sleep(max(0.0, sent + lease.beat_s - lease.now_s()))

    async def _heard(self, answer: dict[str, Any], sent_s: float) -> bool:
        """What the coordinator says to a beat; False when the connection is of no more use."""
        if answer["goodbye"]:
            self.node.dismiss(answer["goodbye"])
        if answer["goodbye"] or not answer["known"]:
            self.node.stop(answer["goodbye"] or "the coordinator went on without this node")
            self._worker.loop.add_callback(self._worker.close, reason="dsbench")
            return False
        self.node.lease.renew(sent_s)
        if answer["stop"]:
            self.node.stop(answer["stop"], answer["key"])
        return True

    async def _deliver(self) -> None:
        """Sends what an earlier connection could not; the coordinator knows what it has already."""
        if self.node.key:
            return  # The thread of the load is about to send it itself, or busy.
        for key, data in list(self.node.outbox.items()):
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(self._call("result", key=key, data=data), _SENDING_S)
                self.node.outbox.pop(key, None)

    async def _call(self, operation: str, **message: Any) -> Any:
        return await getattr(self._worker.scheduler, wire.OPERATIONS + operation)(**message)

    # For the thread of the load.

    def ask(self, operation: str, **message: Any) -> Any:
        """The coordinator's answer; ends early, with the node's ``Interrupted``, when the load must not go on."""
        return self._wait(self._call(operation, **message))

    def tell(self, operation: str, **message: Any) -> None:
        """Sends something that the coordinator has to know, also when the load was ended. Raises ``OSError``."""
        self._begin(self._call(operation, **message)).result(_SENDING_S)

    def clocks(self, pings: int) -> Estimate:
        """How far this node's clock is from the coordinator's now."""
        found: Estimate = self._wait(estimate(lambda: self._call("clock"), pings=pings))
        return found

    def _wait(self, coroutine: Any) -> Any:
        waiting = self._begin(coroutine)
        try:
            while True:
                try:
                    return waiting.result(_SLICE_S)
                except TooLate:
                    if waiting.done():
                        raise
                    self.node.check()
        finally:
            waiting.cancel()

    def _begin(self, coroutine: Any) -> Waiting[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._worker.loop.asyncio_loop)
