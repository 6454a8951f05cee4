"""Studies from their file to the folder of their archives."""

from __future__ import annotations

from pathlib import Path

from dsbench import study as room
from dsbench.library.running import perform
from dsbench.runner import Observer, Outcome, Stop
from dsbench.spec import RunSpec
from dsbench.study import Study, Watch


def conduct(study: Study, watch: Watch, stop: Stop, *, again: bool = False, erase: str = "") -> Study:
    """Makes the trials of ``study`` that are left; see ``dsbench.study.conduct``."""
    return room.conduct(study, _make, watch, stop, again=again, erase=erase)


def _make(spec: RunSpec, out: Path, observer: Observer, stop: Stop) -> Outcome:
    return perform(spec, out, observer, stop).outcome
