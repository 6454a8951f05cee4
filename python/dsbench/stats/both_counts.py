"""The server's own count of transactions beside the clients', in both directions."""

from __future__ import annotations

from typing import Final

from dsbench.dataclass import dataclass

FOREIGN: Final = 0.05
"""Share of a cycle's transactions beyond which others that the server counted are told."""
SEEN: Final = 0.75
"""Share of a cycle's transactions that the server has counted at least when it ends: the last ones may come late."""
ENOUGH: Final = 100
"""Transactions of a cycle below which its counts are not compared."""


@dataclass(frozen=True)
class BothCounts:
    """One cycle by both counts."""

    cycle: int
    ended: int
    """By the clients: done, failed and in flight, with what they did around the cycle."""
    server: int
    """By the server."""
    own: int
    """At most so many of these are dsbench's own looks at the server."""
    seconds: float
    """How long the cycle was."""

    @property
    def foreign(self) -> int:
        """Transactions of somebody else; 0 where they are few, or may be dsbench's own."""
        more = self.server - self.ended - self.own
        return more if self.ended >= ENOUGH and more > FOREIGN * self.ended else 0

    @property
    def lacking(self) -> int:
        """Transactions that the server did not count; 0 where it may count them yet, as it does within a second."""
        few = self.ended >= ENOUGH and self.seconds >= 2 and self.server < SEEN * self.ended
        return self.ended - self.server if few else 0
