"""Studies from their file to the folder of their archives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dsbench import study as room
from dsbench.library.apart import perform_apart, try_apart
from dsbench.measure.interrupts import Stop
from dsbench.measure.moments import Observer
from dsbench.measure.run import Outcome
from dsbench.spec import RunSpec
from dsbench.study import Study, StudyObserver


def conduct(study: Study, watch: StudyObserver, stop: Stop, *, again: bool = False, erase: str = "") -> Study:
    """Makes the trials of ``study`` that are left, each in a process of its own; see ``dsbench.study.conduct``."""

    def make(spec: RunSpec, out: Path, observer: Observer, stop: Stop) -> Outcome:
        return perform_apart(spec, out, observer, stop, study.spec.nodes, study.spec.address)

    return room.conduct(study, make, watch, stop, again=again, erase=erase)


def tried(study: Study, tell: Callable[[str], None], *, again: bool = False) -> Study:
    """``study`` without the trials whose server does not take their settings; see ``dsbench.study.tried``."""
    return room.tried(study, tell, again=again, attempt=try_apart)
