"""Studies from their file to the folder of their archives."""

from __future__ import annotations

from pathlib import Path

from dsbench import study as room
from dsbench.library.running import perform
from dsbench.measure.events import Observer
from dsbench.measure.interrupts import Stop
from dsbench.measure.run import Outcome
from dsbench.spec import RunSpec
from dsbench.study import Study, Watch


def conduct(study: Study, watch: Watch, stop: Stop, *, again: bool = False, erase: str = "") -> Study:
    """Makes the trials of ``study`` that are left; see ``dsbench.study.conduct``."""

    def make(spec: RunSpec, out: Path, observer: Observer, stop: Stop) -> Outcome:
        with room.joined(spec, study.spec.nodes, study.spec.address) as joining:
            return perform(spec, out, observer, stop, joining).outcome

    return room.conduct(study, make, watch, stop, again=again, erase=erase)
