"""Dask's distributed as a run and its nodes use it. The modules that import this are the only ones with Dask."""
# ruff: noqa: E402

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import ssl
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import dask

from dsbench.dataclass import dataclass

# These stand before the first import of distributed, and win over what a user's own configuration of Dask says.
dask.config.set(
    {
        # A load must never run again by itself, and Dask's own upkeep takes processor time from it.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.work-stealing": False,
        "distributed.scheduler.active-memory-manager.start": False,
        # Nodes live by our leases. Long silences are for those to judge.
        "distributed.scheduler.worker-ttl": None,
        "distributed.scheduler.preload": [],
        "distributed.scheduler.http.routes": [],
        "distributed.worker.preload": [],
        "distributed.worker.http.routes": [],
        "distributed.worker.profile.enabled": False,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.admin.system-monitor.interval": "10s",
        "distributed.admin.system-monitor.disk": False,
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.client.scheduler-info-interval": "60s",
        "distributed.comm.timeouts.connect": "10s",
        "distributed.comm.timeouts.tcp": "15s",
        "distributed.diagnostics.nvml": False,
    }
)  # fmt: skip

from distributed import Client, Scheduler, Worker
from distributed.comm import connect, registry, tcp
from distributed.security import Security
from distributed.utils import LoopRunner, sync

from dsbench.measure.joining import ClusterError
from dsbench.measure.nodes import plain
from dsbench.measure.nodes.bundle import AGAIN, SUFFIX, Bundle, Invitation, bracketed, invite, listening
from dsbench.measure.nodes.bundle import invitation as read_invitation
from dsbench.servers.process import raise_file_limit
from dsbench.spec import RunSpec

__all__ = ["Client", "LoopRunner", "QuietWorker", "connect", "sync"]

_TLS_FILES: Final = ("tls_ca_file", "tls_client_cert", "tls_client_key")
_HANDSHAKE_S: Final = 10.0
LINES: Final = 50  # Of one kind in the log; the rest is counted
_SAID_ELSEWHERE: Final = (
    "marked as failed because", "Removing worker", "duplicate name", "unregistered worker", "Failed to remove",
)  # fmt: skip
"""Dask's words for what the log tells in ours, or what concerns nobody."""


@dataclass(frozen=True)
class ExistingDask:
    """A Dask, and how to get in."""

    address: str
    security: Security | None
    scheduler: Any = None  # Where it is our own

    async def workers(self, client: Client) -> dict[str, str]:
        """Address to name of each worker."""
        if self.scheduler is not None:
            return {state.address: str(state.name) for state in self.scheduler.workers.values()}
        found = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), _HANDSHAKE_S)
        return {address: str(state["name"]) for address, state in found["workers"].items()}

    async def remove(self, address: str) -> None:
        """A worker is no node any more. One of our own has to see that: it joins again by itself."""
        if self.scheduler is not None:
            await self.scheduler.remove_worker(address, stimulus_id="dsbench-lost", close=True)

    def how_to_join(self, nodes: int) -> list[str]:
        """Lines for whoever has to start the nodes."""
        return [f"waiting for {nodes} workers of the Dask at {self.address}"]


def nodes_at(
    spec: RunSpec, folder: Path, invitation: Invitation | None, dask: str, dask_tls: str
) -> Invitation | ExistingDask:
    """Where nodes come from: a Dask that runs already, or the invitation in ``folder``, which is made where missing."""
    if dask or dask_tls:
        return existing(dask, dask_tls)
    if invitation is None:
        fresh = not any(folder.glob(f"*{SUFFIX}"))
        invitation = invite(folder, spec.nodes) if fresh else read_invitation(folder)
        if (invited := len(invitation.bundles)) < spec.nodes:
            raise ClusterError(f"{folder} invites {invited} nodes, the run wants {spec.nodes}", AGAIN, usage=True)
    try_port(invitation.coordinator)
    return invitation


def existing(address: str, files: str) -> ExistingDask:
    """The Dask at ``address``, with the certificates in ``files``. ``ClusterError`` where that cannot be."""
    match = re.fullmatch(r"(tls|tcp)://(\[[^\]]+\]|[^:/@\s]+):(\d+)", address)
    if match is None or (match[1] == "tcp" and match[2] not in ("127.0.0.1", "localhost", "[::1]")):
        problem = f"--dask: {address!r} is not a usable address of a scheduler"
        raise ClusterError(problem, "write tls://HOST:PORT, or tcp://127.0.0.1:PORT on this machine only: "
                           "the connection carries the database's password", usage=True)  # fmt: skip
    if match[1] == "tcp":
        return ExistingDask(address, None)
    parts = [Path(part).expanduser() for part in files.split(",")] if files else []
    if files and (len(parts) != len(_TLS_FILES) or not all(part.is_file() for part in parts)):
        problem = f"--dask-tls: {files!r} is not a list of files"
        raise ClusterError(problem, "write CA.pem,CERT.pem,KEY.pem", usage=True)
    try:
        security = Security(require_encryption=True, **dict(zip(_TLS_FILES, map(str, parts), strict=False)))
        if not security.get_connection_args("client").get("ssl_context"):
            raise ClusterError(f"--dask {address}: no certificate for it", "specify its files with "
                                                                           "--dask-tls", usage=True)
    except (OSError, ValueError) as error:  # ssl.SSLError is one
        raise ClusterError(f"--dask-tls: {error}", "write CA.pem,CERT.pem,KEY.pem", usage=True) from None
    return ExistingDask(address, security)


def security_of(bundle: Bundle) -> Security:
    """TLS 1.3 with the bundle's certificate in every role; the other end has to show one of the same run."""
    own = {f"tls_{role}_{part}": getattr(bundle, name) for role in ("scheduler", "worker", "client")
           for part, name in (("cert", "certificate"), ("key", "key"))}  # fmt: skip
    return Security(require_encryption=True, tls_min_version=ssl.TLSVersion.TLSv1_3, tls_ca_file=bundle.trusted, **own)


class _NoPage:
    """Dask's HTTP server would listen without encryption, even with nothing to show."""

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:
        """Starts nothing."""


class _QuietScheduler(_NoPage, Scheduler):  # type: ignore[misc]
    """The scheduler of a run."""


class QuietWorker(_NoPage, Worker):  # type: ignore[misc]
    """The worker of ``dsbench cluster node``."""


async def own_scheduler(bundle: Bundle, log: SparingLog) -> ExistingDask:
    """A scheduler of our own that listens where the bundle says. ``ClusterError`` when it cannot."""
    log.hear_dask()
    raise_file_limit()
    host, security = listening(bundle.host), security_of(bundle)
    where = {"host": f"tls://{bracketed(host)}", "port": bundle.port, "protocol": "tls"}
    # Dask wants a folder, which it never uses here: it is gone before anything can end this process.
    with tempfile.TemporaryDirectory(prefix="dsbench-dask-") as tmp, dask.config.set({"temporary-directory": tmp}):
        scheduler = _QuietScheduler(**where, security=security, dashboard=False)
    try:
        await scheduler
    except (OSError, RuntimeError) as error:
        raise unheard(bundle, error.__cause__ or error) from None
    return ExistingDask(scheduler.address, security, scheduler)


def try_port(bundle: Bundle) -> None:
    """``ClusterError`` when something else listens where the coordinator should: better now than in the run."""
    host = listening(bundle.host)
    try:
        socket.create_server((host, bundle.port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise unheard(bundle, error) from None


def unheard(bundle: Bundle, error: BaseException) -> ClusterError:
    """Nobody can hear the coordinator."""
    return ClusterError(
        f"the coordinator cannot listen at {bundle.host}:{bundle.port}: {error}",
        "stop the program that listens there, or specify another port: dsbench cluster invite --address HOST:PORT",
        usage=True,
    )


class _Listener(tcp.TLSListener):  # type: ignore[misc]
    """Cuts who opens a connection and does not say who it is; Dask waits for it forever."""

    async def _prepare_stream(self, stream: Any, address: Any) -> Any:
        with contextlib.suppress(TimeoutError):
            if not stream.closed():  # Tornado would never say so.
                return await asyncio.wait_for(super()._prepare_stream(stream, address), _HANDSHAKE_S)
        words = "TLS handshake failed with %s: %s"
        logging.getLogger("distributed.comm.tcp").warning(words, address, stream.error or "it took too long")
        stream.close()
        return None


registry.backends["tls"]._listener_class = _Listener


class SparingLog(logging.Handler):
    """Lines of the log, few of a kind: what others can cause must not fill a disk."""

    def __init__(self, say: Callable[[str], object]) -> None:
        super().__init__(logging.WARNING)
        self._say, self._said = say, Counter[str]()

    def __call__(self, kind: str, line: str) -> None:
        """Says ``line``, or counts it when there were many of its ``kind``."""
        self._said[kind] += 1
        if self._said[kind] <= LINES:
            self._say(line)

    def close(self) -> None:
        """Says how many lines were left out."""
        for kind, said in self._said.items():
            if said > LINES:
                self._say(f"{kind}: {said - LINES} more")
        self._said.clear()
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        line = plain(record.getMessage().partition("\n")[0])
        if not any(words in line for words in _SAID_ELSEWHERE):
            self("warnings of Dask" if "handshake" not in line else "connections cut", line)

    def hear_dask(self) -> None:
        """Dask's log comes here alone, from warnings on."""
        logger = logging.getLogger("distributed")
        for own in list(logger.handlers):
            logger.removeHandler(own)
        logger.addHandler(self)
        logger.propagate = False
        for name in ("", ".client", ".scheduler", ".core", ".worker", ".comm.tcp"):
            logging.getLogger(f"distributed{name}").setLevel(logging.WARNING)
