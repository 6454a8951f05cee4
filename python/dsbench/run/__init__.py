"""One run: a workload against a target over a ladder of scales, which leaves an archive.

Read ``ladder`` first: it is the table of contents of a run.
"""

from __future__ import annotations

from dsbench.run.events import Observer, Silent
from dsbench.run.journal import RunError
from dsbench.run.ladder import Outcome, check_target, execute, resume
from dsbench.run.load import Joining

__all__ = ["Joining", "Observer", "Outcome", "RunError", "Silent", "check_target", "execute", "resume"]
