"""Live progress on stderr: a line that changes on a terminal, plain ones elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self

from dsbench.cli.terminal import WIDEST
from dsbench.measure.moments import Moment, Observer, TimeLeft, describe_briefly, describe_moment, format_time, shorten
from dsbench.spec import RunSpec

if TYPE_CHECKING:
    from rich.live import Live

_PLAIN_EVERY_S = 5.0
_FORCED: Final = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE"})
"""Variables by which rich is told that there is a terminal."""
_MOVING: Final = dict.fromkeys(b"\a\b\v\f\r")
"""Letters that move what is there."""


def _line_alive() -> Live | None:
    """A line of the terminal that changes; ``None`` where standard error is none."""
    if not (sys.stderr.isatty() or _FORCED & os.environ.keys()):
        return None
    from rich.console import Console  # Late: a log has no such line.
    from rich.live import Live

    console = Console(stderr=True, highlight=False)
    return Live(console=console, refresh_per_second=5, transient=True) if console.is_terminal else None


def _change(line: Live, words: str, overflow: Literal["ellipsis"] | None = None) -> None:
    from rich.text import Text  # Late: as above.

    line.update(Text(words, no_wrap=True, overflow=overflow))


class _Alive:
    """What ends its line of the terminal."""

    _live: Live | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


class Progress(_Alive):
    """Shows a run. On a terminal the last line is alive, and no line is wider than it; elsewhere a line appears now and
    then."""

    def __init__(
        self, spec: RunSpec, notes: Sequence[str] = (), *, quiet: bool = False, verbose: bool = False, before: str = ""
    ) -> None:
        """``notes``: lines to be shown once the run has begun; ``before`` stands before the line that is alive."""
        self._notes = notes
        self._quiet, self._verbose, self._before = quiet, verbose, before
        self._last_line, self._said = 0.0, ""
        self._phase: tuple[int, str, int] | None = None
        self._left = TimeLeft(spec)
        self.path: Path | None = None
        """Where the archive is, once it is there."""

    def __enter__(self) -> Self:
        if not self._quiet and (line := _line_alive()) is not None:
            self._live = line
            line.start()
        return self

    @property
    def alive(self) -> bool:
        """Whether the last line changes."""
        return self._live is not None

    def moment(self, moment: Moment) -> None:
        """Shows where the run is."""
        if self._quiet:
            return
        left_s = self._left.seconds(moment)
        if self._live is not None:
            width = self._width(self._live) - len(self._before)
            _change(self._live, self._before + describe_briefly(moment, left_s, width))
        else:
            self._plain(moment, describe_moment(moment) + (f", about {format_time(left_s)} left" if left_s > 0 else ""))

    @staticmethod
    def _width(line: Live) -> int:
        # A line that reaches the last column may be followed by an empty one.
        return min(line.console.width, WIDEST) - 1

    def _plain(self, moment: Moment, line: str) -> None:
        now, phase = time.monotonic(), (moment.scale, moment.phase, moment.cycle)
        new_phase = phase != self._phase and moment.phase not in ("clean", "catch up", "connect", "cycle")
        # A second that has not passed has no rate: the short turns before the cycles would be a line each, of 0 s.
        begun = moment.phase == "cycle" and 0 <= moment.elapsed_s < 1
        if line != self._said and not begun and (new_phase or now - self._last_line >= _PLAIN_EVERY_S):
            print(line, file=sys.stderr, flush=True)
            self._last_line, self._said = now, line
        self._phase = phase

    def message(self, text: str) -> None:
        """A line that stays. A terminal shows as much of it as it has columns: the log of the archive has all of it."""
        if self._quiet:
            return
        if self._live is None:
            print(text.translate(_MOVING), file=sys.stderr, flush=True)
            return
        from rich.text import Text  # Late: as above.

        if not self._verbose:
            text = "\n".join(shorten(line, self._width(self._live)) for line in text.splitlines())
        self._live.console.print(Text(text), soft_wrap=True)

    def archive(self, path: Path) -> None:
        """Remembers where the archive is. A log says it now: it may be cut off."""
        self.path = path
        for line in self._notes:
            self.message(line)
        if self._live is None:
            self.message(f"archive: {path}")

    def scale_done(self, path: Path) -> None:
        """Nothing to show: the scale's lines were printed."""


class Counting(_Alive):
    """Shows how many of the cases of a suite are done: a line that changes on a terminal, one per target elsewhere."""

    def __init__(self) -> None:
        self._live = _line_alive()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def show(self, what: str, done: int, total: int, noun: str = "cases") -> None:
        """Shows that ``done`` of ``total`` on ``what`` are done."""
        if self._live is not None:
            self._live.start()
            _change(self._live, f"{what}: {done} of {total} {noun}", "ellipsis")
        elif done == 0:
            print(f"{what}: {total} {noun if total != 1 else noun[:-1]}", file=sys.stderr, flush=True)

    def say(self, words: str) -> None:
        """A line that stays; the one that changes is away until ``show``, as somebody may be asked to type."""
        if self._live is not None:
            self._live.stop()
        print(words, file=sys.stderr, flush=True)

class ProgressOfRuns:
    """The progress of one run after another, and lines between them."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._now: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def of(self, asked: RunSpec) -> Observer:
        """The progress of the next run."""
        self._end()
        self._now = Progress(asked, quiet=self._quiet)
        return self._now.__enter__()

    def line(self, words: str) -> None:
        self._end()
        if not self._quiet:
            print(words, file=sys.stderr)

    def _end(self) -> None:
        if self._now is not None:
            self._now.__exit__(None, None, None)
            self._now = None
