"""A node: a Dask worker that takes part in a run until it is over, and joins again when it was cut off."""

from __future__ import annotations

import asyncio
import platform
import re
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import asyncssh

from dsbench.measure.joining import ClusterError
from dsbench.measure.nodes.bundle import AGAIN, Bundle, Invitation, own_address
from dsbench.measure.nodes.dask_setup import QuietWorker, SparingLog, connect, security_of
from dsbench.measure.nodes.node import Node, here

STOPPED: Final = "stopped by a signal"
_PAUSE_S: Final = 0.5
_CONNECTING_S: Final = 10.0
_ENDING_S: Final = 5.0  # How long the load may take to end when its connection has
_FOREIGN: Final = ("certificate", "alert", "unknown_ca")  # Words in errors of TLS that no further attempt can mend


def serve(bundle: Bundle, name: str, patience_s: float, say: Callable[[str], None]) -> str:
    """Takes part in the run of ``bundle`` until it is over; gives the coordinator's last words.

    Raises ``ClusterError`` when the node is refused, or cannot find its coordinator for ``patience_s``.
    """
    node = here()  # All that the coordinator will name is loaded before it counts on this node.
    node.name = (name or platform.node())[:1000]
    SparingLog(lambda _line: None).hear_dask()
    return asyncio.run(_Membership(bundle, node, patience_s, say).last())


class _Membership:
    def __init__(self, bundle: Bundle, node: Node, patience_s: float, say: Callable[[str], None]) -> None:
        self._bundle, self._node, self._say = bundle, node, say
        self._patience_s = patience_s
        self._security = security_of(bundle)
        self._stopped, self._over = asyncio.Event(), asyncio.Event()
        self._was_there = False

    async def last(self) -> str:
        """Joins, serves, joins again, until the coordinator says goodbye."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stopped.set)
        self._node.heard = self._heard
        while not self._over.is_set() and not self._stopped.is_set():
            worker = await self._register()
            if worker is not None:
                await self._work(worker)
        if self._node.refused:
            raise self._refused(self._node.refused)
        return self._node.goodbye or STOPPED

    def _heard(self, what: str) -> None:
        if what == "dismissed":
            self._over.set()
            return
        self._was_there = True
        self._say(f"joined the run at {self._bundle.address} as {self._node.name} ({self._bundle.member})")

    async def _register(self) -> Any:
        """The worker, known to the scheduler; ``None`` when the user has lost patience."""
        give_up = time.monotonic() + self._patience_s
        while not self._stopped.is_set():
            try:
                arguments = self._security.get_connection_args("worker")
                comm = await connect(self._bundle.address, timeout=_CONNECTING_S, **arguments)
                await comm.close()
                # Dask wants a folder, which it never uses here: it is gone before anything can end this process.
                with tempfile.TemporaryDirectory(prefix="dsbench-node-") as folder:
                    return await QuietWorker(
                        self._bundle.address, name=self._bundle.member, security=self._security, protocol="tls",
                        nthreads=1, memory_limit=0, local_directory=folder, dashboard=False,
                        death_timeout=_CONNECTING_S, host=own_address(self._bundle.host),
                    )  # fmt: skip
            except (OSError, RuntimeError) as error:  # TimeoutError is one, and ssl.SSLError
                self._judge(error, give_up)
            await asyncio.sleep(_PAUSE_S)
        return None

    def _judge(self, error: Exception, give_up_s: float) -> None:
        """``ClusterError`` where a further attempt is of no use."""
        last: BaseException = error
        while last.__cause__ is not None:
            last = last.__cause__
        where, words = self._bundle.address, f"{error} {last}"
        if "name taken" in words and not self._was_there:
            raise self._refused(f"its bundle {self._bundle.member} is used by another process")
        if "SSL" in words and any(word in words.lower() for word in _FOREIGN):
            remedy = "the coordinator there belongs to another run, or the bundle has expired: use a bundle of this run"
            raise ClusterError(f"{where}: {last}", remedy, usage=True)
        if time.monotonic() > give_up_s:
            remedy = "start dsbench run --nodes there, and check that its port can be reached from here"
            raise ClusterError(f"no coordinator at {where} for {self._patience_s:.0f} s: {last}", remedy)

    def _refused(self, why: str) -> ClusterError:
        remedy = "use the dsbench of the coordinator, and one bundle of the run for each node"
        return ClusterError(f"the coordinator at {self._bundle.address} refused this node: {why}", remedy, usage=True)

    async def _work(self, worker: Any) -> None:
        """One connection, from its begin to its end."""
        ends = [asyncio.ensure_future(one) for one in (worker.finished(), self._stopped.wait(), self._over.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        stopped = self._stopped.is_set()
        self._node.stop("the node was stopped" if stopped else "the connection to the coordinator ended")
        # The load has to end before this node joins again: it could not take part in the next cycle.
        give_up = time.monotonic() + _ENDING_S
        while self._node.working and time.monotonic() < give_up:
            await asyncio.sleep(_PAUSE_S / 10)
        await worker.close(timeout=1, executor_wait=False, nanny=False)
        if not self._over.is_set() and not stopped:
            self._say("the connection to the coordinator ended; joining again")


_ALIVE_S = 15
_HOSTS = "write host, user@host or user@host:port, separated by commas"

Say = Callable[[str], None]


def up(hosts: Sequence[str], invitation: Invitation, command: str, say: Say) -> list[str]:
    """Runs a node on each of ``hosts`` (``[user@]host[:port]``) until their run is over; gives those that failed.

    ``command`` calls dsbench there. Who may log in, and whether a host is the right one, is for the user's own SSH
    configuration: keys, agent, ``known_hosts``. A signal ends the nodes, too.
    """
    if len(hosts) > (invited := len(invitation.bundles)):
        raise ClusterError(f"{invitation.folder} invites {invited} nodes, not {len(hosts)}", AGAIN, usage=True)
    if not hosts:
        raise ClusterError("--ssh has no host", _HOSTS, usage=True)
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
        line = f"{command} cluster node --join -"
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
        raise ClusterError(f"--ssh: {host!r} is not a host", _HOSTS, usage=True)
    user, name, port = match.groups()
    where = {"host": name.strip("[]"), "username": user, "port": int(port) if port else None}
    return {key: value for key, value in where.items() if value is not None}
