"""Two runs at the same time, each on half of the CPUs, whose cycles begin together. They exchange the halves several
times a second: another program that stays on one CPU has as much of it from both.

What comes and goes on the machine meets both alike, and is in no ratio of their rates (Bulej, Horký, Tůma, Farquet and
Prokopec, Duet Benchmarking: Improving Measurement Accuracy in the Cloud, ICPE 2020). Both share caches, memory and the
device of their data, so that neither is measured as it would be alone.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench.archive import Archive, RunRecord
from dsbench.children import Child
from dsbench.dataclass import dataclass
from dsbench.library.apart import RunApart, Sending, outcome_of
from dsbench.library.running import perform
from dsbench.measure.ahead import ends_by_count
from dsbench.measure.interrupts import Stop
from dsbench.measure.joining import Joining
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import now_ns
from dsbench.measure.moments import Observer, Silent
from dsbench.measure.placing import TRY
from dsbench.measure.run import Outcome
from dsbench.problem import Problem
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.verdict import RunVerdict, Soundness, judge_run
from dsbench.spec import RunSpec, SpecError
from dsbench.stats.comparison import mean_lg
from dsbench.stats.machine import MachineUse
from dsbench.stats.values import Floats

_LEAD_NS: Final = 300_000_000
"""Between the moment at which both sides are ready and the start of their cycle."""
_LOOK_S: Final = 0.1
_TURN_NS: Final = 200_000_000
"""How long each side has one half of the CPUs: much shorter than a cycle, and much longer than it takes to move."""
_LOW: Final = 0.5
"""Share of its median rate below which a side nearly stands still."""
_HIGH: Final = 0.75
"""Share from which on it goes on."""
_ALIKE: Final = "with --duet both sides have the same cycles at the same time"

Halves = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True)
class DuetRun:
    """One side of two runs at the same time."""

    archive: Path
    evaluation: Evaluation
    rate_tps: float
    """Committed in all cycles over their duration: what both sides lose in a second is in no ratio of it."""


def halves() -> Halves:
    """The CPUs that this process may use, in two sets with whole cores; ``SpecError`` where there is one core."""
    cores: dict[str, list[int]] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        cores.setdefault(_core_of(cpu), []).append(cpu)
    half = len(cores) // 2
    if not half:
        raise SpecError("--duet", "there is one CPU core, and each side needs its own", "omit it, or allow more CPUs")
    several = list(cores.values())
    parts = several[:half], several[half : 2 * half]
    first, second = (frozenset(cpu for core in some for cpu in core) for some in parts)
    return first, second


def _core_of(cpu: int) -> str:
    """Its threads, as the kernel lists them; itself where it says nothing."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def refuse_duet(sides: Mapping[str, RunSpec]) -> None:
    """``SpecError`` for sides that cannot run at the same time."""
    for letter, spec in sides.items():
        if spec.target.private is None and spec.target.scheme != "mock":
            what = "server that dsbench does not start" if spec.target.is_server else "file, for one run at a time"
            raise SpecError("--duet", f"{letter} is a {what}", "use private:PRODUCT, or omit --duet")
        if ends_by_count(spec):
            raise SpecError("--workload", f"the cycles of {spec.workload} end after a number of transactions",
                            "use another, or omit --duet")  # fmt: skip
        for option, wrong in (
            ("--placement", spec.placement not in ("free", TRY)), ("--power", bool(spec.power)),
            ("--nodes", bool(spec.nodes)), ("--objective", spec.searches), ("--find-ramp-up", spec.find_ramp_up),
            ("--clients", spec.several_clients or spec.peak), ("--precision", spec.precision is not None),
            ("--min-duration", spec.min_duration is not None), ("--refine", spec.refine != "none"),
        ):  # fmt: skip
            if wrong:
                raise SpecError(option, _ALIKE, f"omit {option}")
    a, b = sides.values()
    # Settings of the workload may differ, such as its SQL: a side with more cycles than the other ends with an error.
    for name in ("workload", "cycles", "duration", "ramp_up", "scales"):
        if getattr(a, name) != getattr(b, name):
            raise SpecError(f"--{name.replace('_', '-')}", _ALIKE, "specify it once, for both")


def run_together(
    sides: Sequence[tuple[str, RunSpec]], cpus: Halves, out: Path, observer: Observer, stop: Stop
) -> list[DuetRun]:
    """Two named ``sides`` at the same time, the first of which has the first of the ``cpus`` in even turns.

    ``observer`` hears the first. Where one fails, the other is stopped, and ``RunError`` says why.
    """
    if stop.requested:
        raise RunError("stopped between two runs", "")
    meeting = _Meeting()
    pool = ThreadPoolExecutor(len(sides))
    try:
        heard = [observer, Silent()]
        both = cpus, (cpus[1], cpus[0])
        begun = [pool.submit(_side, letter, spec, own, out, hears, stop, meeting)
                 for (letter, spec), own, hears in zip(sides, both, heard, strict=True)]  # fmt: skip
        ended = [one.exception() or one.result() for one in begun]
    except BaseException:  # Somebody asked a second time.
        meeting.end()
        raise
    finally:
        pool.shutdown()
    errors = {letter: error for (letter, _), one in zip(sides, ended, strict=True)
              if (error := one if isinstance(one, BaseException) else one.error) is not None}  # fmt: skip
    if errors:
        # The other side was stopped because of it.
        letter = meeting.first if meeting.first in errors else next(iter(errors))
        error = errors[letter]
        if isinstance(error, RunError) and not stop.requested:
            raise RunError(f"{letter}: {error}", error.remedy, usage=error.usage)
        raise error
    return [_read(letter, one) for (letter, _), one in zip(sides, ended, strict=True) if isinstance(one, Outcome)]


def _side(
    letter: str, spec: RunSpec, cpus: Halves, out: Path, observer: Observer, stop: Stop, meeting: _Meeting
) -> Outcome:
    told = False

    def pass_on() -> None:
        nonlocal told
        wanted = (stop.reason, stop.signal) if stop.requested else (meeting.why, None) if meeting.why else None
        if wanted and not told:
            told = True
            child.tell(wanted)

    def hear(said: Any) -> None:
        if said == READY:
            meeting.ready(letter, child.tell)
        else:
            getattr(observer, said[0])(said[1])

    try:
        with Child(_RunInDuet, f"the run of {letter}") as child:
            meeting.enter(child)
            child.ask("perform_on", spec, out, *cpus)
            outcome: Outcome = child.answer(hear, pass_on)
    except RunError:
        meeting.leave(letter)
        raise
    except Problem as error:
        meeting.leave(letter)
        raise RunError(error.problem, error.remedy, usage=error.usage) from None
    except BaseException:
        meeting.leave(letter)
        raise
    meeting.leave(letter, complete=outcome.error is None and outcome.status == "complete")
    return outcome


class _Meeting:
    """Where both sides wait for each other before a cycle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: list[Child] = []
        self._waiting: list[Callable[[Any], None]] = []
        self._over = ""
        self.first = ""
        """The side that ended early before the other did; empty as long as none has."""
        self.why = ""
        """Why nobody need wait any more; empty as long as both go on."""

    def enter(self, child: Child) -> None:
        """The process of a side."""
        self._children.append(child)

    def end(self) -> None:
        """Ends both sides, whatever they are at."""
        for child in self._children:
            child.end()

    def ready(self, letter: str, tell: Callable[[Any], None]) -> None:
        """One side waits for its start, which ``tell`` tells it."""
        with self._lock:
            self._waiting.append(tell)
            if self._over and not self.why:
                self.why = f"{self._over} had no further cycle when {letter} had one"
            if len(self._waiting) < 2:
                return
            waiting, self._waiting = self._waiting, []
        start = Start(now_ns() + _LEAD_NS)
        for one in waiting:
            one(start)

    def leave(self, letter: str, *, complete: bool = False) -> None:
        """One side has ended: ``complete``, or early."""
        with self._lock:
            self._over = letter
            if not complete:
                self.first = self.first or letter
            if not self.why and (self._waiting or not complete):
                self.why = f"the run of {letter} at the same time ended " + ("before it" if complete else "early")


READY: Final = "ready"


@dataclass(frozen=True)
class Start:
    """When a cycle of both sides begins, its ramp-up included."""

    at_ns: int


class _RunInDuet(RunApart):
    """What the process of a side does."""

    def __init__(self, say: Callable[[Any], None]) -> None:
        super().__init__(say)
        self._starts: queue.SimpleQueue[int] = queue.SimpleQueue()

    def told(self, value: Any) -> None:
        if isinstance(value, Start):
            self._starts.put(value.at_ns)
        else:
            super().told(value)

    def perform_on(self, spec: RunSpec, out: Path, even: frozenset[int], odd: frozenset[int]) -> Outcome:
        """The run, with its server and its clients on these CPUs by turns."""
        with _taking_turns(even, odd):
            return outcome_of(perform(spec, out, Sending(self.say), self._stop, Joining(meet=self._meet), report=False))

    def _meet(self) -> int:
        self.say(READY)
        while True:
            try:
                return self._starts.get(timeout=_LOOK_S)
            except queue.Empty:
                self._stop.check()


@contextmanager
def _taking_turns(even: frozenset[int], odd: frozenset[int]) -> Iterator[None]:
    """Meanwhile this process and those that it started are on ``even`` CPUs or on ``odd`` ones. The turns of all
    processes of the machine begin together, by the clock that they share."""
    over = threading.Event()

    def take_turns() -> None:
        while not over.is_set():
            number = now_ns() // _TURN_NS
            _move(odd if number % 2 else even)
            over.wait(max((number + 1) * _TURN_NS - now_ns(), 0) / 1e9)

    _move(odd if now_ns() // _TURN_NS % 2 else even)
    thread = threading.Thread(target=take_turns, name="dsbench-turns", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _move(cpus: frozenset[int]) -> None:
    """Moves all threads of this process, and of those that it started; what they start later inherits it."""
    for pid in _family(os.getpid()):
        for thread in _entries(Path(f"/proc/{pid}/task")):
            with suppress(OSError):  # It has ended.
                os.sched_setaffinity(int(thread), cpus)


def _family(pid: int) -> Iterator[int]:
    yield pid
    for thread in _entries(Path(f"/proc/{pid}/task")):
        with suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                yield from _family(int(child))


def _entries(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _read(letter: str, outcome: Outcome) -> DuetRun:
    if outcome.void_scales:
        scales = ", ".join(map(str, outcome.void_scales))
        raise RunError(f"the check failed at scale {scales} of {outcome.archive.name}", "see its results.log")
    evaluation = evaluate(Archive.open(outcome.archive))
    means = {}
    for scale, rates in evaluation.of(RateResult).cycle_rates.items():
        durations = evaluation.of(RateResult).durations_s[scale]
        means[scale] = np.array([float(rates @ durations / durations.sum())])
    rate = 10 ** mean_lg(means, sorted(means))
    if not (isfinite(rate) and rate > 0):
        words = f"{letter}: {outcome.archive.name} committed nothing at a scale, so there is no rate to compare"
        raise RunError(words, "use longer cycles: --duration")
    return DuetRun(outcome.archive, evaluation, rate)


def judge_in_duet(evaluation: Evaluation, run: RunRecord) -> RunVerdict:
    """As ``judge_run``, without what others took of the machine: one of them is the other side."""
    found = judge_run(evaluation, run)
    sound = Soundness.VOID if found.void else Soundness.PRELIMINARY if found.short else Soundness.VALID
    return replace(found, soundness=sound, taken=())


def find_starved(sides: Sequence[Evaluation]) -> tuple[float, ...]:
    """Of each of two sides, the share of the seconds in which it nearly stood still and the other did not; empty if
    their seconds are unknown."""
    seconds = [side.of(CourseResult).seconds for side in sides]
    found: list[Floats] = []
    for scale in sorted(set(seconds[0]) & set(seconds[1])):
        courses = [one[scale][:, 0] for one in seconds]
        size = min(map(len, courses))
        shares = [course[:size] / max(float(np.median(course)), 1.0) for course in courses]
        found.append(np.stack([(shares[own] < _LOW) & (shares[other] > _HIGH) for own, other in ((0, 1), (1, 0))]))
    return tuple(map(float, np.concatenate(found, axis=1).mean(axis=1))) if found else ()


def find_foreign(sides: Sequence[Evaluation]) -> float | None:
    """The greatest share (0-1) of a cycle's CPU time that neither side had, nor the kernel; ``None`` if unknown."""
    uses = [{(scale, one.cycle): one.use for scale, some in side.of(MachineResult).machine.items() for one in some}
            for side in sides]  # fmt: skip

    def seen(own: MachineUse, other: MachineUse) -> float:
        others = own.others_ns - other.run_ns - (other.server_ns or 0)
        return max(own.share(others + own.stolen_ns), 0.0)

    # Each sees a little of the other beside its cycle.
    both = [(uses[0][at], uses[1][at]) for at in uses[0].keys() & uses[1].keys()]
    return max((min(seen(own, other), seen(other, own)) for own, other in both), default=None)
