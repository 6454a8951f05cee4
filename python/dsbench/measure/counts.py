"""What the cycles of a scale have committed: what its check is held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dsbench.archive import Archive
from dsbench.archive.record import Segment
from dsbench.measure.loaders import IN_DATABASE, UNCOUNTED, Counted, CycleResult
from dsbench.measure.loaders.parts import NodeResult, Part

Cycle = tuple[int, int]
"""(scale, number)"""

UNTOLD = ("partial", "lost")
"""States of a node's part in a cycle that has no rows in the table ``cycles`` and left something in the database."""


class Counts:
    """Everything that is known to be in the database, whether a rate counts it or not."""

    def __init__(self, kinds: int, before: Counted | None = None) -> None:
        """``kinds``: how many kinds of transactions the workload has; ``before``: what earlier runs did."""
        committed, unknown, sums = before or ([0] * kinds, [0] * kinds, [])
        self._committed, self._unknown = list(committed), list(unknown)
        self._sums: Counter[str] = Counter(dict(sums))
        self._lost: set[tuple[Cycle, str]] = set()

    @classmethod
    def of(cls, archive: Path, kinds: Sequence[str], segment: Segment) -> Counts:
        """What the cycles of ``segment``, which was the last one, have committed as the archive tells."""
        found, opened = cls(len(kinds)), Archive.open(archive)
        scale, first = segment.scale, segment.first_cycle
        rows = {
            table: [row for row in opened.table(table).to_pylist() if row["scale"] == scale and row["cycle"] >= first]
            for table in ("cycles", "sums", "nodes")
        }
        for row in rows["cycles"]:
            kind = kinds.index(row["kind"])
            found._committed[kind] += sum(row[name] for name in IN_DATABASE)
            found._unknown[kind] += row["unknown"]
        for row in rows["sums"]:
            found._sums[row["name"]] += row["value"]
        # Of a part that is not counted the archive does not tell what it committed.
        found._lost = {((scale, row["cycle"]), row["node"]) for row in rows["nodes"] if row["state"] in UNTOLD}
        return found

    def add(self, cycle: Cycle, parts: Sequence[Part]) -> None:
        """The parts of a cycle that has ended."""
        for part in parts:
            if part.found is not None:
                self._take(part.found.result)
        self._lost |= {(cycle, part.node) for part in parts if part.state == "lost"}

    def settle(self, cycle: Cycle, found: NodeResult) -> None:
        """A part that came late: the rates leave it out, the database does not."""
        if (cycle, found.node) in self._lost:
            self._lost.remove((cycle, found.node))
            self._take(found.result)

    def _take(self, result: CycleResult) -> None:
        self._committed = [a + b for a, b in zip(self._committed, result.committed_in_database(), strict=True)]
        self._unknown = [a + b for a, b in zip(self._unknown, result.by_kind("unknown"), strict=True)]
        self._sums.update(result.sums)

    def unknown(self) -> Iterator[str]:
        """In words, the nodes of which nobody knows what they committed."""
        for (_scale, cycle), node in sorted(self._lost):
            yield f"node {node} was lost in cycle {cycle}: what it committed there is not known"

    def counted(self) -> Counted:
        """As the check wants it."""
        # A node that was lost may have committed any number of each kind.
        unknown = [n + (UNCOUNTED if self._lost else 0) for n in self._unknown]
        return self._committed, unknown, sorted(self._sums.items())
