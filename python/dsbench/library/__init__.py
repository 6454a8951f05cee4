"""What programs and notebooks have of dsbench: runs that are made, watched and stopped, and archives that are read.

``import dsbench`` has all of it; see docs/library.md. The command line is made of the same parts.
"""

from __future__ import annotations

from dsbench.archive import ArchiveError
from dsbench.library.archive import Archive, open
from dsbench.library.running import Finished, going_on, perform, resume, run, specify
from dsbench.measure.interrupts import Stop
from dsbench.measure.joining import Joining
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Moment, Observer, Silent, TimeLeft
from dsbench.spec import RunSpec, SpecError, Target

__all__ = [
    "Archive", "ArchiveError", "Finished", "Joining", "Moment", "Observer", "RunError", "RunSpec", "Silent",
    "SpecError", "Stop", "Target", "TimeLeft", "going_on", "open", "perform", "resume", "run", "specify",
]  # fmt: skip
