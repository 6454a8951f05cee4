"""What of the CPU time goes into waking another CPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Final

from dsbench.read.stats.resources import CLIENT_CPU, RESCHEDULING, SERVER_CPU
from dsbench.read.stats.values import Resource

WAKE_UP_US: Final = 46.0
"""CPU time of client and server per rescheduling interrupt, in µs.

Source: selects by a key on PostgreSQL 15 over a unix socket, on a virtual machine with two CPUs (Intel Xeon, Linux
6.18). Over 117 short runs of several clients, in part on a busy machine, CPU time per select was 22 µs + 46 µs for each
rescheduling interrupt (r² = 0.96).

Doubt: one machine, one transaction, and a fit, which does not prove a cause. In a virtual machine such an interrupt
leaves the guest; without one it costs less. A CPU that sleeps is woken by a function call interrupt or by none, which
this figure knows nothing of.
"""
DOMINATES: Final = 0.5
"""Share of the CPU time beyond which more goes into wake-ups, by that figure, than into everything else."""


@dataclass(frozen=True)
class Waking:
    """What rescheduling interrupts may cost at one scale."""

    interrupts: float
    """Per transaction, of the run's own."""
    cpu_us: float
    """CPU time of client and server per transaction."""

    @property
    def share(self) -> float:
        """Of the CPU time (0-1), by ``WAKE_UP_US``."""
        return self.interrupts * WAKE_UP_US / self.cpu_us

    @property
    def words(self) -> str:
        """For people."""
        return (
            f"wake-ups may dominate: {self.interrupts:.2f} rescheduling interrupts per transaction woke client and "
            f"server; at the {WAKE_UP_US:.0f} µs that one went with in selects on a virtual machine with 2 CPUs they "
            f"are {self.share:.0%} of the {self.cpu_us:.0f} µs of CPU time of client and server. On which CPUs these "
            "run then shapes the rate"
        )


def waking(resources: Iterable[Resource]) -> Waking | None:
    """Wake-ups where they dominate; ``None`` where they do not, or client and server do not share a machine that tells.

    Interrupts are counted for the whole machine. A thread of client or server that was woken had waited before, so that
    no more of them are the run's than such threads gave up their CPU: the rest is other programs'. Where they would
    cost more than all the CPU time there was, the figure of the experiment does not fit this machine, and nothing is
    said.
    """
    known = {one.name: one.per_transaction for one in resources}
    of_client, of_server = (known.get(name, float("nan")) for name in (CLIENT_CPU, SERVER_CPU))
    waited = sum(known.get(f"{side} switches, voluntary", float("nan")) for side in ("client", "server"))
    figures = (known.get(RESCHEDULING, float("nan")), of_client, of_server, waited)
    if not all(isfinite(figure) for figure in figures) or of_client + of_server <= 0:
        return None
    found = Waking(min(figures[0], waited), of_client + of_server)
    return found if DOMINATES < found.share <= 1 else None
