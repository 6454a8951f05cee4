"""What decides how much a run does: which cycles are still needed, with how many clients, how long, and which scales.

- ``Enough``: no more cycles of a series whose median rate is known precisely enough (``--precision``);
- ``choose_cycles``: numbers of clients until the greatest rate is known (``--peak``);
- ``CycleTrials``: ramp-up and length of cycles by a cycle on trial (``--find-ramp-up``, ``--min-duration``);
- ``size_cycles``: how many transactions a cycle of a fixed number takes;
- ``choose_scale``: further scales where the rate falls most (``--refine``).

When the user wants a run to end, ``interrupts`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import Final

import numpy as np

from dsbench.measure.cycle import run_cycle
from dsbench.measure.history import CycleHistory
from dsbench.measure.loaders import Bench, CoreError
from dsbench.measure.loaders.results import NodePart, merge_whole
from dsbench.measure.moments import count_clients
from dsbench.measure.plan import PlannedCycle
from dsbench.measure.setting import ScaleContext
from dsbench.spec import RunSpec
from dsbench.stats.index import between, share
from dsbench.stats.peak import next_number
from dsbench.stats.precision import enough, half_width, ramp_up, shortest
from dsbench.stats.values import Floats

Count = Callable[[Sequence[NodePart]], None]
"""Hears what a trial left in the database, which no archive has and the check has to know."""


def wanted_precision(spec: RunSpec, scale: int) -> float | None:
    """How precisely (share 0-1) the rate of ``scale`` has to be known; ``None`` where the number of cycles is given."""
    if spec.precision is None or spec.searches:
        return None
    asked = spec.precision / 100
    return share(asked, spec.scales, scale) if spec.precision_of == "index" else asked


class Enough:
    """Whether the cycles of one scale so far tell its rates."""

    def __init__(self, spec: RunSpec, scale: int, history: CycleHistory) -> None:
        self._spec = spec
        self._scale = scale
        self._history = history
        self._wanted = wanted_precision(spec, scale)

    def select_needed(self, cycles: Sequence[PlannedCycle]) -> tuple[PlannedCycle, ...]:
        """Those of ``cycles`` that are still needed."""
        return tuple(cycle for cycle in cycles if not self.reached(cycle))

    def reached(self, cycle: PlannedCycle) -> bool:
        """Whether the series of ``cycle`` needs no further one; a stage that is not repeated needs its own."""
        if self._wanted is None or cycle.clients is None:
            return False
        return enough(self._rates(cycle), self._wanted, self._spec.cycles)

    def describe(self, cycle: PlannedCycle) -> str:
        """The state of the series of ``cycle`` in words, for the log."""
        rates = self._rates(cycle)
        known = f"the median rate is known to within ±{half_width(rates):.1%} (95%) after {rates.size} cycles"
        of_index = self._wanted is not None and self._spec.precision_of == "index"
        return known + (f"; its share of the index is ±{self._wanted:.1%}" if of_index else "")

    def _rates(self, cycle: PlannedCycle) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        series = self._history.of(self._scale, cycle.stage.name, cycle.clients)
        return np.array([one.committed for one in series], dtype=float) / self._spec.duration


def choose_cycles(setting: ScaleContext, scale: int, cycles: Sequence[PlannedCycle]) -> Iterator[PlannedCycle]:
    """``cycles`` as they are, or, where a peak is searched, as many as that takes, with its numbers of clients."""
    if not setting.spec.peak or not cycles or not cycles[0].stage.repeated:
        yield from cycles
        return
    for cycle in cycles:
        rates: dict[int, list[float]] = {}
        for one in setting.history.of(scale):
            rates.setdefault(one.clients, []).append(one.rate_tps)
        clients = next_number(setting.spec.client_numbers, rates, setting.spec.cycles)
        if clients is None:
            return
        yield replace(cycle, clients=clients)


_SECOND, _COUNT = 1, 3
"""Columns of ``CycleResult.seconds``."""
LEAST_S = 10
"""Seconds of a course below which nothing can be found in it."""


class CycleTrials:
    """Gives each cycle of a load stage the ramp-up and the length that a cycle on trial before its series showed.

    Where neither ``find_ramp_up`` nor ``shortest`` asks for a trial, the cycles stay as the user wants them.
    """

    def __init__(self, setting: ScaleContext, scale: int, count: Count) -> None:
        self._setting = setting
        self._scale = scale
        self._count = count
        self._tried: int | None = None
        self._with = setting

    def set_up(self, cycle: PlannedCycle) -> ScaleContext:
        """What ``cycle`` is run with; after its trial, where it is the first of its series."""
        spec = self._setting.spec
        wants_trial = (spec.find_ramp_up or spec.min_duration is not None) and cycle.clients is not None
        if wants_trial and cycle.clients != self._tried:
            self._tried = cycle.clients
            found = self._read(cycle) or self._try(cycle)
            self._with = replace(self._setting, spec=spec.model_copy(update=found))
        return self._with

    def _read(self, cycle: PlannedCycle) -> dict[str, float]:
        """What the cycles have that a run which goes on finds of this series; empty where it finds none."""
        found = self._setting.history.of(self._scale, cycle.stage.name, cycle.clients)
        return {"ramp_up": found[0].ramp_up_ns / 1e9, "duration": found[0].duration_ns / 1e9} if found else {}

    def _try(self, cycle: PlannedCycle) -> dict[str, float]:
        """What the course of a cycle on trial shows."""
        spec, begun = self._setting.spec, _count_checkpoints(self._setting)
        # Cycle 0 has inputs that no cycle repeats.
        parts = run_cycle(self._setting, self._scale, replace(cycle, number=0), recorded=False)
        self._count(parts)
        per_second = sum_seconds(parts, int(spec.duration))
        ramp_up, settled = self._find_ramp_up(per_second) if spec.find_ramp_up else (spec.ramp_up, True)
        found = {"ramp_up": float(ramp_up)}
        if spec.min_duration is not None:
            rest = per_second[int(ramp_up) if spec.find_ramp_up else 0 :]
            met = _count_checkpoints(self._setting) > begun
            found["duration"] = self._find_length(rest, spec.min_duration, met) if settled else spec.duration
        return found

    def _find_ramp_up(self, counts: Floats) -> tuple[int, bool]:
        journal = self._setting.journal
        found, settled = ramp_up(counts) if counts.size >= LEAST_S else (0, False)
        if settled:
            journal.say(f"{self._at}: ramp-up of {found} s, from a trial cycle (MSER-5)")
        else:
            words = f"a cycle of {self._setting.spec.duration:g} s is too short to show when the rate becomes stable"
            remedy = "use longer cycles, or specify --ramp-up"
            journal.warn("ramp-up", f"{self._at}: {words}: each cycle has a ramp-up of {found} s", remedy, self._scale)
        return found, settled

    def _find_length(self, counts: Floats, least: int, checkpoint: bool) -> float:
        """Seconds of the cycles; a checkpoint in the trial keeps them as long as they were asked for."""
        asked = self._setting.spec.duration
        found = asked if checkpoint or counts.size < LEAST_S else min(float(shortest(counts, least)), asked)
        why = "the trial cycle had a checkpoint" if checkpoint else "from a trial cycle"
        self._setting.journal.say(f"{self._at}: cycles of {found:g} s, {why}")
        return found

    @property
    def _at(self) -> str:
        clients = f", {count_clients(self._tried or 0)}" if self._setting.spec.several_clients else ""
        return f"scale {self._scale}{clients}"


def _count_checkpoints(setting: ScaleContext) -> float:
    """How many the server has begun since it counts; 0 where it does not."""
    count = 0.0
    for monitor in setting.monitors:
        with suppress(CoreError):  # Where the login may not read them, the monitor of the cycles says so.
            values = monitor.sample() if monitor.name == "server" else []
            count += sum(value for metric, _unit, value in values if metric.startswith("checkpoints_"))
    return count


def sum_seconds(parts: Sequence[NodePart], seconds: int) -> Floats:
    """Transactions of each of the first whole ``seconds`` of a cycle, of all nodes together."""
    counts = np.zeros(seconds)
    rows = merge_whole(parts).seconds
    inside = rows[rows[:, _SECOND] < seconds]
    np.add.at(counts, inside[:, _SECOND].astype(int), inside[:, _COUNT].astype(float))
    return counts


_TRIAL_NS: Final = 1_000_000_000
"""A trial that took less tells too little."""
_MORE: Final = 1.2
"""By how much a number goes beyond what the trials ask for: they may have been disturbed, and first ones are slower."""
_MOST_TRIALS: Final = 6

Took = Callable[[int, int], int]
"""Transactions and clients to the nanoseconds that they took."""


def size_cycles(setting: ScaleContext, least: int, cycles: Sequence[PlannedCycle], count: Count) -> ScaleContext:
    """``setting`` with the number of transactions for ``cycles``, which are of one stage.

    It is ``least``, as the workload says, or more, so that a cycle is no burst: a rate over too short a time has its
    writes in caches, and cannot be sustained. The number is raised until a cycle lasts as long as ``--duration`` at the
    fastest number of clients, and is the same for all of them. A run that is resumed goes on with its number.
    """
    stage, scale = cycles[0].stage, setting.bench.scale
    known = max((one.share for one in setting.history.of(scale)), default=0)
    if not known:

        def took(transactions: int, clients: int) -> int:
            trial = set_number(setting, scale, transactions)
            parts = run_cycle(trial, scale, PlannedCycle(0, trial.bench.load(stage.name), clients), recorded=False)
            count(parts)
            return merge_whole(parts).duration_ns(0)

        numbers = dict.fromkeys(cycle.clients or setting.spec.clients for cycle in cycles)
        known = choose_number(least, round(setting.spec.duration * 1e9), list(numbers), took)
        setting.journal.say(f"scale {scale}: {known} transactions in each cycle, of all clients together")
    return set_number(setting, scale, known)


def choose_number(asked: int, duration_ns: int, numbers: Sequence[int], took: Took) -> int:
    """The least multiple of ``asked`` that takes ``duration_ns`` with each of ``numbers`` clients, by ``took``."""
    most = asked
    for clients in numbers:
        count = asked
        for _ in range(_MOST_TRIALS):
            lasted_ns = max(took(count, clients), 1)
            if lasted_ns >= min(duration_ns, _TRIAL_NS):
                break
            count = asked * ceil(count * _MORE * min(duration_ns, _TRIAL_NS) / lasted_ns / asked)
        most = max(most, asked * ceil(_MORE * count * min(duration_ns / lasted_ns, 1e6) / asked))
    return most


def set_number(setting: ScaleContext, scale: int, transactions: int) -> ScaleContext:
    """``setting`` with so many transactions in each cycle; nodes learn it from the workload's setting."""
    spec = setting.spec
    settings = {**spec.workload_settings, "transactions": str(transactions)}
    bench = Bench(setting.target, spec.workload, scale, spec.call, settings, spec.all_clients)
    return replace(setting, spec=spec.model_copy(update={"workload_settings": settings}), bench=bench)


def choose_scale(spec: RunSpec, history: CycleHistory, void: Collection[int]) -> int | None:
    """The scale to be run next, by the rates so far; ``None`` where the cut-off is known, or there is none.

    Those of the ``void`` scales count for nothing.
    """
    found = history.final_rates(spec.peak)
    scale = between({x: float(np.median(rates)) for x, rates in found.items() if x not in void}, spec.scales)
    return None if scale in found else scale
