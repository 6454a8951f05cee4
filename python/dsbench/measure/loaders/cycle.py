"""A cycle of load, and what it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dsbench import _core
from dsbench.archive.columns import COUNTERS
from dsbench.measure.loaders.core import CoreError, errors, now_ns
from dsbench.measure.loaders.peers import Peer
from dsbench.measure.loaders.processes import Processes
from dsbench.measure.loaders.stages import CycleLoad

TRACE_WORDS: Final = 5
"""64-bit words of a transaction in a trace file: started, ended, intended (signed, ns), thread, and in one
word retries (32 bits), kind (8), outcome (8)."""

SECOND_WORDS: Final = 8
"""Columns of ``CycleResult.seconds``."""

BUCKET_WORDS: Final = 3
"""Columns of a histogram."""

IN_DATABASE: Final = ("committed", "early_commits", "late_commits")
"""Counters of transactions that the database holds, those that ended before and after the duration included."""

UInts = NDArray[np.uint64]

Second = tuple[int, int, int, int, int]
"""What all clients did in a second: (committed, failed, p50, p99 and longest residence time in ns)."""

_SILENCE_S: Final = 600.0
"""How long a cycle that ends by count may go on without a transaction that ends."""

POLL_S: Final = 0.05
"""Between two looks at something that runs."""
_STILL_NS: Final = 250_000_000
"""A look that comes later than due by more shows that this process did not run; a busy machine delays one by less."""

Watch = Callable[[int, int], None]
"""Called about twenty times a second while something runs: (done, total) or (committed, failed)."""


@dataclass(frozen=True)
class CycleResult:
    """What one cycle left on this node."""

    counters: UInts
    """Shape (threads, kinds, counters): those of ``COUNTERS``."""
    groups: UInts
    """Shape (threads,): number of the group of each thread."""
    histograms: tuple[tuple[int, int, str, UInts], ...]
    """(group, kind, "residence" | "response", array of shape (buckets, 3): low_ns, high_ns, count)."""
    seconds: UInts
    """Shape (rows, 8): group, second, kind, count, failed, p50_ns, p99_ns, max_ns."""
    errors: tuple[tuple[int, int, str, str, int, str], ...]
    """(group, kind of transaction, kind of error, native code, count, example)."""
    sums: Mapping[str, int]
    failure: CoreError | None
    """What ended the cycle early."""
    placements: tuple[tuple[int, str, int], ...] = ()
    """(group, how they were placed in words, clients)."""
    cpu_ns: tuple[int, int] = (0, 0)
    """CPU time of all clients' threads: (user, system). The sum is exact, the kernel may only estimate its parts."""
    trace: Path | None = None
    """File of the trace, 40 bytes a transaction (see ``TRACE_WORDS``); ``None`` without a trace."""
    statements: tuple[tuple[int, int, int, int, int, int, int, UInts], ...] = ()
    """(group, statement, failed, retried, sum, least and greatest time in ns, buckets as those of ``histograms``)."""
    untraced: int = 0
    """Transactions that are missing in it, because it could not be written as fast as they came."""
    untold: tuple[str, ...] = ()
    """Counters of which another client says nothing; 0 in ``counters``."""

    def total(self, counter: str) -> int:
        """Sum of one counter over threads and kinds."""
        return sum(self.by_kind(counter))

    def by_kind(self, *counters: str) -> list[int]:
        """Per kind: sum of these counters over threads."""
        columns = [COUNTERS.index(name) for name in counters]
        return [int(n) for n in self.counters[:, :, columns].sum(axis=(0, 2))]

    def committed_in_database(self) -> list[int]:
        """Per kind: transactions the database holds, see ``IN_DATABASE``."""
        return self.by_kind(*IN_DATABASE)


class Cycle:
    """A cycle under way."""

    def __init__(self, core: _core.Cycle | Processes | Peer, load: CycleLoad, kinds: int, trace: Path | None) -> None:
        self._core = core
        self.load = load
        self._kinds = kinds
        self._trace = trace
        self.still_ns = 0
        """How long within the cycle's time this process stood still; known when the cycle has ended."""

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until every client is connected. ``CoreError`` when one cannot, or the time is over."""
        give_up = time.monotonic() + timeout_s
        while (ready := self._core.ready()) < self.load.threads and not self._core.finished():
            watch(ready, self.load.threads)
            if time.monotonic() > give_up:
                words = f"{ready} of {self.load.threads} threads were connected after {timeout_s:.0f} s"
                raise CoreError("setup", "", words)
            time.sleep(0.005)

    def start(self, at_ns: int) -> None:
        """Starts all clients at ``at_ns``."""
        self._core.start(at_ns)

    def wait(self, start_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits until all clients have ended. A server is given up that is silent for ``grace_s`` after the end
        of a cycle that began at ``start_ns``, or where a count decides, in which nothing ended for ten minutes."""
        before, since = (0, 0), start_ns
        while not self._core.finished():
            totals = self._core.totals()
            watch(*totals)
            if totals != before:
                before, since = totals, now_ns()
            duration_ns = self.load.duration_ns
            silence_s = grace_s if duration_ns is not None else _SILENCE_S
            if now_ns() > (since if duration_ns is None else start_ns + duration_ns) + round(silence_s * 1e9):
                end = "its last answer" if duration_ns is None else "the end of the cycle"
                self._core.abandon(f"the server did not answer for {silence_s:.0f} s after {end}")
            due_ns = now_ns() + round(POLL_S * 1e9)
            time.sleep(POLL_S)
            self._look_back(due_ns, now_ns(), start_ns)

    def seconds(self, start: int) -> list[Second]:
        """The seconds from number ``start`` on that are known so far, each a second after its end. No client takes
        part in the telling. Quantiles are within 3 %; a peer tells nothing before the end."""
        return self._core.seconds(start)

    def _look_back(self, due_ns: int, came_ns: int, start_ns: int) -> None:
        """Adds what of a long delay between two looks lies within the time of the cycle."""
        if came_ns - due_ns > _STILL_NS:
            end_ns = came_ns if self.load.duration_ns is None else min(came_ns, start_ns + self.load.duration_ns)
            self.still_ns += max(0, end_ns - max(due_ns, start_ns))

    @property
    def finished(self) -> bool:
        """True when every client has ended, in whatever way."""
        return self._core.finished()

    @property
    def lead_ns(self) -> int:
        """How long before the common start it has to be known: every thread has gone to sleep by then."""
        return 20_000_000 + self.load.threads * 100_000

    @property
    def pids(self) -> list[int]:
        """Processes that make its load, where that is not this one."""
        return [] if isinstance(self._core, _core.Cycle) else self._core.pids()

    def abandon(self) -> None:
        """Ends everything that is under way."""
        self._core.abandon()

    def join(self) -> CycleResult:
        """Waits for the end and gives what the cycle left."""
        with errors():
            raw = self._core.join()
        failure = raw["failure"]
        return CycleResult(
            counters=_words(raw["counters"], self._kinds * len(COUNTERS)).reshape(-1, self._kinds, len(COUNTERS)),
            groups=_words(raw["groups"], 1).reshape(-1),
            histograms=tuple((*key, _words(data, BUCKET_WORDS)) for *key, data in raw["histograms"]),
            seconds=_words(raw["seconds"], SECOND_WORDS),
            statements=tuple((*key, _words(data, BUCKET_WORDS)) for *key, data in raw["statements"]),
            errors=tuple(raw["errors"]),
            sums=raw["sums"],
            placements=tuple(raw["placements"]),
            failure=CoreError(*failure) if failure else None,
            cpu_ns=raw["cpu_ns"],
            trace=self._trace,
            untraced=raw["untraced"],
            untold=tuple(raw.get("untold", ())),
        )


def _words(data: bytes, width: int) -> UInts:
    return np.frombuffer(data, dtype="<u8").reshape(-1, width)
