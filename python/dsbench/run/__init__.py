"""One run: a workload against a target over a ladder of scales, which leaves an archive.

Read ``ladder`` first: it is the table of contents of a run.
"""

from __future__ import annotations

from dsbench.run.events import Moment, Observer, Silent
from dsbench.run.interrupts import Stop
from dsbench.run.journal import RunError
from dsbench.run.ladder import Outcome, check_target, execute, resume
from dsbench.run.load import Joining
from dsbench.run.remaining import TimeLeft

__all__ = [
    "Joining", "Moment", "Observer", "Outcome", "RunError", "Silent", "Stop", "TimeLeft", "check_target", "execute",
    "resume",
]  # fmt: skip
