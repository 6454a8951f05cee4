"""The process that makes one run, comparison, study or check of the browser, which ``dsbench.web.state`` begins.

It is a process of its own, so that clients share no interpreter with the web server, and the run goes on when page
and server are closed: it tells of itself in a file, and answers nobody.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dsbench import library
from dsbench.children import Task
from dsbench.library import Moment, Observer, RunSpec, Silent, Stop, TimeLeft
from dsbench.measure.interrupts import listening
from dsbench.measure.loaders import Stopped
from dsbench.redaction import redact_words
from dsbench.spec import Target
from dsbench.web import state as states
from dsbench.web.state import WebState

if TYPE_CHECKING:
    from dsbench.study import Study, Trial

_EVERY_S: Final = 1.0
_SECONDS: Final = 300
_LINES: Final = 300


class Telling(Silent):
    """Writes down once a second how the run goes on, and hears there whether it should stop."""

    def __init__(self, folder: Path, state: WebState, stop: Stop) -> None:
        self._folder, self.state, self._stop = folder, state, stop
        self._left: TimeLeft | None = None
        self._first, self._begun, self._later = time.monotonic(), 0, 0
        self._secrets: tuple[str, ...] = ()
        self._told, self._phase = 0.0, ("", 0)
        self._asked = states.stop_file(folder, state.key)

    def begin(self, spec: RunSpec, later: int = 0) -> None:
        """What is told from now on is of a run of ``spec``; ``later`` more come after it."""
        if not self._begun:
            self._first = time.monotonic()
        self._left, self._begun, self._later = TimeLeft(spec), self._begun + 1, later
        self.hide(spec.target)

    def hide(self, target: Target) -> None:
        """Tells no password of ``target``."""
        self._secrets = (*self._secrets, *target.secrets)

    def moment(self, moment: Moment) -> None:
        """Keeps where the run is."""
        now, phase = time.monotonic(), (moment.phase, moment.cycle)
        if now - self._told < _EVERY_S and phase == self._phase:
            return
        self._told, self._phase = now, phase
        if self._asked.exists():
            self._stop.request("stopped in the browser")
        self.state.left_s = self._left_s(moment, now)
        self.state.moment = replace(moment, seconds=moment.seconds[-_SECONDS:], times=moment.times[-_SECONDS:])
        self.write()

    def _left_s(self, moment: Moment, now: float) -> float:
        """Of this run, and of those after it as much as the mean of those begun; 0 while it cannot be told."""
        left = self._left.seconds(moment) if self._left is not None else 0.0
        if not left and self._begun <= 1:
            return 0.0
        return left + self._later * (now - self._first + left) / self._begun

    def message(self, text: str) -> None:
        line = redact_words(text, self._secrets)
        self.state.log = [*self.state.log, f"{time.strftime('%H:%M:%S')} {line}"][-_LINES:]
        self.write()

    def archive(self, path: Path) -> None:
        """Keeps where the archive is."""
        self.state.archive, self.state.status = str(path), "running"
        self.message(f"archive: {path}")

    def end(self, status: str, problem: str = "", remedy: str = "") -> None:
        """Writes down that the run is over."""
        self.state.status, self.state.ended = status, time.time()
        self.state.moment = replace(self.state.moment, phase="")
        self.state.problem, self.state.remedy = (redact_words(text, self._secrets) for text in (problem, remedy))
        self.write()

    def write(self) -> None:
        """Writes the file. A full disk must not end the run, which tells of it itself."""
        try:
            states.write(self._folder, self.state)
        except library.ArchiveError as error:
            print(error, file=sys.stderr)


class _Trials:
    """Listens to a study: ``telling`` tells of its trials, one after another."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Observer:
        state = self._telling.state
        state.target, state.workload, state.archive = spec.target.redacted, spec.workload, ""
        state.moment = states.NOWHERE
        state.trial, state.trials = trial.number, len(study.trials)
        self._telling.begin(spec, sum(one.number != trial.number for one in study.counted("planned", "running")))
        named = zip(study.factors, trial.levels, strict=True)
        levels = ", ".join(f"{factor.name} {level}" for factor, level in named)
        self._telling.message(f"trial {trial.number} of {len(study.trials)}, block {trial.block}: {levels}")
        return self._telling

    def ended(self, trial: Trial) -> None:
        if trial.status != "done":
            self._telling.message(f"trial {trial.number}: {trial.status}: {trial.reason}")


class _Sides:
    """Listens to the runs of a comparison of two, one after another."""

    def __init__(self, telling: Telling, blocks: int, *, one_database: bool, duet: bool) -> None:
        self._telling = telling
        self._least, self._of_block = blocks, 2 if duet else 5 if one_database else 4
        """Blocks at least, and runs of each; of two at the same time the first is heard."""

    def of(self, spec: RunSpec) -> Observer:
        """Hears the next run."""
        state = self._telling.state
        state.archive, state.moment, state.trial = "", states.NOWHERE, state.trial + 1
        state.trials = max(self._least * self._of_block, -(-state.trial // self._of_block) * self._of_block)
        self._telling.begin(spec, state.trials - state.trial)
        self._telling.message(f"run {state.trial}: {spec.label}")
        return self._telling


class MakingTask(Task):
    """Makes one run, comparison, study or check. It goes on when page and server are closed."""

    outlives = True

    def make(self, what: str, live: Path, state: WebState, asked: Mapping[str, Any]) -> None:
        """Makes ``what``: "run", "ab", "study" or "check"; ``live`` is the folder of the file that tells of it."""
        stop = Stop(signals=True)
        telling = Telling(live, state, stop)
        telling.write()
        try:
            ended = _MAKING[what](telling, stop, **asked)
        except BaseException as error:  # Whatever it is, the page is where it is told.
            ended = "failed", str(error) or type(error).__name__, str(getattr(error, "remedy", ""))
        telling.end(*ended)


def _run(telling: Telling, stop: Stop, *, sides: tuple[RunSpec], out: Path) -> tuple[str, str, str]:
    """Makes a run and gives how it ended: status, problem, remedy."""
    (spec,) = sides
    telling.begin(spec)
    outcome = library.perform(spec, out, telling, stop).outcome
    told = outcome.error
    return outcome.status, str(told or ""), told.remedy if told is not None else ""


def _ab(
    telling: Telling, stop: Stop, *, sides: tuple[RunSpec, RunSpec], out: Path, command: str, blocks: int,
    one_database: bool, duet: bool, **asked: Any,
) -> tuple[str, str, str]:
    """Alternates A and B until one is known to be faster; the same of it. What is in ``out`` goes on."""
    from dsbench.library.ab import count_blocks, versus, write  # Late: numerical libraries take their time.

    for one in sides:
        telling.hide(one.target)
    telling.message(f"A: {asked['names'][0]}; B: {asked['names'][1]}")
    done = count_blocks(out)
    shown = _Sides(telling, max(blocks - done, 1), one_database=one_database, duet=duet)
    found = versus(
        *sides, out, **asked, blocks=blocks, one_database=one_database, duet=duet, resume=done > 0, observer=shown.of,
        stop=stop, told=telling.message,
    )  # fmt: skip
    answer = found.answer()
    telling.state.found = [answer.sentence, *answer.verdict, *answer.dangers]
    write(found, out)
    if found.error is None:
        return "complete", "", ""
    if stop.requested:
        return "cut-short", "", f"{command} --resume"
    return "failed", str(found.error), "; ".join(part for part in (found.error.remedy, f"{command} --resume") if part)


def _study(telling: Telling, stop: Stop, *, text: str, folder: Path) -> tuple[str, str, str]:
    """Makes the trials of a study that are left; the same of it."""
    from dsbench import study as room  # Late: numerical libraries take their time.
    from dsbench.library.apart import conduct, tried

    spec = room.of_text(text.encode(), "the study") if text else room.again(folder)
    made = conduct(tried(room.begin(spec, folder)[0], telling.message), _Trials(telling), stop)
    if left := len(made.counted("planned", "running")):
        return "cut-short", "", f"{left} trials are left"
    if made.counted("done"):
        return "complete", "", ""
    return "failed", "no trial was done", "see the log"


def _check(telling: Telling, stop: Stop, *, target: Target, **asked: Any) -> tuple[str, str, str]:
    """Tries out what a target promises; the same of it."""
    from dsbench import check  # Late: its engines take their time.

    file = Path(telling.state.check)
    telling.hide(target)
    telling.state.status = "running"

    def watch(_what: str, done: int, total: int, noun: str) -> None:
        telling.moment(Moment(0, 0, 0, noun, done=done, total=total))
        stop.check()

    try:
        with listening(stop):
            found = check.try_out(target, **asked, restart="", watch=watch, said=telling.message)
    except Stopped:
        return "cut-short", "", ""
    telling.state.found = list(check.lines(found))
    try:
        file.parent.mkdir(exist_ok=True)
        found.write(file)
    except OSError as error:
        return "complete", f"cannot write {file}: {error.strerror}", "copy what is shown here"
    return "complete", "", ""


_MAKING: Final[Mapping[str, Callable[..., tuple[str, str, str]]]] = {
    "run": _run, "ab": _ab, "study": _study, "check": _check,
}  # fmt: skip
