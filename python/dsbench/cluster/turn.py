"""One turn of the nodes, a cycle or their preparation: who was asked, is ready, is armed, has given its result.

Values and rules only; ``coordinator`` keeps one turn at a time and feeds it with what the nodes say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dsbench.cluster.clock import Estimate
from dsbench.cluster.outcome import MISSED


@dataclass
class Turn:
    """What is asked of whom, and how far they are. Nodes are known by the names in their certificates."""

    key: str
    orders: Mapping[str, Mapping[str, Any]]
    ready: dict[str, Estimate] = field(default_factory=dict)
    """Whose clients are connected, and how their clocks differ."""
    start_ns: int | None = None
    """The common start, by the coordinator's clock."""
    decided: bool = False
    """No node is armed any more: those that are not sit the cycle out."""
    armed: dict[str, int] = field(default_factory=dict)
    """Who waits for the start: nanoseconds that were left when the node said so."""
    results: dict[str, bytes] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """Who was asked and gives no result in time: why."""
    stop: str = ""
    """Why the turn was ended before its time; empty while it goes on."""

    def open_for(self, member: str) -> bool:
        """Whether something is still expected of the node."""
        return member in self.orders and member not in self.results and member not in self.missing and not self.stop

    @property
    def waiting(self) -> list[str]:
        """Nodes that have not given their result."""
        return [member for member in self.orders if self.open_for(member)]

    @property
    def connecting(self) -> list[str]:
        """Nodes whose clients are not connected yet."""
        return [member for member in self.waiting if member not in self.ready]

    def arm(self, member: str, left_ns: int) -> bool:
        """The node wants to wait for the start; False when it is too late for that."""
        if self.decided or self.start_ns is None or not self.open_for(member):
            return False
        self.armed[member] = left_ns
        return True

    def decide(self) -> None:
        """Closes the list of those who start."""
        self.decided = True
        for member in self.waiting:
            if member not in self.armed:
                self.lose(member, MISSED)

    def deliver(self, member: str, data: bytes) -> bool:
        """A node's result; False when it comes too late to count. A second delivery changes nothing."""
        if member in self.results:
            return True
        if not self.open_for(member):
            return False
        self.results[member] = data
        return True

    def lose(self, member: str, why: str) -> None:
        """The node does not take part any more."""
        if self.open_for(member):
            self.missing[member] = why
