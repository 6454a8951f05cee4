"""A cycle on trial at the beginning of a series: how long the database needs to settle, how long cycles have to be."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from dsbench.archive import Archive
from dsbench.measure.counts import Counts
from dsbench.measure.cycle import Setting, run_cycle
from dsbench.measure.loaders import CoreError
from dsbench.measure.loaders.parts import Part
from dsbench.measure.plan import Planned
from dsbench.read.stats.precision import ramp_up, shortest
from dsbench.read.stats.values import Floats

_SECOND, _COUNT = 1, 3
"""Columns of ``CycleResult.seconds``."""
LEAST_S = 10
"""Seconds of a course below which nothing can be found in it."""


class Trials:
    """Gives each cycle of a load stage the ramp-up and the length that a cycle on trial before its series showed.

    Those that were told, where neither ``find_ramp_up`` nor ``shortest`` asks for a trial. It leaves transactions in
    the database, which the check has to know: they go to ``counts``.
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
        asked = spec.find_ramp_up or spec.shortest is not None
        if asked and cycle.threads is not None and cycle.threads != self._tried:
            self._tried = cycle.threads
            found = self._known(cycle) or self._shown(cycle)
            self._with = replace(self._setting, spec=spec.model_copy(update=found))
        return self._with

    def _known(self, cycle: Planned) -> dict[str, float]:
        """What the cycles have that a run which goes on finds of this series; empty where it finds none."""
        rows = Archive.open(self._setting.journal.writer.path).table("groups").to_pylist()
        here = (self._scale, cycle.stage.name, cycle.threads)
        found = [row for row in rows if (row["scale"], row["stage"], row["threads"]) == here]
        return {"ramp_up": found[0]["ramp_up_ns"] / 1e9, "duration": found[0]["duration_ns"] / 1e9} if found else {}

    def _shown(self, cycle: Planned) -> dict[str, float]:
        """What the course of a cycle on trial shows."""
        spec, begun = self._setting.spec, _checkpoints(self._setting)
        # Cycle 0 has inputs that no cycle repeats.
        parts = run_cycle(self._setting, self._scale, replace(cycle, number=0), recorded=False)
        self._counts.add((self._scale, 0), parts)
        counts = course(parts, int(spec.duration))
        ramp_up, settled = self._ramp_up(counts) if spec.find_ramp_up else (spec.ramp_up, True)
        found = {"ramp_up": float(ramp_up)}
        if spec.shortest is not None:
            rest = counts[int(ramp_up) if spec.find_ramp_up else 0 :]
            met = _checkpoints(self._setting) > begun
            found["duration"] = self._length(rest, spec.shortest, met) if settled else spec.duration
        return found

    def _ramp_up(self, counts: Floats) -> tuple[int, bool]:
        journal = self._setting.journal
        found, settled = ramp_up(counts) if counts.size >= LEAST_S else (0, False)
        if settled:
            journal.say(f"{self._at}: ramp-up of {found} s, by the course of a cycle on trial (MSER-5)")
        else:
            words = f"a cycle of {self._setting.spec.duration:g} s is too short to show when the rate has settled"
            remedy = "use longer cycles, or say --ramp-up"
            journal.warn("ramp-up", f"{self._at}: {words}: each cycle has a ramp-up of {found} s", remedy, self._scale)
        return found, settled

    def _length(self, counts: Floats, least: int, checkpoint: bool) -> float:
        """Seconds of the cycles; a checkpoint in the trial keeps them as long as they were asked for."""
        asked = self._setting.spec.duration
        found = asked if checkpoint or counts.size < LEAST_S else min(float(shortest(counts, least)), asked)
        why = "the cycle on trial had a checkpoint" if checkpoint else "by the course of a cycle on trial"
        self._setting.journal.say(f"{self._at}: cycles of {found:g} s, {why}")
        return found

    @property
    def _at(self) -> str:
        threads = f", {self._tried} threads" if self._setting.spec.several_threads else ""
        return f"scale {self._scale}{threads}"


def _checkpoints(setting: Setting) -> float:
    """How many the server has begun since it counts; 0 where it does not."""
    found = 0.0
    for monitor in setting.monitors:
        with suppress(CoreError):  # Where the login may not read them, the monitor of the cycles says so.
            values = monitor.sample() if monitor.name == "server" else []
            found += sum(value for metric, _unit, value in values if metric.startswith("checkpoints_"))
    return found


def course(parts: list[Part], seconds: int) -> Floats:
    """Transactions of each of the first whole ``seconds`` of a cycle, of all nodes together."""
    found = np.zeros(seconds)
    for part in parts:
        if part.found is not None and not part.why:
            rows = part.found.result.seconds
            inside = rows[rows[:, _SECOND] < seconds]
            np.add.at(found, inside[:, _SECOND].astype(int), inside[:, _COUNT].astype(float))
    return found
