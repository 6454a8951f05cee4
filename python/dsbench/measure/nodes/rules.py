"""The rules between a run and its nodes, without a network: clocks, leases, leads."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.loaders import now_ns

BEATS: Final = 12  # Beats per lease: one may be late or lost without any consequence
PINGS: Final = 15  # Before a cycle, whose start depends on it
FEW: Final = 5  # After a cycle, to see a drift
BASE_NS: Final = 150_000_000
PER_NODE_NS: Final = 11_000_000
ERRORS: Final = 40  # Largest errors of a clock: who answers slowly hears of the start slowly
_LONGER: Final = 3
_LONGEST: Final = 81


@dataclass(frozen=True)
class TimeEstimate:
    """The offset of two monotonic clocks."""

    offset_ns: int  # The coordinator's clock minus the node's at the same instant
    error_ns: int
    """Half of the shortest round trip: the true offset is within ± this, however uneven the ways there and back."""

    def there(self, here_ns: int) -> int:
        """A point of the coordinator's clock on the node's."""
        return here_ns - self.offset_ns


async def estimate(ask: Callable[[], Awaitable[int]], pings: int, clock: Callable[[], int] = now_ns) -> TimeEstimate:
    """Asks a node for its clock ``pings`` times; the shortest round trip counts."""
    found = []
    for _ in range(pings):
        sent = clock()
        theirs = await ask()
        received = clock()
        found.append(TimeEstimate((sent + received) // 2 - theirs, (received - sent + 1) // 2))
    return min(found, key=lambda one: one.error_ns)


def awake_or_asleep_s() -> float:
    """Seconds of a clock that never goes back and, where the system has one, goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


class Lease:
    """How long a node may go on without word from the coordinator.

    The node counts from when it *sent* an answer that was heard, the coordinator from when it *received* it: a node has
    stopped its load before the coordinator goes on without it.
    """

    def __init__(self, length_s: float, clock: Callable[[], float] = awake_or_asleep_s) -> None:
        self.length_s, self.clock = length_s, clock
        self._until = clock() + length_s

    def renew(self, sent_s: float) -> None:
        """An answer that was sent at ``sent_s`` has been heard."""
        self._until = max(self._until, sent_s + self.length_s)

    @property
    def expired(self) -> bool:
        """Whether it has run out."""
        return self.clock() >= self._until


class Lead:
    """How long before a common start nodes must know of it: longer when one was not ready for the last."""

    def __init__(self, nodes: int) -> None:
        self._nodes, self._factor = nodes, 1

    def ns(self, errors_ns: Iterable[int]) -> int:
        """Nanoseconds for nodes whose clocks are known within ``errors_ns``."""
        return (BASE_NS + PER_NODE_NS * self._nodes) * self._factor + ERRORS * max(errors_ns, default=0)

    def learn(self, *, missed: bool) -> None:
        """Whether a node was not ready for the last start."""
        self._factor = min(_LONGER * self._factor, _LONGEST) if missed else max(1, self._factor // _LONGER)
