"""What a transaction costs: counters of the system under test, sampled once per second beside the load.

Adding a monitor: one module with a class like the others, and one word in ``monitors_for`` or ``_ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from dsbench.measure.monitors.calls import SystemCalls
from dsbench.measure.monitors.client import Client
from dsbench.measure.monitors.device import Disks, StorageDevice
from dsbench.measure.monitors.firebird import Firebird
from dsbench.measure.monitors.machine import RUN, SERVER, Known, Look, beside, between, look, with_sessions
from dsbench.measure.monitors.monitor import Lagging, Monitor, Queries, Value
from dsbench.measure.monitors.mysql import Mysql
from dsbench.measure.monitors.network import Network
from dsbench.measure.monitors.os import OperatingSystem
from dsbench.measure.monitors.postgres import Postgres
from dsbench.measure.monitors.sampler import Sampler
from dsbench.measure.monitors.sizes import Sizes
from dsbench.measure.monitors.statistics import Statistics, statistics_of
from dsbench.measure.monitors.tasks import Interrupts, Tasks

__all__ = [
    "RUN",
    "SERVER",
    "Known",
    "Lagging",
    "Look",
    "Monitor",
    "Queries",
    "Sampler",
    "Sizes",
    "Statistics",
    "Value",
    "beside",
    "between",
    "look",
    "monitors_for",
    "statistics_of",
    "with_sessions",
]


_ENGINES: dict[str, Callable[[Queries], Monitor]] = {"postgres": Postgres, "mysql": Mysql, "firebird": Firebird}


def monitors_for(
    engine: str, directory: Path | None, queries: Queries | None, known: Known | None = None,
    clients: Callable[[], Iterable[int]] = tuple,
) -> tuple[Monitor, ...]:
    """The monitors of a run.

    ``directory`` holds the data, ``None`` when it is not on this machine; ``queries`` reaches the
    database system, ``None`` where there is none to ask; ``known`` says which processes are the server's;
    ``clients`` gives the pids of those that make load in place of this one.
    """  # fmt: skip
    known = known or Known({})
    monitors: list[Monitor] = [OperatingSystem(), Network(), Client(clients), Interrupts(), Disks()]
    monitors.append(Tasks(RUN, known, clients=clients))
    calls = SystemCalls.allowed()
    if calls is not None:
        monitors.append(calls)
    if SERVER in known.roots.values():
        monitors.append(Tasks(SERVER, known))
    device = StorageDevice.holding(directory) if directory is not None else None
    if device is not None:
        monitors.append(device)
    if engine in _ENGINES and queries is not None:
        monitors.append(_ENGINES[engine](queries))
    return tuple(monitors)
