"""Loading parts of the program, which takes most of a second."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_MEMORY = "leave it more memory: see ulimit -v"


@contextmanager
def loading() -> Iterator[None]:
    """Ctrl-C while parts are loaded ends the program without a word; too little memory ends it with one error."""
    waiting = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if waiting:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Nothing here computes with matrices. With a buffer for each thread it would not load where memory is limited, and
    # would try for ever.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        yield
    except ModuleNotFoundError:
        raise
    except (ImportError, MemoryError) as error:
        print(f"error: dsbench cannot be loaded: {error or 'no memory'}", file=sys.stderr)
        stale = "dsbench._core" in str(error)
        hint = "its compiled part is older than the rest: make run, or install it again" if stale else _MEMORY
        print(f"hint: {hint}", file=sys.stderr)
        sys.exit(1)
    finally:
        if waiting:
            signal.signal(signal.SIGINT, signal.default_int_handler)
