"""Who makes the load of a run: this machine, or remote nodes. The ladder knows no difference."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

from dsbench.archive import LOCAL
from dsbench.cluster.errors import ClusterError, how_to_install
from dsbench.cluster.outcome import Course, NodeResult, Part
from dsbench.cluster.wanted import Wanted
from dsbench.generator import Cycle, CycleLoad, Second, Watch
from dsbench.runner.journal import Journal
from dsbench.spec import RunSpec

Progress = Callable[[str, int, int], None]
"""Phase, done, of how many."""

_PASSWORDS: Final = {"postgresql": "PGPASSWORD", "postgres": "PGPASSWORD"}
"""By scheme: the variable of this machine's environment in which a password may stand that nodes need too."""


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
    fleeting: bool = False
    """Whether the nodes have their bundles already: then all of them are deleted once the run has read its own."""


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
            from dsbench.cluster import invited  # Late: Dask is an extra, and takes a second to import.

            self._invitation, self._nodes = invited(joining.folder, spec)
            if joining.fleeting:
                self._invitation.forget()
        except ImportError as error:
            problem = f"nodes need a package that is not here: {error}"
            raise ClusterError(problem, how_to_install(), usage=True) from None
        self._spec, self._patience_s = spec, joining.patience_s
        self._journal: Journal | None = None
        self._url = ""

    def begin(self, journal: Journal, url: str, progress: Progress, /) -> None:
        """Waits for the nodes and has them describe themselves."""
        self._journal, self._url = journal, with_password(url)
        self._say_how_to_join(journal)

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

    def _say_how_to_join(self, journal: Journal) -> None:
        bundles = self._invitation.bundles[: self._spec.nodes]
        where = self._invitation.coordinator.address
        how = "; on each of their machines:" if bundles else ""
        journal.say(f"waiting for {self._spec.nodes} nodes at {where}{how}")
        for bundle in bundles:
            journal.say(f"  dsbench node --join {bundle}")

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
        """Sends the nodes home; after a complete run their bundles are worth nothing any more."""
        self._nodes.close(f"the run is {status}", spent=status == "complete")
        self.tell()


def with_password(url: str) -> str:
    """``url`` with the password of this machine's environment, where it has none: nodes have another environment."""
    scheme, separator, rest = url.partition("://")
    password = os.environ.get(_PASSWORDS.get(scheme, ""), "")
    authority = rest.partition("/")[0].partition("?")[0]
    user, at, _host = authority.rpartition("@")
    if not password or not separator or ":" in user or "password=" in rest:
        return url
    if at:
        return f"{scheme}://{user}:{quote(password, safe='')}{rest[len(user):]}"
    mark = "&" if "?" in rest else "?"
    return f"{url}{mark}password={quote(password, safe='')}"
