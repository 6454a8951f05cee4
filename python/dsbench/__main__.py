"""``python -m dsbench``."""

from __future__ import annotations

from dsbench.loading import loading


def main() -> None:
    """The program."""
    with loading():
        from dsbench.cli import main as run
    run()


if __name__ == "__main__":
    main()
