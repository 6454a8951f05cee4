"""Where a phase of a run is, as those who listen are told while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from dsbench.measure.events import Cpus, Moment, Observer, Seconds
from dsbench.measure.loaders import Second


class Watching:
    """Looks at a phase while it goes on, and tells where it is."""

    def __init__(
        self,
        observer: Observer,
        check: Callable[[], None],
        moment: Moment,
        began: float,
        told: Callable[[int], Sequence[Second]] | None,
    ) -> None:
        """``check`` raises when the run has to end; a cycle began at ``began`` of the monotonic clock, in s."""
        self._observer, self._check, self._moment, self._began, self._told = observer, check, moment, began, told
        self._seconds, self._times, self._cpus = Seconds(), list[tuple[float, float]](), Cpus()

    def __call__(self, done: int, other: int) -> None:
        """``done`` of ``other`` are done; in a cycle ``done`` are committed and ``other`` attempts have failed."""
        self._check()
        elapsed, told, moment = monotonic() - self._began if self._began else 0.0, self._told, self._moment
        total, failed = (0, other) if moment.phase == "cycle" else (other, 0)
        if moment.phase == "cycle" and self._seconds.look(elapsed, done):
            moment = replace(moment, cpus=self._cpus.look())
            self._times.extend((p50 / 1e9, p99 / 1e9) for _, _, p50, p99, _ in (told(len(self._times)) if told else ()))
        moment = replace(moment, done=done, total=total, failed=failed, elapsed_s=elapsed)
        self._tell(replace(moment, seconds=self._seconds, times=self._times))

    def ended(self, committed: int, failed: int, duration_s: float) -> None:
        """What a cycle counted in all, which the last look did not see yet."""
        self._tell(replace(self._moment, done=committed, failed=failed, elapsed_s=duration_s))

    def _tell(self, moment: Moment) -> None:
        self._moment = moment
        self._observer.moment(moment)
