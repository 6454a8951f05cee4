"""A run in a process of its own, which ends with the one that began it.

A process takes one client library of Firebird and one configuration of its engine, and what a driver or an engine does
to its process would last through all later runs. A study makes each of its trials so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dsbench import study as room
from dsbench.archive import ArchiveError
from dsbench.children import Child, Task
from dsbench.library.running import Finished, perform
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Moment, Observer
from dsbench.measure.run import Outcome, try_target
from dsbench.problem import Problem
from dsbench.spec import RunSpec, SpecError
from dsbench.study import Study, StudyObserver, joined

_EVERY_S: Final = 0.2
"""Between two moments of one phase that are passed on."""
_SECONDS: Final = 300
"""Of a cycle that are passed on with a moment."""


def perform_apart(
    spec: RunSpec, out: Path, observer: Observer, stop: Stop | None = None, nodes: Sequence[str] | None = None,
    address: str = "",
) -> Outcome:
    """As ``perform``, in a process of its own. ``nodes`` and ``address`` are those of ``study.joined``.

    Without ``nodes`` the run waits for those that were started by hand, as ``perform`` does. Where the process ends
    without a word, as by the kernel for a lack of memory, ``RunError`` says by what.
    """  # fmt: skip
    with listening(stop) as stop:
        return _ask("perform", spec, out, nodes, address, observer=observer, stop=stop)  # type: ignore[no-any-return]


def try_apart(spec: RunSpec) -> tuple[str, ...]:
    """As ``try_target``; that of Firebird is in a process of its own, because it fits one library and engine only."""
    if "firebird" not in (spec.target.private, spec.target.scheme):
        return try_target(spec)
    with listening() as stop:
        return _ask("try_target", spec, stop=stop)  # type: ignore[no-any-return]


def conduct(study: Study, watch: StudyObserver, stop: Stop, *, again: bool = False, erase: str = "") -> Study:
    """Makes the trials of ``study`` that are left, each in a process of its own; see ``dsbench.study.conduct``."""

    def make(spec: RunSpec, out: Path, observer: Observer, stop: Stop) -> Outcome:
        return perform_apart(spec, out, observer, stop, study.spec.nodes, study.spec.address)

    return room.conduct(study, make, watch, stop, again=again, erase=erase)


def tried(study: Study, tell: Callable[[str], None], *, again: bool = False) -> Study:
    """``study`` without the trials whose server does not take their settings; see ``dsbench.study.tried``."""
    return room.tried(study, tell, again=again, attempt=try_apart)


def _ask(question: str, *values: Any, stop: Stop, observer: Observer | None = None) -> Any:
    """What a process answers to ``question``; raises what is raised there."""
    told = False

    def pass_on() -> None:
        nonlocal told
        if stop.requested and not told:
            told = True
            child.tell((stop.reason, stop.signal))

    def hear(said: tuple[str, Any]) -> None:
        getattr(observer, said[0])(said[1])

    try:
        # Where it is killed, its servers go with it, and the next run removes what it left.
        with Child(RunApart, "the run") as child:
            child.ask(question, *values)
            return child.answer(hear, pass_on)
    except (SpecError, ArchiveError, RunError):
        raise
    except Problem as error:
        raise RunError(error.problem, error.remedy, usage=error.usage) from None


class Sending(Observer):
    """Passes on what a run says, its moments now and then."""

    def __init__(self, say: Callable[[Any], None]) -> None:
        self._say = say
        self._told, self._phase = 0.0, ("", 0, 0)

    def moment(self, moment: Moment) -> None:
        now, phase = time.monotonic(), (moment.phase, moment.cycle, moment.scale)
        if now - self._told >= _EVERY_S or phase != self._phase:
            self._told, self._phase = now, phase
            latest = replace(moment, seconds=moment.seconds[-_SECONDS:], times=moment.times[-_SECONDS:])
            self._say(("moment", latest))

    def message(self, text: str) -> None:
        self._say(("message", text))

    def archive(self, path: Path) -> None:
        self._say(("archive", path))

    def scale_done(self, path: Path) -> None:
        self._say(("scale_done", path))


class RunApart(Task):
    """What the process of a run does."""

    def __init__(self, say: Callable[[Any], None]) -> None:
        super().__init__(say)
        self._stop = Stop(signals=True)

    def told(self, value: tuple[str, int | None]) -> None:
        """Takes the wish to stop: why, and by which signal."""
        reason, signal = value
        if signal is not None:
            self._stop.heard(signal)
        else:
            self._stop.request(reason)

    def try_target(self, spec: RunSpec) -> tuple[str, ...]:
        return try_target(spec)

    def perform(self, spec: RunSpec, out: Path, nodes: Sequence[str] | None, address: str) -> Outcome:
        with nullcontext() if nodes is None else joined(spec, nodes, address) as joining:
            return outcome_of(perform(spec, out, Sending(self.say), self._stop, joining, report=False))


def outcome_of(finished: Finished) -> Outcome:
    """How a run ended. ``ArchiveError`` where nothing but its archive is not whole."""
    if finished.problem and finished.outcome.error is None:
        raise ArchiveError(finished.problem, "free up space; ab continues with --resume, study run by itself")
    return finished.outcome
