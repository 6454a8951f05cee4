"""Loading parts of the program, which takes most of a second."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

try:
    import resource
except ImportError:  # Windows has no such limits.
    resource = None  # type: ignore[assignment]

_MEMORY = "allow it more memory: see ulimit -v"
_DRAWING: Final = 72 << 30
"""Bytes of addresses that the drawing library reserves, few of which it uses: without them it ends the program."""
_RUNNING: Final = 2 << 30
"""The same for a run, which draws nothing: with less than 1 GiB some libraries end the program by a signal."""
UNLIMITED: Final = "ulimit -v unlimited; it uses 0.2 GB of them, which a cgroup may limit"
"""What to do where addresses lack."""


def lacking_addresses(*, drawing: bool) -> str:
    """Why no run can be made here, or nothing be drawn, in words; empty where it can."""
    needed, who = (_DRAWING, "the diagram library reserves") if drawing else (_RUNNING, "a run needs")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource is not None else -1
    if not 0 <= limit < needed or limit == resource.RLIM_INFINITY:
        return ""
    return f"ulimit -v is {limit >> 10}: {who} {needed >> 10} kB of addresses"


@contextmanager
def loading(*, running: bool = False) -> Iterator[None]:
    """Ctrl-C while parts are loaded ends the program without a word; too little memory ends it with one error.

    ``running``: what is loaded will make a run. Where it could not, nothing is loaded: what lacks memory may end the
    program by a signal.
    """
    if running and (lacking := lacking_addresses(drawing=False)):
        print(f"error: {lacking}\nhint: {UNLIMITED}", file=sys.stderr)
        sys.exit(1)
    waiting = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if waiting:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Nothing here computes with matrices. With a buffer for each thread it would not load where memory is limited, and
    # would try for ever.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # No plugin of pydantic's is for dsbench, and to look for them takes longer than most parts do.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        yield
    except ModuleNotFoundError:
        raise
    except (ImportError, MemoryError) as error:
        print(f"error: dsbench cannot be loaded: {str(error) or 'no memory'}", file=sys.stderr)
        stale = "dsbench._core" in str(error)
        hint = "its compiled part is older than the rest: run make, or install it again" if stale else _MEMORY
        print(f"hint: {hint}", file=sys.stderr)
        sys.exit(1)
    finally:
        if waiting:
            signal.signal(signal.SIGINT, signal.default_int_handler)
