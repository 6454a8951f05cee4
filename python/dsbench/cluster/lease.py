"""How long a node may go on without word from the coordinator.

Both sides count the same time, the node from when it *sent* the beat that was answered, the coordinator from when
it *received* it. So a node's lease is over before the coordinator gives the node up: when the coordinator goes on
without a node, that node has stopped loading the database.

A node whose machine sleeps counts on: the coordinator gives it up meanwhile, and it must know that when it wakes up.
When the coordinator's machine sleeps, its own clock stands still and it gives nodes up later, which harms nobody.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Final

BEATS: Final = 12
"""Beats per lease: one may be late or lost without any consequence."""


def awake_or_asleep_s() -> float:
    """Seconds of a clock that never goes back and, where the system has one, goes on while the machine sleeps."""
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Lease:
    """A permission that runs out unless it is renewed."""

    def __init__(self, length_s: float, clock: Callable[[], float] = awake_or_asleep_s) -> None:
        self.length_s = length_s
        self._clock = clock
        self._until = clock() + length_s

    @property
    def beat_s(self) -> float:
        """Seconds between two beats."""
        return self.length_s / BEATS

    def now_s(self) -> float:
        """What its clock says: a beat is sent at this time."""
        return self._clock()

    def renew(self, sent_s: float) -> None:
        """A beat that was sent at ``sent_s`` has been answered."""
        self._until = max(self._until, sent_s + self.length_s)

    @property
    def expired(self) -> bool:
        """Whether it has run out."""
        return self._clock() >= self._until
