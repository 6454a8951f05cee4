"""``python -m dsbench``."""

from __future__ import annotations

import signal


def main() -> None:
    """The program. Ctrl-C while its parts are loaded ends it without a word, as any program that is not up yet."""
    waiting = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if waiting:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dsbench.cli import main as run  # Late: it takes most of a second.

    if waiting:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
