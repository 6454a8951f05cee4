"""A cycle under way on this machine, whoever makes its clients run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from dsbench._core import CycleLoad
from dsbench.archive import LOCAL
from dsbench.measure.loaders.core import CoreError, errors, now_ns
from dsbench.measure.loaders.results import CycleResult, NodeCourse, NodePart, NodeResult, merge_results, read_result

Second = tuple[int, int, int, int, int]
"""What all clients did in a second: (committed, failed, p50, p99 and longest residence time in ns)."""

GRACE_S: Final = 30.0
"""How long a transaction may outlast its cycle before the server is given up."""
_SILENCE_S: Final = 600.0
"""How long a cycle that ends by count may go on without a transaction that ends."""

POLL_S: Final = 0.05
"""Between two looks at something that runs."""
_STILL_NS: Final = 250_000_000
"""A look that comes later than due by more shows that this process did not run; a busy machine delays one by less."""

Watch = Callable[[int, int], None]
"""Called about twenty times a second while something runs: (done, total) or (committed, failed)."""


def connecting_s(connections: int) -> float:
    """How long so many connections may take to be opened."""
    return 30 + connections * 0.2


class Source(Protocol):
    """What makes the clients of a cycle run: the core in this process, drivers in processes, or another program.

    It connects them when it is made, and is looked at while it works.
    """

    def ready(self) -> int:
        """Clients that are connected and wait."""

    def start(self, at_ns: int) -> None:
        """Starts all clients at ``at_ns`` of the monotonic clock."""

    def finished(self) -> bool:
        """True when every client has ended, in whatever way."""

    def totals(self) -> tuple[int, int]:
        """(committed, failed attempts) so far."""

    def seconds(self, start: int) -> list[Second]:
        """The seconds from number ``start`` on that are known so far, each a second after its end."""

    def abandon(self, reason: str | None = None) -> None:
        """Ends what the clients wait for; ``reason`` becomes that of their failure."""

    def join(self) -> dict[str, Any] | list[dict[str, Any]]:
        """Waits for the end and gives what was recorded: of all clients, or of several parts of them."""


class Cycle:
    """A cycle under way."""

    def __init__(self, source: Source, load: CycleLoad, kinds: int, trace: Path | None) -> None:
        self._source = source
        self.load = load
        self._kinds = kinds
        self._trace = trace
        self.paused_ns = 0
        """How long within the cycle's time this process stood still; known when the cycle has ended."""

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until every client is connected. ``CoreError`` when one cannot, or the time is over."""
        give_up = time.monotonic() + timeout_s
        while (ready := self._source.ready()) < self.load.clients and not self._source.finished():
            watch(ready, self.load.clients)
            if time.monotonic() > give_up:
                words = f"{ready} of {self.load.clients} clients were connected after {timeout_s:.0f} s"
                raise CoreError("setup", "", words)
            time.sleep(0.005)

    def start(self, at_ns: int) -> None:
        """Starts all clients at ``at_ns``."""
        self._source.start(at_ns)

    def wait(self, start_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits until all clients have ended. A server is given up that is silent for ``grace_s`` after the end
        of a cycle that began at ``start_ns``, or where a count decides, in which nothing ended for ten minutes. The
        time in which this process stood still is no silence: its clients did not run either."""
        duration_ns = self.load.duration_ns
        silence_s, end = (_SILENCE_S, "its last answer") if duration_ns is None else (grace_s, "the end of the cycle")
        before, silent_ns = (0, 0), start_ns + (duration_ns or 0)
        while not self._source.finished():
            totals = self._source.totals()
            watch(*totals)
            if totals != before:
                before, silent_ns = totals, now_ns() if duration_ns is None else silent_ns
            if now_ns() > silent_ns + round(silence_s * 1e9):
                self._source.abandon(f"the server did not answer for {silence_s:.0f} s after {end}")
            due_ns = now_ns() + round(POLL_S * 1e9)
            time.sleep(POLL_S)
            came_ns = now_ns()
            self._look_back(due_ns, came_ns, start_ns)
            if came_ns - due_ns > _STILL_NS:
                silent_ns += max(0, came_ns - max(due_ns, silent_ns))

    def seconds(self, start: int) -> list[Second]:
        """The seconds from number ``start`` on that are known so far, each a second after its end. No client takes
        part in the telling. Quantiles are within 3%; a peer tells nothing before the end."""
        return self._source.seconds(start)

    def _look_back(self, due_ns: int, came_ns: int, start_ns: int) -> None:
        """Adds what of a long delay between two looks lies within the time of the cycle."""
        if came_ns - due_ns > _STILL_NS:
            end_ns = came_ns if self.load.duration_ns is None else min(came_ns, start_ns + self.load.duration_ns)
            self.paused_ns += max(0, end_ns - max(due_ns, start_ns))

    @property
    def finished(self) -> bool:
        """True when every client has ended, in whatever way."""
        return self._source.finished()

    @property
    def lead_ns(self) -> int:
        """How long before the common start it has to be known: every client has gone to sleep by then."""
        return 20_000_000 + self.load.clients * 100_000

    @property
    def pids(self) -> list[int]:
        """Processes that make its load, where that is not this one."""
        pids: Callable[[], list[int]] = getattr(self._source, "pids", list)
        return pids()

    def abandon(self) -> None:
        """Ends everything that is under way."""
        self._source.abandon()

    def join(self) -> CycleResult:
        """Waits for the end and gives what the cycle left."""
        with errors():
            raw = self._source.join()
        parts = [raw] if isinstance(raw, dict) else raw
        return replace(merge_results([read_result(part, self._kinds) for part in parts]), trace=self._trace)

    def collect(self) -> list[NodePart]:
        """This machine's part, which is the whole."""
        result = self.join()
        why = str(result.failure) if result.failure is not None else ""
        course = NodeCourse("complete", paused_ns=self.paused_ns)
        return [NodePart(LOCAL, why, NodeResult(LOCAL, result, course), loaded=True)]
