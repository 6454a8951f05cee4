"""A cycle on trial at the beginning of a series, whose course says how long the database needs to settle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dsbench.analysis.precision import ramp_up
from dsbench.analysis.values import Floats
from dsbench.cluster.outcome import Part
from dsbench.runner.counts import Counts
from dsbench.runner.cycle import Setting, run_cycle
from dsbench.runner.plan import Planned

_SECOND, _COUNT = 1, 3
"""Columns of ``CycleResult.seconds``."""
LEAST_S = 10
"""Seconds of a course below which nothing can be found in it."""


class RampUp:
    """Gives each cycle of a load stage the ramp-up that was found, or, without ``find_ramp_up``, that which was told.

    A cycle on trial leaves transactions in the database, which the check has to know: they go to ``counts``.
    """

    def __init__(self, setting: Setting, scale: int, counts: Counts) -> None:
        self._setting = setting
        self._scale = scale
        self._counts = counts
        self._tried: int | None = None
        self._with = setting

    def before(self, cycle: Planned) -> Setting:
        """What ``cycle`` is run with; after its trial, where it is the first of its series."""
        spec = self._setting.spec
        if spec.find_ramp_up and cycle.threads is not None and cycle.threads != self._tried:
            self._tried = cycle.threads
            # Cycle 0 has inputs that no cycle repeats.
            parts = run_cycle(self._setting, self._scale, replace(cycle, number=0), recorded=False)
            self._counts.add((self._scale, 0), parts)
            self._with = replace(self._setting, spec=spec.model_copy(update={"ramp_up": self._found(cycle, parts)}))
        return self._with

    def _found(self, cycle: Planned, parts: list[Part]) -> float:
        journal, duration = self._setting.journal, int(self._setting.spec.duration)
        at = f"scale {self._scale}" + (f", {cycle.threads} threads" if self._setting.spec.several_threads else "")
        found, settled = ramp_up(course(parts, duration)) if duration >= LEAST_S else (0, False)
        if settled:
            journal.say(f"{at}: ramp-up of {found} s, by the course of a cycle on trial (MSER-5)")
        else:
            words = f"{at}: a cycle of {self._setting.spec.duration:g} s is too short to show when the rate has settled"
            remedy = "use longer cycles, or say --ramp-up"
            journal.warn("ramp-up", f"{words}: each cycle has a ramp-up of {found} s", remedy, self._scale)
        return float(found)


def course(parts: list[Part], seconds: int) -> Floats:
    """Transactions of each of the first whole ``seconds`` of a cycle, of all nodes together."""
    found = np.zeros(seconds)
    for part in parts:
        if part.found is not None and not part.why:
            rows = part.found.result.seconds
            inside = rows[rows[:, _SECOND] < seconds]
            np.add.at(found, inside[:, _SECOND].astype(int), inside[:, _COUNT].astype(float))
    return found
