"""Who makes the load of a run: this machine, or remote nodes. The ladder knows no difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dsbench.archive import LOCAL
from dsbench.measure import calibration
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import Bench, CoreError, Cycle, CycleLoad, Second, Target, Watch
from dsbench.measure.loaders.parts import Course, NodeResult, Part, Wanted
from dsbench.measure.monitors import system
from dsbench.measure.nodes.errors import ClusterError
from dsbench.measure.stack import machine
from dsbench.problem import how_to_install
from dsbench.spec import RunSpec
from dsbench.spec import Target as TargetSpec

if TYPE_CHECKING:
    from dsbench.measure.nodes.bundle import Invitation

Progress = Callable[[str, int, int], None]
"""Phase, done, of how many."""


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

    def join(self) -> list[Part]:
        """What each node did."""


class Loader(Protocol):
    """A source of load for all cycles of a run."""

    def begin(self, journal: Journal, url: str, progress: Progress, /) -> None:
        """Makes it ready, once per run; ``url`` is the database's."""

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


@dataclass(frozen=True)
class Joining:
    """How remote nodes come to a run."""

    folder: Path = Path("cluster")
    """Holds their invitation; a new one is written when there is none."""
    patience_s: float = 600.0
    """How long the run waits for them."""
    dask: str = ""
    """Address of a Dask scheduler that runs already: its workers become the nodes, and nobody is invited."""
    dask_tls: str = ""
    """Files for it: authority, certificate and key, with commas between them."""
    invitation: Invitation | None = None
    """One that is in no folder."""


def loader_of(spec: RunSpec, joining: Joining) -> Loader:
    """The source of load that ``spec`` asks for. ``ClusterError`` when it cannot be had."""
    return Remote(spec, joining) if spec.nodes else Local()


class Local:
    """Load of this machine."""

    def __init__(self) -> None:
        self._cycle: Cycle | None = None

    def begin(self, _journal: Journal, _url: str, _progress: Progress, /) -> None:
        """Nothing to do."""

    def cycle(self, wanted: Wanted, _watch: Watch, /) -> Running:
        """Opens the connections of a cycle here."""
        cycle = wanted.bench.cycle(wanted.spec, wanted.seed, wanted.trace, stage=wanted.stage.name)
        self._cycle = cycle
        return _LocalCycle(cycle)

    def pids(self) -> list[int]:
        """There are no nodes; with another client than dsbench's own, the processes of the last cycle."""
        return self._cycle.pids if self._cycle is not None else []

    def late(self) -> list[tuple[tuple[int, int], NodeResult]]:
        """Nothing comes late."""
        return []

    def tell(self) -> None:
        """Nothing to tell."""

    def end(self, _status: str, /) -> None:
        """Nothing to do."""


class _LocalCycle:
    def __init__(self, cycle: Cycle) -> None:
        self._cycle, self.load, self.lead_ns = cycle, cycle.load, cycle.lead_ns
        self.connect, self.start, self.wait, self.abandon = cycle.connect, cycle.start, cycle.wait, cycle.abandon
        self.seconds = cycle.seconds

    def join(self) -> list[Part]:
        """This machine's part, which is the whole."""
        result = self._cycle.join()
        why = str(result.failure) if result.failure is not None else ""
        course = Course("complete", still_ns=self._cycle.still_ns)
        return [Part(LOCAL, why, NodeResult(LOCAL, result, course), loaded=True)]


class Remote:
    """Load of the nodes that join."""

    def __init__(self, spec: RunSpec, joining: Joining) -> None:
        try:
            # Late: Dask is an extra, and takes a second to import.
            from dsbench.measure.nodes.dask_setup import nodes_at
            from dsbench.measure.nodes.nodes import Nodes

            self._where = nodes_at(spec, joining.folder, joining.invitation, joining.dask, joining.dask_tls)
            self._nodes = Nodes(self._where, spec, describe)
        except ImportError as error:
            problem = f"nodes need a package that is not here: {error}"
            raise ClusterError(problem, how_to_install(), usage=True) from None
        self._spec, self._patience_s = spec, joining.patience_s
        self._journal: Journal | None = None
        self._url = ""

    def begin(self, journal: Journal, url: str, progress: Progress, /) -> None:
        """Waits for the nodes and has them describe themselves."""
        # Nodes have another environment.
        asked = TargetSpec(url=url)
        self._journal, self._url = journal, asked.with_password(asked.password_of_environment).url
        for line in self._where.how_to_join(self._spec.nodes):
            journal.say(line)

        def gathering(here: list[str]) -> None:
            self.tell()
            progress("nodes", len(here), self._spec.nodes)

        try:
            self._nodes.gather(self._patience_s, gathering)
            found = self._nodes.prepare(self._url, lambda done, total: progress("prepare", done, total))
        finally:
            self.tell()
        noticed = [(node["name"], words) for node in found for words in node.pop("noticed", ())]
        journal.note(nodes=found)
        for name, words in noticed:
            journal.say(f"warning: node {name}: {words}")
        for node in found:
            journal.say(f"node {node['name']}: {node['cpus']} CPUs, {node['system']}")

    def cycle(self, wanted: Wanted, watch: Watch, /) -> Running:
        """Opens the connections of a cycle on all nodes that are here."""
        return self._nodes.cycle(self._url, wanted, watch, self.tell)

    def pids(self) -> list[int]:
        """Processes of nodes on this machine."""
        return self._nodes.pids()

    def late(self) -> list[tuple[tuple[int, int], NodeResult]]:
        """Parts of cycles that had ended before they came."""
        found = self._nodes.late()
        self.tell()
        return found

    def tell(self) -> None:
        """Writes to the log what the coordinator has to say."""
        if self._journal is not None:
            for line in self._nodes.news():
                self._journal.say(line)

    def end(self, status: str, /) -> None:
        """Sends the nodes home. Their bundles are deleted, however the run ended."""
        self._nodes.close(f"the run is {status}")
        self.tell()


def describe(spec: RunSpec, target: Target, url: str) -> Mapping[str, Any]:
    """What this machine is, and its ceiling for the load of ``spec``. Nodes do this."""
    call = Bench(target, spec.workload, spec.scales[0], spec.call).call
    try:
        found = calibration.of_run(spec, target.dialect.name, url, call, lambda _done, _total: None).described()
    except (CoreError, OSError) as error:
        found = {"problem": str(error)}
    return {"calibration": found, "core": machine.describe_core(None), "network": system.identity()}
