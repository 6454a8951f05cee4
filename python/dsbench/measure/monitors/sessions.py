"""Looks many times a second at what the sessions of the load do, beside a cycle, and adds it up by second.

``watchers`` has what each product is asked. A failure never touches the run: it is a note, and the table ends there.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from dsbench.measure.monitors.sampler import HURRIED_S, PATIENCE_S, SECOND_NS

ACTIVE: Final = "active"
WAITING: Final = "waiting"
OPEN: Final = "idle in transaction"
IDLE: Final = "idle"

USUAL: Final = 20
"""Looks per second where nobody says how many."""
LARGEST_SHARE: Final = 0.02
"""Share of the time that one look after another may take: where a look is dear, there are fewer."""
USUAL_SHARE: Final = 0.00025
"""The same of the time of all CPUs, where nobody says how many. A look alone takes PostgreSQL 0.13 ms; beside a load
client and server spend 0.6 to 0.9 ms on it, by ``bench.samples``."""
_TRIES: Final = 3
"""Looks before the clock, of which the shortest counts."""
_LONGEST: Final = 300
"""Characters of a statement that are kept."""


class SessionSeen(NamedTuple):
    """What a session was seen to do: columns of the table ``samples``."""

    state: str
    wait_class: str = ""
    wait: str = ""
    on: str = ""
    statement: str = ""
    blocker: str = ""


class Watcher(Protocol):
    """Sees the sessions of the load of one product."""

    least_s: float
    """No two looks are closer to each other."""

    def open(self) -> None:
        """Connects. It may raise."""

    def look(self) -> Iterable[SessionSeen]:
        """What each session does now. It may raise."""

    def close(self) -> None:
        """Ends its connection, and a look that waits for the server."""


class SessionSampler:
    """One background thread that looks. Used for one cycle."""

    def __init__(
        self, watcher: Watcher | None, rate: int | None = None, clock: Callable[[], int] = time.monotonic_ns
    ) -> None:
        """Does nothing without a ``watcher``. ``rate``: looks per second; ``None``: ``USUAL``, fewer where they would
        take ``USUAL_SHARE``. ``clock`` gives ns and is that by which the cycle's start is given."""
        self._watcher, self._clock = watcher, clock
        self._least_ns = SECOND_NS // (rate or USUAL)
        self._share = LARGEST_SHARE if rate else min(USUAL_SHARE * (os.cpu_count() or 1), LARGEST_SHARE)
        self._seen: Counter[tuple[int, SessionSeen]] = Counter()
        self._looks: Counter[int] = Counter()
        self.failure = ""
        """Why nothing was seen, or not all."""
        self._opened, self._going, self._ending = threading.Event(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._origin_ns = 0
        self._duration_ns: int | None = None
        self.pause_ns = self._least_ns
        """Between the beginnings of two looks, known after ``first``."""
        self.cpu_ns = 0
        """CPU time that looking took here, known after ``stop``."""

    def first(self) -> None:
        """Connects and looks a few times before the load: it finds how long that takes."""
        if self._watcher is None:
            return
        self._thread = threading.Thread(target=self._watch, args=(self._watcher,), name="dsbench-samples", daemon=True)
        self._thread.start()
        if not self._opened.wait(PATIENCE_S):
            self.failure = f"the first sample of the sessions took longer than {PATIENCE_S:.0f} s"
            self._ending.set()

    def go(self, origin_ns: int, duration_ns: int | None) -> None:
        """The cycle starts at ``origin_ns`` and takes ``duration_ns``; until ``stop`` where that is ``None``."""
        self._origin_ns, self._duration_ns = origin_ns, duration_ns
        self._going.set()

    def give_up(self) -> None:
        """Ends it after a cycle that nobody waits for."""
        self._ending.set()
        self._going.set()
        if self._thread is not None:
            self._thread.join(HURRIED_S)

    def stop(self) -> list[dict[str, Any]]:
        """Ends it, and gives the rows of the table ``samples`` without their key."""
        if self._thread is None:
            return []
        self._ending.set()
        self._going.set()
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive():
            self.failure = f"the last sample of the sessions took longer than {PATIENCE_S:.0f} s"
        return [
            {"second": second, "state": one.state, "class": one.wait_class, "wait": one.wait, "on": one.on,
             "statement": one.statement, "blocker": one.blocker, "sessions": sessions, "looks": self._looks[second]}
            for (second, one), sessions in sorted(self._seen.items(), key=lambda item: (item[0][0], -item[1]))
        ]  # fmt: skip

    def _watch(self, watcher: Watcher) -> None:
        began_ns = time.thread_time_ns()
        try:
            self._prepare(watcher)
            self._opened.set()
            self._going.wait()
            self._look_on(watcher)
        except Exception as error:  # whatever it meets, the measurement goes on
            if not self._ending.is_set() or not self.failure:
                self.failure = str(error) or type(error).__name__
        finally:
            self._opened.set()
            try:
                watcher.close()
            except Exception as error:
                self.failure = self.failure or str(error)
            self.cpu_ns = time.thread_time_ns() - began_ns

    def _prepare(self, watcher: Watcher) -> None:
        watcher.open()
        took = []
        for _ in range(_TRIES):
            began_ns = self._clock()
            list(watcher.look())
            took.append(self._clock() - began_ns)
        least_ns = max(self._least_ns, round(watcher.least_s * SECOND_NS))
        self.pause_ns = max(least_ns, round(min(took) / self._share))

    def _look_on(self, watcher: Watcher) -> None:
        number = 0
        while not self._ending.wait(max(0, self._origin_ns + number * self.pause_ns - self._clock()) / SECOND_NS):
            at_ns = self._clock() - self._origin_ns
            if self._duration_ns is not None and at_ns >= self._duration_ns:
                return
            seen = list(watcher.look())
            second = max(0, at_ns) // SECOND_NS
            self._looks[second] += 1
            self._seen.update((second, one) for one in seen)
            # After a look that took long the next one is due in its turn, not all that were missed.
            number = max(number + 1, (self._clock() - self._origin_ns) // self.pause_ns + 1)


_TEXT: Final = r"'(?:[^'\\]|\\.|'')*(?:'|$)"
_DOLLARS: Final = r"\$\$.*?(?:\$\$|$)"
_NUMBER: Final = r"(?<![\w$@:.?])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b"
_LITERAL: Final = re.compile("|".join((_TEXT, _DOLLARS, _NUMBER)), re.DOTALL)
_LITERAL_OF_MYSQL: Final = re.compile("|".join((_TEXT, r'"(?:[^"\\]|\\.|"")*(?:"|$)', _NUMBER)), re.DOTALL)
_COMMENT: Final = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_NAMED: Final = re.compile(r"NAME_CONST\('(\w+)',.*?\)(?=[\s,;)]|$)", re.IGNORECASE)
_PLACEHOLDER: Final = re.compile(r"\$\d+\b|(?<![:\w]):\w+|(?<=[,(=])(\s?)\(\?\)")
_LIST: Final = re.compile(r"\?(?:, ?\?){5,}")


@lru_cache(maxsize=4096)
def without_values(sql: str, *, mysql: bool = False) -> str:
    """A statement in one line with ``?`` in place of its texts, numbers and parameters: no values get into an archive.

    ``mysql``: what stands between double quotes is a text, too.
    """
    named = _NAMED.sub(r"\1", _COMMENT.sub(" ", sql))
    bare = " ".join((_LITERAL_OF_MYSQL if mysql else _LITERAL).sub("?", named).split()).rstrip("; ")
    return _LIST.sub("?, …", _PLACEHOLDER.sub(lambda found: (found[1] or "") + "?", bare))[:_LONGEST]
