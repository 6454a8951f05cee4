"""What became of a cycle: what clients recorded, merged wherever they ran, and how it went on each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dsbench.archive.columns import COUNTERS
from dsbench.dataclass import dataclass
from dsbench.measure.loaders.core import CoreError
from dsbench.stats.machine import Used
from dsbench.stats.values import known

TRACE_WORDS: Final = 5
"""64-bit words of a transaction in a trace file: started, ended, intended (signed, ns), client, and in one
word retries (32 bits), kind (8), outcome (8)."""

SECOND_WORDS: Final = 12
"""Columns of ``CycleResult.seconds``."""

BUCKET_WORDS: Final = 3
"""Columns of a histogram."""

PAUSE_WORDS: Final = 4
"""Columns of ``CycleResult.pauses``."""
OPEN: Final = 2**64 - 1
"""A time of a pause that there is none of."""

IN_DATABASE: Final = ("committed", "commits_before_window", "commits_after_window")
"""Counters of transactions that the database holds, those that ended before and after the duration included."""

UInts = NDArray[np.uint64]

MISSED: Final = "it was not ready in time for the common start"
"""Why a node that is well takes no part in a cycle."""


@dataclass(frozen=True)
class CycleResult:
    """What one cycle left on this node."""

    counters: UInts
    """Shape (clients, kinds, counters): those of ``COUNTERS``."""
    groups: UInts
    """Shape (clients,): number of the group of each client."""
    histograms: tuple[tuple[int, int, str, UInts], ...]
    """(group, kind, "residence" | "response" | "failed", array of shape (buckets, 3): low_ns, high_ns, count)."""
    seconds: UInts
    """Shape (rows, 12): group, second, kind, and the columns of the table ``seconds`` from ``count`` on."""
    errors: tuple[tuple[int, int, str, str, int, str], ...]
    """(group, kind of transaction, kind of error, native code, count, example)."""
    sums: Mapping[str, int]
    failure: CoreError | None
    """What ended the cycle early."""
    placements: tuple[tuple[int, str, int], ...] = ()
    """(group, how they were placed in words, clients)."""
    served: tuple[tuple[int, str, int], ...] = ()
    """(group, server, committed transactions), where sessions may be of several servers."""
    cpu_ns: tuple[int, int] = (0, 0)
    """CPU time of all clients' clients: (user, system). The sum is exact, the kernel may only estimate its parts."""
    trace: Path | None = None
    """File of the trace, 40 bytes a transaction (see ``TRACE_WORDS``); ``None`` without a trace."""
    statements: tuple[tuple[int, int, int, int, int, int, int, UInts], ...] = ()
    """(group, statement, failed, retried, sum, least and greatest time in ns, buckets as those of ``histograms``)."""
    found: tuple[tuple[int, int, int, int, int], ...] = ()
    """(group, statement, executions, rows, executions without a row) of statements of scripts."""
    dropped_trace_rows: int = 0
    """Transactions that are missing in it, because it could not be written as fast as they came."""
    untold: tuple[str, ...] = ()
    """Counters of which another client says nothing; 0 in ``counters``."""
    pauses: UInts = field(default_factory=lambda: np.zeros((0, PAUSE_WORDS), "<u8"))
    """Shape (rows, 4): number of the client as in ``counters``; from when after the start, in ns, it did no
    transaction, since when it wanted to, and to when; ``OPEN`` where it wanted none, and did none any more. The longest
    of each client and its last one, where they are kept."""

    def total(self, counter: str) -> int:
        """Sum of one counter over clients and kinds."""
        return sum(self.by_kind(counter))

    def by_kind(self, *counters: str) -> list[int]:
        """Per kind: sum of these counters over clients."""
        columns = [COUNTERS.index(name) for name in counters]
        return [int(n) for n in self.counters[:, :, columns].sum(axis=(0, 2))]

    def duration_ns(self, group: int) -> int:
        """First start to last counted end of a group's transactions."""
        first, last = COUNTERS.index("first_start_ns"), COUNTERS.index("last_end_ns")
        rows = self.counters[self.groups == group].reshape(-1, len(COUNTERS))
        some = rows[rows[:, last] > 0]
        return int(some[:, last].max() - some[:, first].min()) if len(some) else 0

    @property
    def longest_in_flight_ns(self) -> int:
        """Whole time of the longest transaction that was in flight at the end; 0 without one."""
        return int(self.counters[:, :, COUNTERS.index("in_flight_max_ns")].max(initial=0))

    def quantile_ns(self, quantile: float) -> float:
        """Of the response times of all transactions, or of their residence times where these are not apart, to the
        middle of a bucket; nan where too few transactions tell it."""
        measured = {measure for *_, measure, _ in self.histograms}
        which = "response" if "response" in measured else "residence"
        buckets = [data for _, _, measure, data in self.histograms if measure == which]
        rows = np.concatenate([np.zeros((0, BUCKET_WORDS), "<u8"), *buckets])
        rows = rows[np.argsort(rows[:, 0])]
        counts = np.cumsum(rows[:, 2])
        if not len(rows) or not known(quantile, int(counts[-1])):
            return float("nan")
        low, high, _ = rows[np.searchsorted(counts, quantile * counts[-1])]
        return (float(low) + float(high)) / 2

    def committed_in_database(self) -> list[int]:
        """Per kind: transactions the database holds, see ``IN_DATABASE``."""
        return self.by_kind(*IN_DATABASE)


def read_result(raw: Mapping[str, Any], kinds: int, trace: Path | None = None) -> CycleResult:
    """What ``_core.Cycle.join`` gives, of clients with so many kinds of transactions."""
    failure = raw["failure"]
    return CycleResult(
        counters=_words(raw["counters"], kinds * len(COUNTERS)).reshape(-1, kinds, len(COUNTERS)),
        groups=_words(raw["groups"], 1).reshape(-1),
        histograms=tuple((*key, _words(data, BUCKET_WORDS)) for *key, data in raw["histograms"]),
        seconds=_words(raw["seconds"], SECOND_WORDS),
        statements=tuple((*key, _words(data, BUCKET_WORDS)) for *key, data in raw["statements"]),
        errors=tuple(raw["errors"]),
        found=tuple(raw.get("found", ())),
        sums=raw["sums"],
        placements=tuple(raw["placements"]),
        served=tuple(raw.get("served", ())),
        failure=CoreError(*failure) if failure else None,
        cpu_ns=raw["cpu_ns"],
        trace=trace,
        dropped_trace_rows=raw["dropped_trace_rows"],
        untold=tuple(raw.get("untold", ())),
        pauses=_words(raw.get("pauses", b""), PAUSE_WORDS),
    )


def merge_results(results: Sequence[CycleResult]) -> CycleResult:
    """What several parts of the clients recorded, as one: those of processes, or of nodes.

    The quantiles of a second, the times of a statement and the file of a trace stay those of each part.
    """
    first = results[0]
    if len(results) == 1:
        return first
    errors: dict[tuple[Any, ...], tuple[int, str]] = {}
    placements: Counter[tuple[int, str]] = Counter()
    served: Counter[tuple[int, str]] = Counter()
    sums: Counter[str] = Counter()
    found: dict[tuple[int, int], tuple[int, int, int]] = {}
    for result in results:
        for group, statement, executions, rows, empty in result.found:
            before_these = found.get((group, statement), (0, 0, 0))
            found[group, statement] = (
                before_these[0] + executions, before_these[1] + rows, before_these[2] + empty
            )  # fmt: skip
        for *key, count, example in result.errors:
            before = errors.get(tuple(key), (0, ""))
            errors[tuple(key)] = (before[0] + count, before[1] or example)
        for group, words, clients in result.placements:
            placements[group, words] += clients
        for group, server, commits in result.served:
            served[group, server] += commits
        sums.update(result.sums)
    user_ns, system_ns = zip(*(result.cpu_ns for result in results), strict=True)
    return CycleResult(
        counters=np.concatenate([result.counters for result in results]),
        groups=np.concatenate([result.groups for result in results]),
        histograms=_add_histograms(row for result in results for row in result.histograms),
        seconds=np.concatenate([result.seconds for result in results]),
        statements=tuple(row for result in results for row in result.statements),
        errors=tuple((*key, *value) for key, value in errors.items()),
        found=tuple((*key, *counts) for key, counts in found.items()),
        sums=sums,
        placements=tuple((*key, clients) for key, clients in placements.items()),
        served=tuple((*key, commits) for key, commits in served.items()),
        failure=next((result.failure for result in results if result.failure), None),
        cpu_ns=(sum(user_ns), sum(system_ns)),
        trace=None,
        dropped_trace_rows=sum(result.dropped_trace_rows for result in results),
        untold=first.untold,
        pauses=_add_pauses(results),
    )


def _add_histograms(rows: Iterable[tuple[int, int, str, UInts]]) -> tuple[tuple[int, int, str, UInts], ...]:
    """Buckets added up by group, kind and measure."""
    buckets: dict[tuple[int, int, str], Counter[tuple[int, int]]] = {}
    for group, kind, measure, data in rows:
        counts = buckets.setdefault((group, kind, measure), Counter())
        for low, high, count in data.tolist():
            counts[low, high] += count
    return tuple(
        (*key, np.array(sorted((*ends, count) for ends, count in counts.items()), "<u8").reshape(-1, BUCKET_WORDS))
        for key, counts in buckets.items()
    )


def _add_pauses(results: Sequence[CycleResult]) -> UInts:
    """Clients are numbered on."""
    parts, first = [], 0
    for result in results:
        parts.append(result.pauses + np.array([first, 0, 0, 0], "<u8"))
        first += len(result.counters)
    return np.concatenate(parts)


def _words(data: bytes, width: int) -> UInts:
    return np.frombuffer(data, dtype="<u8").reshape(-1, width)


@dataclass(frozen=True)
class NodeCourse:
    """How the cycle went on the node. Times in ns; offsets are the coordinator's clock minus the node's."""

    ended: str
    """"complete", or why the node stopped before the end of the cycle."""
    clock_offset_ns: int = 0
    clock_error_ns: int = 0
    """Half of the shortest round trip: the start was wrong by no more than this and the drift."""
    clock_drift_ns: int = 0
    """Offset after the cycle minus offset before it."""
    armed_before_ns: int = 0
    """How long before the start all clients were armed."""
    start_late_ns: int | None = None
    """First start of a transaction after the agreed start, by the node's clock; ``None`` in the open loop, whose
    first transaction is due later."""
    paused_ns: int = 0
    """How long within the cycle the node's process stood still."""


@dataclass(frozen=True)
class NodeResult:
    """One node's part of a cycle."""

    node: str
    result: CycleResult
    course: NodeCourse = field(default_factory=lambda: NodeCourse("complete"))
    samples: Sequence[Mapping[str, Any]] = ()
    """Of the node's monitors: columns of the table ``monitors`` without its key."""
    machine: Used | None = None
    """What the node's machine did meanwhile; ``None`` where it cannot be known, or is not the node's to tell."""


@dataclass(frozen=True)
class NodePart:
    """What became of one node's part of a cycle."""

    node: str
    why: str
    """Empty when it is whole; else why it is not counted."""
    found: NodeResult | None
    """What it did, also when it is not counted; ``None`` when nobody knows."""
    loaded: bool
    """Whether it may have committed anything."""

    @property
    def state(self) -> str:
        """complete; partial: known but not counted; lost: nobody knows what it did; absent: it took no part."""
        if not self.why:
            return "complete"
        if self.found is not None:
            return "partial"
        return "lost" if self.loaded else "absent"


def merge_whole(parts: Sequence[NodePart]) -> CycleResult:
    """What the nodes did whose parts count: one at least."""
    return merge_results([part.found.result for part in parts if part.found is not None and not part.why])


def missed(parts: Sequence[NodePart]) -> bool:
    """Whether a cycle has come to nothing because its nodes were not ready for the start: it can be tried again."""
    return all(part.why and _idle(part) for part in parts) and any(part.why == MISSED for part in parts)


def _idle(part: NodePart) -> bool:
    if part.found is None:
        return not part.loaded
    return not any(part.found.result.committed_in_database()) and not part.found.result.total("unknown")
