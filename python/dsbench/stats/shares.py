"""Where the time of a transaction goes, by Little's law: the transactions in progress, on average, are the rate times
their mean time. So the share of them that is seen in a state is the share of a transaction's time.

Everything here counts in transactions in progress. docs/why.md says what each share rests on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.precision import student

CPU, QUEUE, FOREIGN = "server CPU", "server waits for a CPU", "CPU taken by other programs"
QUOTA = "CPU quota"
LOCK, LATCH, FLUSH, READ, WRITE, OTHER = "lock", "latch", "flush", "read", "write", "other"
NETWORK = "network"
CLIENT, CLIENT_QUEUE, CLIENT_TURN = "client CPU", "client waits for a CPU", "client waits for itself"
UNKNOWN = "not known"
CLASSES: Final = (
    CPU, QUEUE, LOCK, LATCH, FLUSH, READ, WRITE, OTHER, NETWORK, CLIENT, CLIENT_QUEUE, CLIENT_TURN, QUOTA, FOREIGN,
    UNKNOWN,
)  # fmt: skip
WAITS: Final = (LOCK, LATCH, FLUSH, READ, WRITE, OTHER)
"""Classes of the table ``samples`` in which a session waits within the server."""
_OF_STATE: Final = {"flush": FLUSH, "read": READ, "write": WRITE, "fault": READ, "lock": LATCH, "sleep": OTHER}
"""States of threads to classes of waits."""
_EMBEDDED: Final = {**_OF_STATE, "sleep": LOCK}
"""In an embedded database a thread sleeps while another has the lock: so busy handlers wait."""
_SPARE: Final = 1.15
"""By how much sessions without a wait may be more than the threads on CPUs and before them, for sampling errs."""


class What(NamedTuple):
    """A class, and what more is known of it."""

    kind: str
    """Of ``CLASSES``."""
    wait: str = ""
    """The product's name of the wait."""
    on: str = ""
    """The table, of a lock."""


@dataclass(frozen=True)
class Threads:
    """The threads of one side in a cycle."""

    states: Mapping[str, float] = field(default_factory=dict)
    """Mean number by state."""
    ran: float = 0.0
    """On CPUs, on average."""
    queued: float = 0.0
    """Waiting for a CPU, on average."""
    count: float = 0.0
    throttled: float = 0.0
    """CPUs, on average, on which their control group had used up its quota while threads of it were to run."""

    @property
    def queue_share(self) -> float:
        """Of the time in which they could run."""
        return self.queued / (self.ran + self.queued) if self.ran + self.queued > 0 else 0.0


@dataclass(frozen=True)
class StateSeen:
    """What was seen of a cycle, or of a second of it, all as mean numbers."""

    in_progress: float
    """Transactions."""
    waiting: Mapping[What, float] | None = None
    """Sessions that waited within the server; ``None`` where sessions were not sampled."""
    active: float = 0.0
    """Sessions in a statement that waited for nothing that the server tells."""
    server: Threads | None = None
    client: Threads | None = None
    client_cpu: float = 0.0
    """CPUs that the load's own threads used."""
    network: float = 0.0
    """Round trips on their way."""
    foreign: float = 0.0
    """Share (0-1) of the busy CPU time that neither the run nor its server had."""
    embedded: bool = False


def divide(seen: StateSeen) -> dict[What, float]:
    """The transactions in progress by what they did; the values add up to ``in_progress``."""
    whole = seen.in_progress
    inside = _divide_server(seen)
    counted = {} if seen.embedded else _count_client(seen)
    total = sum(inside.values()) + sum(counted.values())
    if total > whole > 0:  # All are estimates.
        inside, counted = ({what: value * whole / total for what, value in part.items()} for part in (inside, counted))
    outside = {} if seen.embedded else _divide_client(seen, counted, whole - min(total, whole))
    found = _add(inside, outside)
    split = _split_quota(found, QUEUE, seen.client if seen.embedded else seen.server)
    found = _split_foreign(_split_quota(split, CLIENT_QUEUE, seen.client), seen.foreign)
    left = whole - sum(found.values())
    found = _add(found, {What(UNKNOWN): left}) if left > 1e-9 * whole else found
    return {what: value for what, value in found.items() if value > 0}


def _divide_server(seen: StateSeen) -> dict[What, float]:
    threads = seen.client if seen.embedded else seen.server
    if seen.waiting is None:
        if threads is None:
            return {}
        states = _EMBEDDED if seen.embedded else _OF_STATE
        told = _add(*({What(states[state]): value} for state, value in threads.states.items() if state in states))
        running = threads.ran + threads.queued or threads.states.get("running", 0.0)
        return _add(told, _split_cpu(running, threads))
    found = dict(seen.waiting)
    if threads is None:
        return _add(found, {What(CPU): seen.active})
    blocked = _find_untold(seen, threads)
    active = seen.active - sum(blocked.values())
    # A session that got its statement and waits for a CPU has not told yet that it is active; the kernel counts it.
    scheduled = threads.ran + threads.queued
    on_cpu = max(scheduled, min(active, _SPARE * scheduled)) if threads.ran else active
    return _add(found, blocked, _split_cpu(on_cpu, threads))


def _find_untold(seen: StateSeen, threads: Threads) -> dict[What, float]:
    """Of the sessions that wait for nothing which the server tells, those whose threads wait in the kernel."""
    running = threads.ran + threads.queued or threads.states.get("running", 0.0)
    excess = seen.active - running
    states = _EMBEDDED if seen.embedded else _OF_STATE
    told: dict[str, float] = {}
    for what, value in (seen.waiting or {}).items():
        told[what.kind] = told.get(what.kind, 0.0) + value
    found: dict[What, float] = {}
    for state, value in threads.states.items():
        kind = states.get(state)
        # A server waits for its own locks in the same calls: what it tells of them comes first.
        known = told.get(LOCK, 0.0) + told.get(FLUSH, 0.0) if kind == LATCH else 0.0
        if kind is not None and (left := value - told.get(kind, 0.0) - known) > 0:
            found[What(kind)] = found.get(What(kind), 0.0) + left
    total = sum(found.values())
    if excess <= 0 or not total:
        return {}
    return {what: value * min(1.0, excess / total) for what, value in found.items()}


def _split_cpu(running: float, threads: Threads) -> dict[What, float]:
    queued = max(0.0, running) * threads.queue_share
    return {What(CPU): max(0.0, running) - queued, What(QUEUE): queued}


def _count_client(seen: StateSeen) -> dict[What, float]:
    """What lies outside the server: the clients' own time, and messages on the network."""
    threads = seen.client or Threads()
    return {
        What(CLIENT): seen.client_cpu, What(CLIENT_QUEUE): threads.queued, What(NETWORK): seen.network,
        What(CLIENT_TURN): threads.states.get("lock", 0.0),
    }  # fmt: skip


def _divide_client(seen: StateSeen, found: Mapping[What, float], left: float) -> Mapping[What, float]:
    """With what is ``left``: replies that wait for a client thread which is busy with others."""
    threads = seen.client or Threads()
    if seen.waiting is None or not threads.count:
        return found
    # A reply finds its thread running or before a CPU in as much of the time as the thread is.
    busy = min(1.0, threads.ran / threads.count), min(1.0, threads.queued / threads.count)
    return _add(found, {What(CLIENT_TURN): left * busy[0], What(CLIENT_QUEUE): left * min(busy[1], 1 - busy[0])})


def _split_quota(found: Mapping[What, float], queue: str, threads: Threads | None) -> Mapping[What, float]:
    """Of those who wait for a CPU as many as wait for their quota: one at least on each CPU that is denied to them."""
    taken = min(found.get(What(queue), 0.0), threads.throttled if threads else 0.0)
    return _add(found, {What(queue): -taken, What(QUOTA): taken}) if taken > 0 else found


def _split_foreign(found: Mapping[What, float], share: float) -> dict[What, float]:
    """Who waits for a CPU waits for those that have it, by their CPU time."""
    queues = (What(QUEUE), What(CLIENT_QUEUE))
    taken = sum(found.get(what, 0.0) for what in queues) * share
    rest = {what: value * (1 - share) if what in queues else value for what, value in found.items()}
    return _add(rest, {What(FOREIGN): taken}) if taken else rest


def _add(*parts: Mapping[What, float]) -> dict[What, float]:
    found: dict[What, float] = {}
    for part in parts:
        for what, value in part.items():
            found[what] = found.get(what, 0.0) + value
    return found


@dataclass(frozen=True)
class Share:
    """A part of a transaction's time, over the cycles of a scale."""

    kind: str
    wait: str
    on: str
    share: float
    """Of the transaction's time (0-1)."""
    low: float
    """Ends of its interval at 95% over the cycles; nan with one cycle."""
    high: float
    time_ns: float
    """Of one transaction."""


def summarise(cycles: Sequence[Mapping[What, float]], time_ns: float) -> tuple[Share, ...]:
    """Shares over cycles, the largest first; ``time_ns`` is what a transaction took on average."""
    whole = [sum(cycle.values()) or np.nan for cycle in cycles]
    names = dict.fromkeys(what for cycle in cycles for what in cycle)
    found = []
    for what in names:
        values = np.array([cycle.get(what, 0.0) / total for cycle, total in zip(cycles, whole, strict=True)])
        mean, low, high = float(values.mean()), float("nan"), float("nan")
        if len(values) > 1:
            reach = student(0.95, len(values) - 1) * float(values.std(ddof=1)) / len(values) ** 0.5
            low, high = max(0.0, mean - reach), min(1.0, mean + reach)
        found.append(Share(*what, mean, low, high, mean * time_ns))
    return tuple(sorted((one for one in found if one.share > 0), key=lambda one: -one.share))
