"""Dask's part: which node runs which turn, and what becomes of a turn whose node is lost. The only module with Dask.

Dask listens nowhere. Its scheduler and its client talk inside this process, and a node is a connection to it whose
messages are made here, from what the door has checked: nothing that a node says ever reaches Dask.
"""
# ruff: noqa: E402

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any, Final

import dask

# These stand before Dask's first import, and win over what a user's own Dask configuration says.
dask.config.set(
    {
        # A task of a node that was lost must never run again, neither there nor elsewhere: it is load.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.work-stealing": False,
        "distributed.scheduler.active-memory-manager.start": False,
        # Nodes live by our beats: Dask hears of their end from the door.
        "distributed.scheduler.worker-ttl": None,
        "distributed.scheduler.http.routes": [],
        "distributed.scheduler.preload": [],
        "distributed.comm.require-encryption": True,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "10s",
        "distributed.admin.system-monitor.disk": False,
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.diagnostics.nvml": False,
    }
)  # fmt: skip

from distributed import Client, Scheduler
from distributed.comm.core import Comm, CommClosedError
from distributed.diagnostics.plugin import SchedulerPlugin

_DONE: Final = {
    "op": "task-finished", "stimulus_id": "dsbench-done", "status": "OK", "nbytes": 0, "typename": "NoneType",
    "type": None, "metadata": {}, "startstops": (), "thread": 0,
}  # fmt: skip
_NODE: Final[dict[str, Any]] = {
    "status": "running", "nthreads": 1, "resolve_address": False, "resources": {"NODE": 1}, "memory_limit": None,
    "metrics": {
        "bandwidth": {"total": 1e8, "workers": {}, "types": {}}, "digests_total_since_heartbeat": {}, "memory": 0,
        "spilled_bytes": {"memory": 0, "disk": 0},
    },
    "services": {}, "local_directory": "", "versions": {}, "nanny": "", "extra": {}, "stimulus_id": "dsbench-joined",
}  # fmt: skip
"""What Dask wants to know of a worker. It is all the same to us."""


class _QuietScheduler(Scheduler):  # type: ignore[misc]
    """A scheduler without Dask's HTTP server, which would listen even with nothing to show."""

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:
        """Starts nothing."""


class _Seat(Comm):  # type: ignore[misc]
    """A node as Dask sees it: a connection on which turns are begun and done."""

    def __init__(self, address: str, begin: Callable[[str], Awaitable[None]], cut: Callable[[], None]) -> None:
        super().__init__(deserialize=False)
        self._address, self._begin, self._cut = address, begin, cut
        self._said: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._runs: dict[str, int] = {}
        self._closed = False

    def done(self, key: str) -> None:
        """The node has done its part of the turn ``key``; told of something else, it changes nothing."""
        run = self._runs.pop(key, None)
        if run is not None:
            self._said.put_nowait({**_DONE, "key": key, "run_id": run})

    async def read(self, deserializers: Any = None) -> Any:  # noqa: ARG002  Dask's names
        """The next thing that the node has done."""
        said = None if self._closed else await self._said.get()
        if said is None:
            self._closed = True
            raise CommClosedError
        return said

    async def write(self, msg: Any, serializers: Any = None, on_error: Any = None) -> int:  # noqa: ARG002
        """Hands a turn on to the node; whatever else Dask has to say to workers is not for ours."""
        if self._closed:
            raise CommClosedError
        for one in msg if isinstance(msg, list | tuple) else (msg,):
            if one.get("op") == "compute-task":
                self._runs[one["key"]] = one["run_id"]
                await self._begin(one["key"])
            elif one.get("op") == "close":
                self._cut()
        return 1

    async def close(self) -> None:
        """The same as ``abort``."""
        self.abort()

    def abort(self) -> None:
        """Nothing more comes."""
        if not self._closed:
            self._closed = True
            self._said.put_nowait(None)

    def closed(self) -> bool:
        """Whether it has ended."""
        return self._closed

    @property
    def local_address(self) -> str:
        """Ours."""
        return "inproc://dsbench"

    @property
    def peer_address(self) -> str:
        """The node's."""
        return self._address


class _Ends(SchedulerPlugin):  # type: ignore[misc]
    """Hears which of Dask's workers go."""

    def __init__(self, gone: Callable[[str], Awaitable[None]]) -> None:
        self._gone = gone

    async def remove_worker(self, scheduler: Any, worker: str, **_more: Any) -> None:  # noqa: ARG002  Dask's names
        """A node is lost."""
        await self._gone(worker)


class Scheduling:
    """Turns on nodes. To be used on one event loop, within ``async with``."""

    def __init__(self, gone: Callable[[str], Awaitable[None]]) -> None:
        """``gone`` hears the address of a node whose connection has ended."""
        # Dask puts a folder in front of Python's path: by default one in the temporary folder whose name all know.
        self._scratch = tempfile.TemporaryDirectory(prefix="dsbench-dask-")
        with dask.config.set({"temporary-directory": self._scratch.name}):
            self._scheduler = _QuietScheduler(protocol="inproc", dashboard=False)
        self._gone = gone
        self._seats: dict[str, _Seat] = {}
        self._living: set[asyncio.Task[None]] = set()
        self._futures: list[Any] = []
        self._stack = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Scheduling:
        self._stack.callback(self._scratch.cleanup)
        await self._stack.enter_async_context(self._scheduler)
        self._scheduler.add_plugin(_Ends(self._gone), name="dsbench")
        self._client = await self._stack.enter_async_context(Client(self._scheduler.address, asynchronous=True))
        return self

    async def __aexit__(self, *error: object) -> None:
        for seat in self._seats.values():
            seat.abort()
        await self._stack.aclose()

    def join(self, address: str, begin: Callable[[str], Awaitable[None]], cut: Callable[[], None]) -> None:
        """A node is there: ``begin`` hears the keys of its turns, ``cut`` ends its connection."""
        seat = self._seats[address] = _Seat(address, begin, cut)
        life = asyncio.ensure_future(
            self._scheduler.add_worker(seat, address=address, name=address, server_id=address, now=0.0, **_NODE)
        )
        self._living.add(life)
        life.add_done_callback(self._ended)

    def _ended(self, life: asyncio.Task[None]) -> None:
        self._living.discard(life)
        if not life.cancelled() and (error := life.exception()) is not None:
            logging.getLogger("distributed.scheduler").error("a node's seat failed: %r", error)

    def leave(self, address: str) -> None:
        """The node's connection has ended: Dask loses it."""
        if seat := self._seats.pop(address, None):
            seat.abort()

    async def lose(self, address: str) -> None:
        """Goes on without a node."""
        await self._scheduler.remove_worker(address, stimulus_id="dsbench-lost", close=True)
        self.leave(address)

    def submit(self, key: str, address: str) -> None:
        """The turn ``key`` is to run on the node at ``address``, when that is free."""
        future = self._client.submit(
            _run, key=key, workers=[address], allow_other_workers=False, retries=0, pure=False, resources={"NODE": 1}
        )
        self._futures.append(future)

    def done(self, key: str, address: str) -> None:
        """The node is free again."""
        if seat := self._seats.get(address):
            seat.done(key)

    def release(self) -> None:
        """What was submitted is waited for no more.

        Dask runs a finished task again when the node that holds its result is lost, as long as somebody wants it.
        """
        for future in self._futures:
            future.release()
        self._futures.clear()


def _run() -> None:
    """What Dask takes for the task. The node knows its part by the turn's key, and this never leaves the process."""


def hear(handler: logging.Handler) -> None:
    """Sends Dask's log to ``handler`` alone, from warnings on."""
    logger = logging.getLogger("distributed")
    for own in list(logger.handlers):
        logger.removeHandler(own)
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    for name in ("distributed.client", "distributed.scheduler", "distributed.core"):
        logging.getLogger(name).setLevel(logging.WARNING)
