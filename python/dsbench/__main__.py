"""``python -m dsbench``."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """The program. Ctrl-C while its parts are loaded ends it without a word, as any program that is not up yet."""
    waiting = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if waiting:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Nothing here computes with matrices. With a buffer for each thread it would not load where memory is limited, and
    # would try for ever.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from dsbench.cli import main as run  # Late: it takes most of a second.
    except ModuleNotFoundError:
        raise
    except (ImportError, MemoryError) as error:
        print(f"error: dsbench cannot be loaded: {error or 'no memory'}", file=sys.stderr)
        print("hint: leave it more memory: see ulimit -v", file=sys.stderr)
        sys.exit(1)

    if waiting:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
