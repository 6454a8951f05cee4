"""Dask, set up for measuring: the only module that imports it.

The settings must stand before Dask's first import. They win over what a user's own Dask configuration says:
encryption and quiet are not a matter of taste here.
"""
# ruff: noqa: E402

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

import dask

dask.config.set(
    {
        # A task of a node that was lost must never run again, neither there nor elsewhere: it is load.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.scheduler.work-stealing": False,
        "distributed.scheduler.active-memory-manager.start": False,
        # Nothing that anybody could ask without a certificate.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
        "distributed.scheduler.preload": [],
        "distributed.worker.preload": [],
        "distributed.scheduler.blocked-handlers": [
            "run_function", "register_scheduler_plugin", "register_worker_plugin", "register_nanny_plugin",
        ],
        "distributed.comm.require-encryption": True,
        "distributed.comm.tls.min-version": 1.3,
        "distributed.comm.tls.max-version": None,
        "distributed.comm.tls.ciphers": None,
        "distributed.comm.timeouts.connect": "10s",
        "distributed.comm.timeouts.tcp": "15s",
        # An idle node that profiles itself takes ten times the CPU, away from the load.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "10s",
        "distributed.admin.system-monitor.disk": False,
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.admin.tick.interval": "1s",
        "distributed.diagnostics.nvml": False,
    }
)  # fmt: skip

import distributed
from distributed import Client, Future, Scheduler, Worker, get_worker
from distributed.core import rpc
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.security import Security

import dsbench
from dsbench.cluster.bundle import Bundle

__all__ = [
    "Client", "Future", "QuietScheduler", "QuietWorker", "SchedulerPlugin", "WorkerPlugin", "get_worker", "hear",
    "rpc", "security", "versions",
]  # fmt: skip

HEARTBEAT_S: Final = 10.0
"""Between two of Dask's heartbeats."""

OPERATIONS: Final = "dsbench_"
"""How the names of our operations begin among Dask's own."""


class QuietScheduler(Scheduler):  # type: ignore[misc]
    """A scheduler without Dask's HTTP server, which would listen unencrypted even with nothing to show."""

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:
        """Starts nothing."""


class QuietWorker(Worker):  # type: ignore[misc]
    """A worker without Dask's HTTP server, and with few of Dask's heartbeats: ours tell the same."""

    _last_heartbeat_s = -math.inf

    async def heartbeat(self) -> None:
        """Dask asks for it twice a second with few workers, at the cost of several of our beats each."""
        if time.monotonic() - self._last_heartbeat_s >= HEARTBEAT_S:
            self._last_heartbeat_s = time.monotonic()
            await super().heartbeat()

    def start_http_server(self, *_arguments: Any, **_options: Any) -> None:
        """Starts nothing."""


def security(bundle: Bundle) -> Security:
    """TLS 1.3 with the bundle's certificate, whoever of Dask's roles it plays."""
    roles = {
        f"tls_{role}_{part}": text
        for role in ("scheduler", "client", "worker")
        for part, text in (("cert", bundle.certificate), ("key", bundle.key))
    }
    return Security(require_encryption=True, tls_ca_file=bundle.trusted, **roles)


def versions() -> dict[str, str]:
    """What has to be the same on all machines."""
    python = ".".join(str(part) for part in sys.version_info[:2])
    return {"dsbench": dsbench.__version__, "distributed": distributed.__version__, "python": python}


def hear(handler: logging.Handler) -> None:
    """Sends Dask's log to ``handler`` alone, from warnings on."""
    logger = logging.getLogger("distributed")
    for own in list(logger.handlers):
        logger.removeHandler(own)
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    for name in ("distributed.client", "distributed.scheduler", "distributed.worker", "distributed.comm.tcp"):
        logging.getLogger(name).setLevel(logging.WARNING)


def peer(comm: Any) -> str:
    """The name in the certificate at the other end of a connection."""
    fields: Mapping[str, str] = {
        name: value for part in comm.extra_info["peercert"]["subject"] for name, value in part
    }
    return fields["commonName"]
