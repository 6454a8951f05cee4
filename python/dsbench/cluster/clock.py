"""How far the clock of a node is from the coordinator's: round trips, of which the shortest counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from dsbench.generator import now_ns

PINGS: Final = 15
"""Before a cycle, whose start depends on it."""
FEW: Final = 5
"""After a cycle, to see a drift."""


@dataclass(frozen=True)
class Estimate:
    """The offset of two monotonic clocks."""

    offset_ns: int
    """The coordinator's clock minus the node's at the same instant."""
    error_ns: int
    """Half of the shortest round trip: the true offset is within ± this, however uneven the ways there and back."""

    def here(self, coordinator_ns: int) -> int:
        """A point of the coordinator's clock on the node's own."""
        return coordinator_ns - self.offset_ns


async def estimate(
    ask: Callable[[], Awaitable[int]], clock: Callable[[], int] = now_ns, pings: int = PINGS
) -> Estimate:
    """Asks for the coordinator's clock ``pings`` times; ``ask`` gives its nanoseconds."""
    found = []
    for _ in range(pings):
        sent = clock()
        theirs = await ask()
        received = clock()
        found.append(Estimate(theirs - (sent + received) // 2, (received - sent + 1) // 2))
    return min(found, key=lambda one: one.error_ns)
