"""What all cycles of a scale share, and how a phase of theirs is watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from time import monotonic

from dsbench.dataclass import dataclass
from dsbench.measure.happening import Outages, Renewed
from dsbench.measure.history import CycleHistory
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import Bench, Second, TargetDatabase
from dsbench.measure.loaders.loader import Loader
from dsbench.measure.moments import Cpus, Moment, Observer, Seconds
from dsbench.measure.monitors import Known, Monitor
from dsbench.measure.monitors.host import Lasting
from dsbench.measure.opening import during
from dsbench.measure.plan import PlannedCycle, several_loads
from dsbench.measure.surroundings import Probes, Snapshots
from dsbench.measure.twice import Twice
from dsbench.spec import RunSpec


@dataclass(frozen=True)
class Restarted:
    """A server that was started again, and what its files had in the page cache before."""

    now: Renewed
    duration_ns: int
    held: int | None
    """Bytes; ``None`` where the system does not tell."""
    stayed: str
    """What did not leave the page cache, in words; empty where next to nothing stayed."""


@dataclass(frozen=True)
class ScaleContext:
    """What all cycles of a scale share."""

    spec: RunSpec
    target: TargetDatabase
    journal: Journal
    bench: Bench
    load: Loader
    monitors: tuple[Monitor, ...]
    known: Known
    stop: Stop
    moment: Moment
    snapshots: Snapshots
    twice: Twice
    probes: Probes
    history: CycleHistory
    perf: tuple[str, ...] = ()
    """What perf is to watch in a cycle more."""
    restart: Callable[[], Restarted] | None = None
    """Restarts the server, where the run has one of its own."""
    outages: Outages | None = None
    """What happens to the server in each cycle."""
    lasting: Lasting = field(default_factory=Lasting)
    """The machine over all cycles of the run."""

    def narrow(self, cycle: PlannedCycle) -> ScaleContext:
        """The same for one cycle: with its number of clients, where the run takes several, and its stage."""
        stage = cycle.stage.name if several_loads(self.bench.stages) else ""
        if cycle.duration is not None:
            spec = self.spec.model_copy(update={"rate": cycle.rate, "duration": cycle.duration})
            return replace(self, spec=spec, moment=replace(self.moment, stage=stage))
        if cycle.clients is None or not self.spec.several_clients:
            return replace(self, moment=replace(self.moment, stage=stage))
        moment = replace(self.moment, clients=cycle.clients, stage=stage)
        return replace(self, spec=self.spec.at(cycle.clients), moment=moment)

    def during(self, phase: str, cycle: int = 0) -> AbstractContextManager[None]:
        """Around a phase: its errors say that they came in it, and how the run goes on."""
        place = f"scale {self.moment.scale}" + (f", cycle {cycle}" if cycle else "")
        return during(f"{place}, {phase}" if phase != "cycle" else place, self.target)

    def watch(
        self, phase: str, cycle: int = 0, began: float = 0.0, told: Callable[[int], Sequence[Second]] | None = None
    ) -> Watching:
        """Shows progress of ``phase``, hears wishes to stop and notices when the target is another run's.

        ``told`` gives the seconds of a cycle from a number on.
        """

        def check() -> None:
            self.stop.check()
            self.target.check_claim()

        moment = replace(self.moment, phase=phase, cycle=cycle)
        return Watching(self.journal.observer, check, moment, began, told)


class Watching:
    """Looks at a phase while it goes on, and tells where it is."""

    def __init__(
        self,
        observer: Observer,
        check: Callable[[], None],
        moment: Moment,
        began: float,
        told: Callable[[int], Sequence[Second]] | None,
    ) -> None:
        """``check`` raises when the run has to end; a cycle began at ``began`` of the monotonic clock, in s."""
        self._observer, self._check, self._moment, self._began, self._told = observer, check, moment, began, told
        self._seconds, self._times, self._cpus = Seconds(), list[tuple[float, float]](), Cpus()

    def __call__(self, done: int, other: int) -> None:
        """``done`` of ``other`` are done; in a cycle ``done`` are committed and ``other`` attempts have failed."""
        self._check()
        elapsed, told, moment = monotonic() - self._began if self._began else 0.0, self._told, self._moment
        total, failed = (0, other) if moment.phase == "cycle" else (other, 0)
        if moment.phase == "cycle" and self._seconds.look(elapsed, done):
            moment = replace(moment, cpus=self._cpus.look())
            self._times.extend((p50 / 1e9, p99 / 1e9) for _, _, p50, p99, _ in (told(len(self._times)) if told else ()))
        moment = replace(moment, done=done, total=total, failed=failed, elapsed_s=elapsed)
        self._tell(replace(moment, seconds=self._seconds, times=self._times))

    def end(self, committed: int, failed: int, duration_s: float) -> None:
        """What a cycle counted in all, which the last look did not see yet."""
        self._tell(replace(self._moment, done=committed, failed=failed, elapsed_s=duration_s))

    def _tell(self, moment: Moment) -> None:
        self._moment = moment
        self._observer.moment(moment)
