"""Open files: each connection of a run is one, and of SQLite three."""

from __future__ import annotations

from typing import Final

from dsbench.spec import RunSpec, SpecError

try:
    import resource
except ImportError:  # Windows has no such limit.
    resource = None  # type: ignore[assignment]

_BESIDE: Final = 64
"""Open files of a run beside its connections."""


def lacking(spec: RunSpec) -> tuple[str, str]:
    """Why the system lets this process open fewer files than its connections need, and what helps; empty where it does
    not."""
    if resource is None or spec.nodes or spec.target.url == "mock:":
        return "", ""
    hard, needed = resource.getrlimit(resource.RLIMIT_NOFILE)[1], _needed(spec)
    if hard == resource.RLIM_INFINITY or needed <= hard:
        return "", ""
    connections = spec.clients * spec.connections
    words = f"{connections:,} connections need about {needed:,} open files, and {hard:,} are allowed"
    return words, f"raise the limit as the superuser: ulimit -n {needed}, or use fewer --clients"


def allow(spec: RunSpec) -> None:
    """Has this process open as many files as ``spec`` needs. ``SpecError`` where the system does not let it."""
    words, remedy = lacking(spec)
    if words:
        raise SpecError("--clients", words, remedy)
    if resource is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(_needed(spec), hard % 2**63)), hard))


def _needed(spec: RunSpec) -> int:
    # SQLite holds the file, its log and its shared memory open in every session.
    each = 3 if spec.target.url.startswith(("private:sqlite", "sqlite:")) else 1
    return spec.clients * spec.connections * each + _BESIDE
