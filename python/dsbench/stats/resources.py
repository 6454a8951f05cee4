"""What one transaction cost: cumulative counters of the monitors, as differences over the cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.values import Floats, Ints, Resource

Scope = Literal["system", "device", "network", "client", "server"]

US_PER_S, PER_KB = 1e6, 1e-3
"""Factors into the units of display; a KB is 1000 bytes, as a GB of the results table is 10^9."""


@dataclass(frozen=True)
class ShownCounters:
    """How counters are shown: name and unit, and the counters of a monitor that add up to it."""

    name: str
    unit: str
    factor: float
    scope: Scope
    monitor: str
    metrics: tuple[str, ...]


ENERGY, ENERGY_OF_CPUS = "energy", "energy of CPUs and memory"
"""By a meter, and by the CPUs' own counters."""
CLIENT_CPU, SERVER_CPU = "client CPU time", "server CPU time"
RESCHEDULING = "rescheduling interrupts"
SWITCHES, CALLS, TRANSFERS = "context switches", "system calls", "transfers of "
"""The latter is the beginning of a name: the device follows."""


def _tasks(scope: Literal["client", "server"]) -> tuple[ShownCounters, ...]:
    """How the kernel ran the threads of one side."""
    monitor = f"{scope}_tasks"
    return (
        ShownCounters(f"{scope} waits for a CPU", "µs", US_PER_S, scope, monitor, ("queued",)),
        ShownCounters(f"{scope} switches, voluntary", "switches", 1, scope, monitor, ("voluntary_switches",)),
        ShownCounters(f"{scope} switches, involuntary", "switches", 1, scope, monitor, ("involuntary_switches",)),
        ShownCounters(f"{scope} moves between CPUs", "migrations", 1, scope, monitor, ("migrations",)),
    )


SHOWN: tuple[ShownCounters, ...] = (
    ShownCounters("CPU time, user", "µs", US_PER_S, "system", "os", ("cpu_user",)),
    ShownCounters("CPU time, system", "µs", US_PER_S, "system", "os", ("cpu_system",)),
    ShownCounters("CPU waiting for I/O", "µs", US_PER_S, "system", "os", ("cpu_iowait",)),
    ShownCounters("CPU idle", "µs", US_PER_S, "system", "os", ("cpu_idle",)),
    ShownCounters("CPU stolen by the host", "µs", US_PER_S, "system", "os", ("cpu_steal",)),
    ShownCounters(ENERGY, "J", 1, "system", "meter", ("energy",)),
    ShownCounters(ENERGY_OF_CPUS, "J", 1, "system", "rapl", ("energy",)),
    ShownCounters(SWITCHES, "switches", 1, "system", "os", ("context_switches",)),
    ShownCounters(CALLS, "calls", 1, "system", "calls", ("system_calls",)),
    ShownCounters(RESCHEDULING, "interrupts", 1, "system", "interrupts", ("rescheduling_interrupts",)),
    ShownCounters("function call interrupts", "interrupts", 1, "system", "interrupts", ("function_call_interrupts",)),
    ShownCounters("disk reads", "operations", 1, "device", "device", ("reads",)),
    ShownCounters("disk writes", "operations", 1, "device", "device", ("writes",)),
    ShownCounters("read from disk", "KB", PER_KB, "device", "device", ("read_bytes",)),
    ShownCounters("written to disk", "KB", PER_KB, "device", "device", ("write_bytes",)),
    ShownCounters("disk read time", "µs", US_PER_S, "device", "device", ("read_time",)),
    ShownCounters("disk write time", "µs", US_PER_S, "device", "device", ("write_time",)),
    ShownCounters("disk busy", "µs", US_PER_S, "device", "device", ("busy_time",)),
    ShownCounters("network sent", "bytes", 1, "network", "network", ("sent_bytes",)),
    ShownCounters("network received", "bytes", 1, "network", "network", ("received_bytes",)),
    ShownCounters("loopback sent", "bytes", 1, "network", "network", ("loopback_sent_bytes",)),
    ShownCounters("loopback received", "bytes", 1, "network", "network", ("loopback_received_bytes",)),
    ShownCounters("network sent by the nodes", "bytes", 1, "network", "nodes", ("sent_bytes",)),
    ShownCounters("network received by the nodes", "bytes", 1, "network", "nodes", ("received_bytes",)),
    ShownCounters("loopback sent by the nodes", "bytes", 1, "network", "nodes", ("loopback_sent_bytes",)),
    ShownCounters("loopback received by the nodes", "bytes", 1, "network", "nodes", ("loopback_received_bytes",)),
    ShownCounters(CLIENT_CPU, "µs", US_PER_S, "client", "client", ("cpu_user", "cpu_system")),
    *_tasks("client"),
    ShownCounters(SERVER_CPU, "µs", US_PER_S, "server", "server_tasks", ("cpu",)),
    *_tasks("server"),
    ShownCounters("blocks hit", "blocks", 1, "server", "server", ("blocks_hit",)),
    ShownCounters("blocks read", "blocks", 1, "server", "server", ("blocks_read",)),
    ShownCounters("page fetches", "pages", 1, "server", "server", ("page_fetches",)),
    ShownCounters("page reads", "pages", 1, "server", "server", ("page_reads",)),
    ShownCounters("page marks", "pages", 1, "server", "server", ("page_marks",)),
    ShownCounters("page writes", "pages", 1, "server", "server", ("page_writes",)),
    ShownCounters("WAL", "bytes", 1, "server", "server", ("wal_bytes",)),
    ShownCounters("temporary files", "bytes", 1, "server", "server", ("temp_bytes",)),
)
"""The counters with names of their own, in the order of display; others follow under their own names."""


@dataclass(frozen=True)
class Counter:
    """What one cumulative counter gained in one cycle on one node."""

    monitor: str
    metric: str
    unit: str
    """Ends in " total"."""
    cycle: int
    gain: float
    """nan when the counter was reset."""
    span_s: float
    """Time between the two samples."""
    covered: float = 1.0
    """Time with load that lies between them, by the cycle's duration: above 1 where a ramp-up is in it."""


class Gains(NamedTuple):
    """What counters gained in a cycle; arrays of one length."""

    series: Ints
    gain: Floats
    span_s: Floats
    """Time between the two samples."""
    covered: Floats
    """Time with load that lies between them, by the cycle's duration: above 1 where a ramp-up is in it."""


def gains(series: Ints, at_ns: Ints, values: Floats, duration_ns: int | Ints, ramp_up_ns: int | Ints = 0) -> Gains:
    """What many counters gained, at once.

    ``series`` numbers the counter that each sample belongs to; samples may come in any order. The duration D, and how
    long there was load before it, are the same for all of them or, as arrays, those of each one's cycle. A gain runs
    from the last sample at or before the start (at_ns <= 0) to the first at or after the end (at_ns >= D); where one of
    them is missing, from the first or to the last sample there is. A counter that falls between them by more than
    half, or ends lower than it began, was reset: nan.
    A series with a single sample gains nan.
    """
    order = np.lexsort((at_ns, series))
    duration_ns = np.broadcast_to(duration_ns, at_ns.shape)[order]
    ramp_up_ns = np.broadcast_to(ramp_up_ns, at_ns.shape)[order]
    series, at_ns, values = series[order], at_ns[order], values[order]
    names, first, sizes = np.unique(series, return_index=True, return_counts=True)
    last = first + sizes - 1
    place = np.arange(series.size)
    slot = np.repeat(np.arange(names.size), sizes)
    before, after = at_ns <= 0, at_ns >= duration_ns
    np.maximum.at(first, slot[before], place[before])
    np.minimum.at(last, slot[after], place[after])
    gain = values[last] - values[first]
    inside = (place[1:] > first[slot[1:]]) & (place[1:] <= last[slot[1:]])
    fell = np.flatnonzero(inside & (values[1:] < values[:-1] / 2)) + 1
    gain[slot[fell]] = np.nan
    gain[(gain < 0) | (last <= first)] = np.nan
    length = np.maximum(duration_ns[first], 1)
    loaded = np.minimum(at_ns[last], length) - np.maximum(at_ns[first], -ramp_up_ns[first])
    return Gains(names, gain, (at_ns[last] - at_ns[first]) / 1e9, np.maximum(loaded / length, 0))


def costs(counters: Iterable[Counter], committed: Mapping[int, int]) -> tuple[Resource, ...]:
    """What a transaction cost at one scale; ``committed`` gives the counted transactions by cycle.

    The gains of a cycle's nodes are added. Samples that have more or less of the load between them than the cycle, as
    those within it or in its ramp-up, stand for as many of its transactions as they have of its time. A cycle in which
    a counter is missing or was reset is left out of that counter's figures, with its transactions and its time. Without
    any cycle the figures are nan, as is the figure per transaction when there was none.
    """
    known: dict[tuple[str, str], list[Counter]] = {}
    for counter in counters:
        known.setdefault((counter.monitor, counter.metric), []).append(counter)
    result = []
    for shown in SHOWN:
        parts = [known.pop((shown.monitor, metric), []) for metric in shown.metrics]
        if all(parts):
            result.append(_cost(shown, parts, committed))
    result.extend(_cost(_plain(rows[0]), [rows], committed) for _, rows in sorted(known.items()))
    return tuple(result)


def _plain(counter: Counter) -> ShownCounters:
    scopes: dict[str, Scope] = {
        "os": "system", "interrupts": "system", "rapl": "system", "device": "device", "disks": "device",
        "network": "network", "client": "client", "client_tasks": "client",
    }  # fmt: skip
    unit, factor = counter.unit.removesuffix(" total"), 1.0
    if unit == "s":
        unit, factor = "µs", US_PER_S
    scope = scopes.get(counter.monitor, "server")
    return ShownCounters(counter.metric.replace("_", " "), unit, factor, scope, counter.monitor, (counter.metric,))


def _cost(shown: ShownCounters, parts: Sequence[Sequence[Counter]], committed: Mapping[int, int]) -> Resource:
    gain, span_s, count = 0.0, 0.0, 0.0
    for cycle in sorted(committed):
        rows = [[row for row in part if row.cycle == cycle] for part in parts]
        total = sum(row.gain for part in rows for row in part)
        if not all(rows) or np.isnan(total):
            continue
        gain += total * shown.factor
        span_s += max(row.span_s for part in rows for row in part)
        count += committed[cycle] * min(row.covered for part in rows for row in part)
    return Resource(
        shown.name,
        shown.unit,
        gain / count if count else np.nan,
        gain / span_s if span_s > 0 else np.nan,
        shown.scope,
    )
