"""The target of a run, with its private server around it, and the errors of the rooms below."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import psutil

from dsbench import servers
from dsbench.archive import ArchiveError
from dsbench.cluster import ClusterError
from dsbench.generator import CoreError, Target
from dsbench.run.journal import RunError
from dsbench.spec import RunSpec

_SESSIONS_BESIDE = 4
"""Connections beside the clients': administration, monitors, steps."""

_REMEDIES = {
    "configuration": "see dsbench run --help",
    "setup": "dsbench doctor tells what is missing",
    "disconnected": "see whether the server is up; then: dsbench run --resume ARCHIVE",
    "statement": "see the server's log; then: dsbench run --resume ARCHIVE",
}
"""By kind of error."""


@contextmanager
def opened(spec: RunSpec) -> Iterator[tuple[Target, servers.Server | None]]:
    """The target of ``spec``; a private server is started for it and is gone afterwards."""
    if spec.target.private is None:
        with told(spec.target.redacted), closing(Target(spec.target.url)) as target:
            yield target, None
        return
    sessions = max(spec.nodes, 1) * spec.threads * spec.connections + _SESSIONS_BESIDE + (psutil.cpu_count() or 1)
    with (
        told(spec.target.url),
        servers.start(spec.target, sessions) as server,
        closing(Target(server.url)) as target,
    ):
        yield target, server


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Errors of the rooms below while ``doing`` something, as ``RunError`` with a remedy."""
    try:
        yield
    except CoreError as error:
        remedy = _REMEDIES.get(error.kind, "see the server's log")
        raise RunError(f"{doing}: {error}", remedy, usage=error.kind == "configuration") from None
    except (servers.ServerError, ClusterError) as error:
        raise RunError(str(error), error.remedy) from None
    except ArchiveError as error:
        raise RunError(str(error), "free space, or name another folder with --out") from None
