"""What the Rust core is and knows, its errors and its clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dsbench import _core, workloads
from dsbench.problem import Problem


class CoreError(Problem):
    """An error of an engine, a workload or the loop. ``kind`` is dsbench's word, ``code`` the engine's own."""

    def __init__(self, kind: str, code: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code
        self.usage = kind == "configuration"


class Stopped(Exception):
    """The user asked to stop; what was finished before is kept."""


@contextmanager
def errors() -> Iterator[None]:
    """The core's errors as those of this package."""
    try:
        yield
    except _core.CoreError as error:
        raise CoreError(*error.args) from None


def schemes() -> list[str]:
    """URL schemes this core knows."""
    return _core.schemes()


def build() -> dict[str, Any]:
    """What this core knows: for ``dsbench doctor`` and for archives."""
    return {"schemes": schemes(), "workloads": workloads.names()}


def now_ns() -> int:
    """Nanoseconds of the monotonic clock by which cycles start."""
    return _core.now_ns()


def measuring(repeats: int, wakes: int, pause_ns: int) -> dict[str, float]:
    """What measuring costs here: see ``measuring`` of the core, which names the values."""
    return _core.measuring(repeats, wakes, pause_ns)


NULL_SERVER: Final = """
import sys
from dsbench import _core, workloads
unix, tcp = _core.NullServer(sys.argv[1]), _core.NullServer(None)
print(tcp.port(), flush=True)
sys.stdin.read()
"""
"""A program: the null PostgreSQL at the unix socket of its argument and at the TCP port that it prints, until
its standard input ends. It is short because its process should be there at once."""
