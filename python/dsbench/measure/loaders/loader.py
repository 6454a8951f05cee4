"""Who makes the load of a run: this machine, or remote nodes (``nodes.remote``). A run knows no difference.

A cycle is connected, started, waited for and collected. On one machine ``Cycle`` does so with what makes its clients
run, its ``Source``: the core in this process, drivers of Python in processes, or another program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Protocol

from dsbench._core import CycleLoad, Stage
from dsbench.dataclass import dataclass
from dsbench.measure.journal import Journal
from dsbench.measure.loaders.bench import Bench
from dsbench.measure.loaders.core import TargetDatabase, now_ns
from dsbench.measure.loaders.cycle import Cycle, Second, Watch
from dsbench.measure.loaders.results import NodePart, NodeResult
from dsbench.spec import RunSpec

Progress = Callable[[str, int, int], None]
"""Phase, done, of how many."""


@dataclass(frozen=True)
class Wanted:
    """A cycle that is to be run."""

    spec: RunSpec
    """With one number of clients: that of the cycle."""
    bench: Bench
    stage: Stage
    scale: int
    number: int
    """From 1."""
    seed: int
    trace: Path | None
    """Where to write the trace, if at all."""
    roots: Mapping[int, str] = field(default_factory=dict)
    """By pid on the machine of dsbench run: what is no other program there (``monitors.Known``)."""


class Running(Protocol):
    """A cycle under way, wherever its load is made."""

    @property
    def load(self) -> CycleLoad:
        """What makes the load of one node."""

    @property
    def lead_ns(self) -> int:
        """How long before the common start it has to be known."""

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until all clients are connected."""

    def start(self, at_ns: int) -> None:
        """Starts all clients at ``at_ns``."""

    def wait(self, start_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits for the end."""

    def seconds(self, start: int) -> Sequence[Second]:
        """The seconds from number ``start`` on that are known so far; none where nodes make the load."""

    def abandon(self) -> None:
        """Ends everything that is under way."""

    def collect(self) -> list[NodePart]:
        """Waits for the end and gives what each node did."""


class Loader(Protocol):
    """A source of load for all cycles of a run."""

    def begin(self, journal: Journal, target: TargetDatabase, progress: Progress, /) -> None:
        """Makes it ready, once per run."""

    def cycle(self, wanted: Wanted, watch: Watch, /) -> Running:
        """Opens the connections of a cycle."""

    def pids(self) -> list[int]:
        """Processes on this machine that make load beside this one."""

    def late(self) -> list[tuple[tuple[int, int], NodeResult]]:
        """((scale, cycle), part) of cycles that had ended before their part came; each is given once."""

    def tell(self) -> None:
        """Writes to the log what happened since the last call."""

    def end(self, status: str, /) -> None:
        """The run is over."""


class Local:
    """Load of this machine."""

    def __init__(self) -> None:
        self._cycle: Cycle | None = None

    def begin(self, _journal: Journal, _target: TargetDatabase, _progress: Progress, /) -> None:
        """This machine is ready."""

    def cycle(self, wanted: Wanted, _watch: Watch, /) -> Running:
        """Opens the connections of a cycle here."""
        self._cycle = wanted.bench.cycle(wanted.spec, wanted.seed, wanted.trace, stage=wanted.stage.name)
        return self._cycle

    def pids(self) -> list[int]:
        """There are no nodes; with another client than dsbench's own, the processes of the last cycle."""
        return self._cycle.pids if self._cycle is not None else []

    def late(self) -> list[tuple[tuple[int, int], NodeResult]]:
        """No part of this machine comes late."""
        return []

    def tell(self) -> None:
        """This machine has no news."""

    def end(self, _status: str, /) -> None:
        """This machine keeps nothing of a run."""


class Together(Local):
    """Load of this machine, whose cycles begin when those of another run here do."""

    def __init__(self, meet: Callable[[], int]) -> None:
        """``meet`` waits for the other run and gives the common start, ramp-up included, in ns of ``now_ns``."""
        super().__init__()
        self._meet = meet

    def cycle(self, wanted: Wanted, watch: Watch, /) -> Running:
        """Opens the connections of a cycle here. Trials before the cycles, which have the number 0, wait for nobody."""
        own = super().cycle(wanted, watch)
        return _Meeting(own, self._meet) if wanted.number else own


class _Meeting:
    """A cycle whose lead is the time to the common start. It waits for the other run twice: long, while that is not as
    far, before anything is read of the machine, and then for a moment."""

    def __init__(self, own: Running, meet: Callable[[], int]) -> None:
        self._own, self._meet = own, meet
        self.load = own.load
        self.start, self.wait = own.start, own.wait
        self.seconds, self.abandon, self.collect = own.seconds, own.abandon, own.collect

    def connect(self, timeout_s: float, watch: Watch) -> None:
        self._own.connect(timeout_s, watch)
        self._meet()

    @property
    def lead_ns(self) -> int:
        return max(self._meet() - now_ns(), self._own.lead_ns)
