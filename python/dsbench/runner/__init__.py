"""One run: a workload against a target over a ladder of scales, which leaves an archive.

Read ``ladder`` first: it is the table of contents of a run.
"""

from __future__ import annotations

from dsbench.runner.ahead import Ahead, look_ahead
from dsbench.runner.events import Moment, Observer, Silent
from dsbench.runner.interrupts import Stop
from dsbench.runner.journal import RunError
from dsbench.runner.ladder import Outcome, execute, resume, try_target
from dsbench.runner.load import Joining
from dsbench.runner.remaining import TimeLeft
from dsbench.runner.standing import Standing, check_target, drop_target

__all__ = [
    "Ahead", "Joining", "Moment", "Observer", "Outcome", "RunError", "Silent", "Standing", "Stop", "TimeLeft",
    "check_target", "drop_target", "execute", "look_ahead", "resume", "try_target",
]  # fmt: skip
