"""``python -m dsbench``."""

from __future__ import annotations

import gc
import signal
import sys
from typing import NoReturn

from dsbench.loading import loading


def main() -> None:
    """The program."""
    # Most of what is loaded stays: to look ten times for what does not would take a tenth of the start.
    gc.set_threshold(20_000, 20, 20)
    with loading():
        from dsbench.cli import main as run
    signal.signal(signal.SIGTERM, _stopped)
    run()


def _stopped(*_: object) -> NoReturn:
    """Ends whatever does not listen itself, as a run does: what it holds is removed."""
    from dsbench.cli import errors

    errors.tell("stopped by SIGTERM")
    sys.exit(errors.TERMINATED)


if __name__ == "__main__":
    main()
