"""What the cycles of a scale have committed: what its check is held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dsbench.cluster.outcome import NodeResult, Part
from dsbench.generator import UNCOUNTED, Counted, CycleResult

Cycle = tuple[int, int]
"""(scale, number)"""


class Counts:
    """Everything that is known to be in the database, whether a rate counts it or not."""

    def __init__(self, kinds: int) -> None:
        """``kinds``: how many kinds of transactions the workload has."""
        self._kinds = kinds
        self._results: list[CycleResult] = []
        self._lost: set[tuple[Cycle, str]] = set()

    def add(self, cycle: Cycle, parts: Sequence[Part]) -> None:
        """The parts of a cycle that has ended."""
        self._results += [part.found.result for part in parts if part.found is not None]
        self._lost |= {(cycle, part.node) for part in parts if part.state == "lost"}

    def settle(self, cycle: Cycle, found: NodeResult) -> None:
        """A part that came late: the rates leave it out, the database does not."""
        if (cycle, found.node) in self._lost:
            self._lost.remove((cycle, found.node))
            self._results.append(found.result)

    def unknown(self) -> Iterator[str]:
        """In words, the nodes of which nobody knows what they committed."""
        for (_scale, cycle), node in sorted(self._lost):
            yield f"node {node} was lost in cycle {cycle}: what it committed there is not known"

    def counted(self) -> Counted:
        """As the check wants it."""
        committed = [0] * self._kinds
        # A node that was lost may have committed any number of each kind.
        unknown = [UNCOUNTED if self._lost else 0] * self._kinds
        sums: Counter[str] = Counter()
        for result in self._results:
            committed = [a + b for a, b in zip(committed, result.committed_in_database(), strict=True)]
            unknown = [a + b for a, b in zip(unknown, result.by_kind("unknown"), strict=True)]
            sums.update(result.sums)
        return committed, unknown, sorted(sums.items())
