"""A thousand connections: the rate against pgbench, and what each connection costs in memory."""

from __future__ import annotations

from dataclasses import dataclass

from bench import pgbench
from bench.load import Cycle, observe
from bench.place import UNIX, Place
from bench.process import Measured
from bench.sweeps import Spread, costs, rates, sweep

THREADS_OF_PGBENCH = 2


@dataclass(frozen=True)
class Many:
    """What came of it."""

    clients: int
    rate: Spread
    cost: Spread
    ours_tps: float
    theirs_tps: float
    connected_kib: float
    """Growth of dsbench's resident size by connecting, per connection."""
    running_kib: float
    """The same at the end of the cycle, histograms and statements included."""


def measure(place: Place, clients: int, duration: float, sweeps: int) -> Many:
    """Runs the prepared select with ``clients`` connections by dsbench and pgbench in turn."""
    grown: list[tuple[float, float]] = []

    def ours() -> Measured:
        found, memory = observe(Cycle(place.url(UNIX), "select", clients, duration, place.scale, "statements"))
        per = clients * 1024
        grown.append(((memory.connected - memory.before) / per, (memory.after - memory.before) / per))
        return found

    def theirs() -> Measured:
        return pgbench.measure(place, UNIX, "select", "prepared", clients, THREADS_OF_PGBENCH, duration)

    found = sweep({"ours": ours, "theirs": theirs}, sweeps)
    a, b = found["ours"], found["theirs"]
    return Many(
        clients,
        rates(a, b),
        costs(a, b),
        Spread.of([m.rate_tps for m in a]).median,
        Spread.of([m.rate_tps for m in b]).median,
        max(connected for connected, _ in grown),
        max(running for _, running in grown),
    )
