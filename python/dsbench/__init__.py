"""DSBENCH: what is a computer worth as a database server?

``dsbench.run("private:postgresql", scales=(1, 10), duration=20)`` makes a run and gives its ``Archive``;
``dsbench.open(path)`` reads one. docs/library.md shows how.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dsbench.release import VERSION

if TYPE_CHECKING:
    from dsbench.library import (
        Archive,
        ArchiveError,
        Joining,
        Moment,
        Observer,
        RunError,
        RunSpec,
        Silent,
        SpecError,
        Stop,
        Target,
        TimeLeft,
        open,
        resume,
        run,
        specify,
    )

__version__ = VERSION

__all__ = [
    "Archive", "ArchiveError", "Joining", "Moment", "Observer", "RunError", "RunSpec", "Silent", "SpecError", "Stop",
    "Target", "TimeLeft", "open", "resume", "run", "specify",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The names of ``__all__``, when they are asked for: the parts of the program do not load all others."""
    if name in __all__:
        return getattr(import_module("dsbench.library"), name)
    raise AttributeError(f"module 'dsbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is here, loaded or not."""
    return sorted({*globals(), *__all__})
