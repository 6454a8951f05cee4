"""What a cycle came to: few numbers, by which a run decides what to do next, and a search is judged."""

from __future__ import annotations

from collections.abc import Mapping

from dsbench.dataclass import dataclass
from dsbench.spec.objective import GRADES
from dsbench.stats.histogram import Histogram


@dataclass(frozen=True)
class KindOutcomes:
    """Transactions of one kind in one cycle, of all clients together."""

    committed: int
    rolled_back: int
    failed: int
    """Attempts, those that were made again included."""
    retries: int
    skipped_starts: int
    """Starts that were due and never made."""
    commits_before_window: int = 0
    commits_after_window: int = 0
    """Commits before the measured time, and after it: the database holds them."""
    unknown: int = 0
    """Commits of which nobody knows whether the database holds them."""


@dataclass(frozen=True)
class CycleFigures:
    """What one cycle came to, of all nodes together."""

    scale: int
    stage: str
    clients: int
    """Of each node."""
    cycle: int
    duration_ns: int
    """Of the group that takes longest: demanded, or measured where a count ends it."""
    ramp_up_ns: int
    kinds: Mapping[str, KindOutcomes]
    response: Mapping[str, Histogram]
    """Kind to its response times, under the empty name those of all kinds; empty in the closed loop, unless who read
    the cycles wanted its latencies here."""
    rate_per_s: float | None
    """Demanded starts per second; ``None`` in the closed loop."""
    level: float | None
    """Of a graduated load, per cent of the capacity."""
    paused_ns: int
    """How long what made the load stood still."""
    share: int
    """Transactions of which the clients had even shares; 0 where they had none."""

    @property
    def committed(self) -> int:
        return sum(one.committed for one in self.kinds.values())

    @property
    def held(self) -> int:
        """Transactions that the database holds, those before and after the measured time included."""
        return sum(one.committed + one.commits_before_window + one.commits_after_window for one in self.kinds.values())

    @property
    def rate_tps(self) -> float:
        return self.committed / max(self.duration_ns, 1) * 1e9

    @property
    def searched(self) -> bool:
        """Whether the cycle was a step of a search for a rate, and not a level below what the search found."""
        return bool(self.rate_per_s) and (self.level is None or self.level >= GRADES[0])
