"""What a transaction costs: counters of the system under test, sampled once per second beside the load.

``sampler`` reads the monitors: ``system`` those of the machine, ``tasks`` those of processes, ``threads`` what their
threads wait in, and one module per engine its counters and its statistics, which are dearer (sizes of tables, dead
rows, the age of transactions) and read once before the cycles of a scale and once after them. ``machine`` says what
else the machine does around a cycle. ``sessions`` looks at what the sessions of the load wait for, many times a second;
``watchers`` has what each product is asked.

Adding a monitor: a class like the others, and one word in ``monitors_for`` or one line in ``_ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.monitors import firebird, mysql, postgres
from dsbench.measure.monitors.machine import RUN, SERVER, Known, MachineSnapshot, beside, between, look, with_sessions
from dsbench.measure.monitors.monitor import Figure, Lagging, Monitor, Queries, Value
from dsbench.measure.monitors.replicas import Replicas
from dsbench.measure.monitors.sampler import Sampler
from dsbench.measure.monitors.sessions import SessionSampler
from dsbench.measure.monitors.sizes import Sizes
from dsbench.measure.monitors.system import (
    Client,
    Disks,
    Network,
    OperatingSystem,
    Pressure,
    RoundTrip,
    StorageDevice,
    SystemCalls,
)
from dsbench.measure.monitors.tasks import Interrupts, Tasks
from dsbench.measure.monitors.threads import ThreadSampler
from dsbench.measure.monitors.watchers import WATCHERS, EmbeddedWatcher, MonitorSession

__all__ = [
    "RUN", "SERVER", "WATCHERS", "EmbeddedWatcher", "Known", "Lagging", "MachineSnapshot", "Monitor", "MonitorSession",
    "Queries", "Replicas", "Sampler", "SessionSampler", "Sizes", "Statistics", "Value", "beside", "between", "look",
    "monitors_for", "statistics_of", "with_sessions",
]  # fmt: skip

_ENGINES: Final[dict[str, tuple[Callable[[Queries], Monitor], Callable[[Queries], list[Figure]]]]] = {
    "postgres": (postgres.Postgres, postgres.take_statistics),
    "mysql": (mysql.Mysql, mysql.take_statistics),
    "firebird": (firebird.Firebird, firebird.take_statistics),
}


def monitors_for(
    engine: str, folders: Iterable[Path], queries: Queries | None, known: Known | None = None,
    clients: Callable[[], Iterable[int]] = tuple, *, port: int = 0,
) -> tuple[Monitor, ...]:
    """The monitors of a run.

    ``folders`` hold the data, none when they are not on this machine; ``queries`` reaches the
    database system, ``None`` where there is none to ask; ``known`` says which processes are the server's;
    ``clients`` gives the pids of those that make load in place of this one; ``port`` is the server's, 0 for any.
    """  # fmt: skip
    known = known or Known({})
    monitors: list[Monitor] = [OperatingSystem(), Network(), Client(clients), Interrupts(), Disks(), Pressure()]
    monitors += [RoundTrip(port), Tasks(RUN, known, clients=clients)]
    if ThreadSampler.readable():
        monitors += [
            ThreadSampler(who, known, clients) for who in (RUN, SERVER) if who == RUN or who in known.roots.values()
        ]
    calls = SystemCalls.allowed()
    if calls is not None:
        monitors.append(calls)
    if SERVER in known.roots.values():
        monitors.append(Tasks(SERVER, known))
    device = StorageDevice.holding(*folders)
    if device is not None:
        monitors.append(device)
    if engine in _ENGINES and queries is not None:
        monitors.append(_ENGINES[engine][0](queries))
        standbys = postgres.Standbys.of(queries) if engine == "postgres" else None
        monitors += [standbys] if standbys is not None else []
    return tuple(monitors)


@dataclass(frozen=True)
class Statistics:
    """Reads the statistics of one database."""

    queries: Queries
    ask: Callable[[Queries], list[Figure]]

    def take(self) -> list[Figure]:
        """The figures now. It may raise."""
        return self.ask(self.queries)


def statistics_of(engine: str, queries: Queries) -> Statistics | None:
    """The statistics of an engine, ``None`` where it keeps none that can be read beside a run."""
    return Statistics(queries, _ENGINES[engine][1]) if engine in _ENGINES else None
