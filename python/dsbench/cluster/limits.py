"""How much of the coordinator a stranger or a node may take before it is cut off; the run goes on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Final

INTRODUCTION_S: Final = 10.0
"""From when a connection was accepted until its TLS handshake is done and its first message is there."""
STRANGERS: Final = 128
"""Connections that have not said who they are; of more, the oldest is cut: a real node needs milliseconds."""
CARRYING_S: Final = 120.0
"""How long a result may take on its way."""
SENDING_S: Final = 20.0
"""How long an answer may wait for a node that does not read."""
PENDING: Final = 16
"""Questions of one node that wait for their answers at a time."""
MESSAGES: Final = 400
"""Messages that a node may send at once …"""
MESSAGES_PER_S: Final = 100.0
"""… and in the long run: the shortest lease asks for 24 beats."""
JOINS: Final = 10
"""Times that the holder of one bundle may ask to join at once …"""
JOINS_PER_S: Final = 0.5
"""… and in the long run."""
LINES: Final = 10
"""Lines of one kind in the log at once …"""
LINES_PER_S: Final = 0.1
"""… and in the long run."""
_MOST_FILES: Final = 2**20


class Bucket:
    """So many at once, and so many per second in the long run."""

    def __init__(self, size: float, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._per_s, self._clock = size, per_s, clock
        self._left, self._seen_s = size, clock()

    def take(self) -> bool:
        """Takes one; False when there is none."""
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._seen_s) * self._per_s)
        self._seen_s = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class SparingLog:
    """Lines of the log, few of a kind: what others can cause must not fill a disk."""

    def __init__(self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._buckets: dict[str, Bucket] = {}
        self._skipped: dict[str, int] = {}

    def __call__(self, kind: str, line: str) -> None:
        """Says ``line``, or counts it when there were many of its ``kind`` lately."""
        bucket = self._buckets.setdefault(kind, Bucket(LINES, LINES_PER_S, self._clock))
        if not bucket.take():
            self._skipped[kind] = self._skipped.get(kind, 0) + 1
            return
        skipped = self._skipped.pop(kind, 0)
        self._say(f"{line} ({skipped} more like this before)" if skipped else line)

    def close(self) -> None:
        """Says how many lines were left out since the last one of their kind."""
        for kind, skipped in self._skipped.items():
            self._say(f"{kind}: {skipped} more")
        self._skipped.clear()


def raise_file_limit() -> None:
    """Lets this process open as many files as the system lets it: each connection is one."""
    try:
        import resource  # not everywhere
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
