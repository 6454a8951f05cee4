"""What goes wrong with archives, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dsbench.problem import Problem

LEFT: Final = "specify the folder or the .zip of a run"
"""What to do about a path that is no archive."""


class ArchiveError(Problem):
    """An archive that cannot be written or read. ``remedy`` says what to do, ``usage`` that the wrong one was named."""


class OutError(ArchiveError):
    """The folder for what is written cannot be used."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "specify a writable folder with --out", usage=True)


@contextmanager
def told(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Errors of the file system as ``ArchiveError``; nothing half-written is left."""
    try:
        yield
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):  # It may be where nothing can be written at all.
                temporary.unlink(missing_ok=True)
        raise ArchiveError(f"cannot write {path}: {error.strerror}; earlier data remains readable") from error
