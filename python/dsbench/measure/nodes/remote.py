"""Remote nodes as the loader of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbench.measure import calibration
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import Bench, CoreError, Target, Watch
from dsbench.measure.loaders.loader import Loader, Local, Progress, Running, Wanted
from dsbench.measure.loaders.results import NodeResult
from dsbench.measure.monitors import system
from dsbench.measure.nodes import ClusterError
from dsbench.measure.stack import machine
from dsbench.problem import how_to_install
from dsbench.spec import RunSpec
from dsbench.spec import Target as TargetSpec

if TYPE_CHECKING:
    from dsbench.measure.nodes.bundle import Invitation


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


def choose_loader(spec: RunSpec, joining: Joining) -> Loader:
    """The source of load that ``spec`` asks for. ``ClusterError`` when it cannot be had."""
    return Remote(spec, joining) if spec.nodes else Local()


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
