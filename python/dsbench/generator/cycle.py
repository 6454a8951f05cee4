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
from dsbench.columns import COUNTERS
from dsbench.generator.core import CoreError, errors, now_ns

TRACE_WORDS: Final = 5
"""64-bit words of a transaction in a trace file: started, ended, intended (signed, ns), thread, and in one
word retries (32 bits), kind (8), outcome (8)."""

UInts = NDArray[np.uint64]

POLL_S: Final = 0.05
"""Between two looks at something that runs."""

Watch = Callable[[int, int], None]
"""Called about twenty times a second while something runs: (done, total) or (committed, failed)."""


@dataclass(frozen=True)
class CycleResult:
    """What one cycle left on this node."""

    counters: UInts
    """Shape (threads, kinds, counters): those of ``COUNTERS``."""
    histograms: tuple[tuple[int, str, UInts], ...]
    """(kind, "residence" | "response", array of shape (buckets, 3): low_ns, high_ns, count)."""
    seconds: UInts
    """Shape (rows, 7): second, kind, count, failed, p50_ns, p99_ns, max_ns."""
    errors: tuple[tuple[int, str, str, int, str], ...]
    """(kind of transaction, kind of error, native code, count, example)."""
    sums: Mapping[str, int]
    failure: CoreError | None
    """What ended the cycle early."""
    cpu_ns: tuple[int, int] = (0, 0)
    """CPU time of all clients' threads: (user, system). The sum is exact, the kernel may only estimate its parts."""
    trace: Path | None = None
    """File of the trace, 40 bytes a transaction (see ``TRACE_WORDS``); ``None`` without a trace."""
    untraced: int = 0
    """Transactions that are missing in it, because it could not be written as fast as they came."""

    def total(self, counter: str) -> int:
        """Sum of one counter over threads and kinds."""
        return int(self.counters[:, :, COUNTERS.index(counter)].sum())

    def committed_in_database(self) -> list[int]:
        """Per kind: transactions the database holds, those that ended before and after the duration included."""
        columns = [COUNTERS.index(name) for name in ("committed", "early_commits", "late_commits")]
        return [int(n) for n in self.counters[:, :, columns].sum(axis=(0, 2))]


class Cycle:
    """A cycle under way."""

    def __init__(self, core: _core.Cycle, threads: int, kinds: int, trace: Path | None) -> None:
        self._core = core
        self._threads = threads
        self._kinds = kinds
        self._trace = trace

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until every client is connected. ``CoreError`` when one cannot, or the time is over."""
        give_up = time.monotonic() + timeout_s
        while (ready := self._core.ready()) < self._threads and not self._core.finished():
            watch(ready, self._threads)
            if time.monotonic() > give_up:
                words = f"{ready} of {self._threads} threads were connected after {timeout_s:.0f} s"
                raise CoreError("setup", "", words)
            time.sleep(0.005)

    def start(self, at_ns: int) -> None:
        """Starts all clients at ``at_ns``."""
        self._core.start(at_ns)

    def wait(self, until_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits until all clients have ended; a server silent for ``grace_s`` after ``until_ns`` is given up."""
        give_up = until_ns + round(grace_s * 1e9)
        while not self._core.finished():
            watch(*self._core.totals())
            if now_ns() > give_up:
                self._core.abandon(f"the server did not answer for {grace_s:.0f} s after the end of the cycle")
            time.sleep(POLL_S)

    @property
    def finished(self) -> bool:
        """True when every client has ended, in whatever way."""
        return self._core.finished()

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
            histograms=tuple((kind, measure, _words(data, 3)) for kind, measure, data in raw["histograms"]),
            seconds=_words(raw["seconds"], 7),
            errors=tuple(raw["errors"]),
            sums=raw["sums"],
            failure=CoreError(*failure) if failure else None,
            cpu_ns=raw["cpu_ns"],
            trace=self._trace,
            untraced=raw["untraced"],
        )


def _words(data: bytes, width: int) -> UInts:
    return np.frombuffer(data, dtype="<u8").reshape(-1, width)
