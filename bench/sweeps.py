"""Measures several clients in turn, there and back again: A B C C B A A B C …

Whatever drifts on the machine meets all of them alike. Each sweep gives one rate and one CPU time for
each client, and so one ratio for each pair of them; ratios of one sweep are close together in time.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.process import Measured

Client = Callable[[], Measured]


@dataclass(frozen=True)
class Spread:
    """Median of paired ratios with the smallest and the largest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """Of one value for each sweep."""
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


def sweep(clients: Mapping[str, Client], sweeps: int) -> dict[str, list[Measured]]:
    """Measures every client ``sweeps`` times; an even number makes it symmetric in time."""
    found: dict[str, list[Measured]] = {name: [] for name in clients}
    for number in range(sweeps):
        names = list(clients) if number % 2 == 0 else list(clients)[::-1]
        for name in names:
            found[name].append(clients[name]())
    return found


def rates(ours: Sequence[Measured], theirs: Sequence[Measured]) -> Spread:
    """Rate of ours by rate of theirs: above 1 we are faster."""
    return Spread.of([a.rate_tps / b.rate_tps for a, b in zip(ours, theirs, strict=True)])


def costs(ours: Sequence[Measured], theirs: Sequence[Measured]) -> Spread:
    """CPU time per transaction of our client by that of theirs: below 1 ours costs less. Where starting and connecting
    took so much that nothing is left for the load the pair tells nothing; nan where none does."""
    told = [(a.cpu_us, b.cpu_us) for a, b in zip(ours, theirs, strict=True) if b.cpu_us > 0]
    return Spread.of([a / b for a, b in told] or [math.nan])
