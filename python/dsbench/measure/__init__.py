"""One run: a workload against a target over a ladder of scales, which leaves an archive.

Read ``ladder`` first: it is the table of contents of a run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsbench.measure.ahead import Ahead, look_ahead
    from dsbench.measure.events import Moment, Observer, Silent
    from dsbench.measure.interrupts import Stop
    from dsbench.measure.journal import RunError
    from dsbench.measure.ladder import Outcome, execute, resume, try_target
    from dsbench.measure.load import Joining
    from dsbench.measure.remaining import TimeLeft
    from dsbench.measure.standing import Standing, check_target, drop_target

__all__ = [
    "Ahead", "Joining", "Moment", "Observer", "Outcome", "RunError", "Silent", "Standing", "Stop", "TimeLeft",
    "check_target", "drop_target", "execute", "look_ahead", "resume", "try_target",
]  # fmt: skip

_PLACES = {
    "ahead": ("Ahead", "look_ahead"),
    "events": ("Moment", "Observer", "Silent"),
    "interrupts": ("Stop",),
    "journal": ("RunError",),
    "ladder": ("Outcome", "execute", "resume", "try_target"),
    "load": ("Joining",),
    "remaining": ("TimeLeft",),
    "standing": ("Standing", "check_target", "drop_target"),
}


def __getattr__(name: str) -> Any:
    """Loads a module when one of its names is used: monitors and nodes are parts of this package that need none."""
    for module, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"dsbench.measure.{module}"), name)
    raise AttributeError(f"module 'dsbench.measure' has no attribute {name!r}")
