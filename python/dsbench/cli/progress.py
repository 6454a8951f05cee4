"""Live progress on stderr: lines that change on a terminal, plain ones elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from dsbench.measure.events import Moment, TimeLeft, describe_moment, draw_rates, format_time
from dsbench.spec import RunSpec

_PLAIN_EVERY_S = 5.0


class Progress:
    """Shows a run. On a terminal the last lines are alive; elsewhere a line appears now and then."""

    def __init__(self, spec: RunSpec, notes: Sequence[str] = (), *, quiet: bool = False) -> None:
        """``notes``: lines to be shown once the run has begun."""
        self._spec = spec
        self._notes = notes
        self._quiet = quiet
        self._console = Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._last_line = 0.0
        self._phase: tuple[int, str, int] | None = None
        self._left = TimeLeft(spec)
        self.path: Path | None = None
        """Where the archive is, once it is there."""

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._quiet:
            self._live = Live(console=self._console, refresh_per_second=5, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def moment(self, moment: Moment) -> None:
        """Shows where the run is."""
        if self._quiet:
            return
        left = self._left.seconds(moment)
        line = describe_moment(moment) + (f", about {format_time(left)} left" if left > 0 else "")
        if not self.live(line, moment):
            self._plain(moment, line)

    def live(self, line: str, moment: Moment) -> bool:
        """Shows ``line`` where the last lines are alive, and below it the course of a cycle; whether they are."""
        if self._live is not None:
            bars = draw_rates(moment.seconds, max(self._console.width - 24, 8))
            lines = [line, *([bars] if bars else [])]
            self._live.update(Group(*(Text(one, no_wrap=True, overflow="ellipsis") for one in lines)))
        return self._live is not None

    def _plain(self, moment: Moment, line: str) -> None:
        now, phase = time.monotonic(), (moment.scale, moment.phase, moment.cycle)
        new_phase = phase != self._phase and moment.phase not in ("clean", "connect", "cycle")
        if new_phase or now - self._last_line >= _PLAIN_EVERY_S:
            print(line, file=sys.stderr, flush=True)
            self._last_line = now
        self._phase = phase

    def message(self, text: str) -> None:
        if not self._quiet:
            self._console.print(Text(text), soft_wrap=True)

    def archive(self, path: Path) -> None:
        """Remembers where the archive is."""
        self.path = path
        for line in (*self._notes, f"archive: {path}"):
            self.message(line)

    def scale_done(self, path: Path) -> None:
        """Nothing to show: the scale's lines were printed."""


class Counting:
    """Shows how many of the cases of a suite are done: a line that changes on a terminal, one per target elsewhere."""

    def __init__(self, noun: str = "cases") -> None:
        self._noun = noun
        self._console = Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, refresh_per_second=5, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, what: str, done: int, total: int) -> None:
        """Shows that ``done`` of ``total`` on ``what`` are done."""
        if self._console.is_terminal:
            self._live.start()
            self._live.update(Text(f"{what}: {done} of {total} {self._noun}", no_wrap=True, overflow="ellipsis"))
        elif done == 0:
            print(f"{what}: {total} {self._noun if total != 1 else self._noun[:-1]}", file=sys.stderr, flush=True)

    def say(self, words: str) -> None:
        """A line that stays; the one that changes is away until ``show``, as somebody may be asked to type."""
        self._live.stop()
        print(words, file=sys.stderr, flush=True)
