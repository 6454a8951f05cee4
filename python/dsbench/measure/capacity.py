"""The search of the highest rate at which an objective holds: cycles of an open loop, each placed by those before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from dsbench.measure.cycle import run_cycle
from dsbench.measure.loaders.results import NodePart, merge_whole
from dsbench.measure.plan import PlannedCycle
from dsbench.measure.setting import ScaleContext
from dsbench.spec.objective import GRADES, ROUNDS, TRIALS
from dsbench.stats.capacity import SHORT, next_step
from dsbench.stats.search import Load, plan_search, search

_BEGIN: Final = 0.6
"""The first rate, relatively to that of the closed loop."""
_IDLE: Final = 1e-6
"""Starts per second of the lowest level: none within a cycle."""


def place_rates(
    setting: ScaleContext, scale: int, cycles: Sequence[PlannedCycle], count: Callable[[Sequence[NodePart]], None]
) -> Iterator[PlannedCycle]:
    """``cycles`` with rates of their own, as an objective or a graduated load wants them."""
    return (search_capacity if setting.spec.searches else grade_load)(setting, scale, cycles, count)


def search_capacity(
    setting: ScaleContext, scale: int, cycles: Sequence[PlannedCycle], count: Callable[[Sequence[NodePart]], None]
) -> Iterator[PlannedCycle]:
    """``cycles`` with the rates and durations of a search, and then those at the rate that was found.

    ``count`` hears what a closed loop left in the database, by which the first rate is chosen and which no archive has.
    """
    spec, journal = setting.spec, setting.journal
    wanted = [(one.allowed, one.limit_ns / 1e9) for one in spec.objectives]
    keeps_to = plan_search(spec.duration, spec.ramp_up, spec.precision, spec.max_cycles)
    planned, start = iter(cycles), 0.0
    load = _judge(setting, scale)
    while True:
        steps = [[one.steps[at] for one in load.tried] for at in range(len(wanted))] if load else [[] for _ in wanted]
        if load is None:
            short = max(spec.duration * SHORT, 1.0)
            start = _run_closed(setting, scale, cycles[0], count, short)
            words = f"{start:,.0f} tps without a pause between transactions: the search begins below"
            journal.say(f"scale {scale}: {words}")
            start *= _BEGIN
        step = next_step(steps, wanted, keeps_to, start)
        if step is None:
            break
        yield replace(next(planned), rate=_round(step.rate), duration=round(step.seconds, 3))
        load = _judge(setting, scale)
        _say_spoilt(setting, scale, load)
    if load is None or load.capacity is None:
        words = f"scale {scale}: {load.words if load else 'no cycle was finished'}"
        remedy = "allow a longer time, or use a longer --duration or more --clients" if load else "see the log"
        journal.warn("capacity", words, remedy, scale)
        return
    journal.say(f"scale {scale}: {load.words}")
    rate = _round(load.capacity.rate)
    if spec.graduated:
        yield from _grade(setting, scale, planned, rate)
        return
    yield from _repeat(setting, scale, planned, rate)


def _repeat(setting: ScaleContext, scale: int, planned: Iterator[PlannedCycle], rate: float) -> Iterator[PlannedCycle]:
    """Cycles at the ``rate`` that a search found; once more, lower, where most of them miss the objective."""
    spec = setting.spec
    for _ in range(ROUNDS):
        for _ in range(spec.cycles):
            yield replace(next(planned), rate=rate, duration=spec.duration)
        load = _judge(setting, scale)
        if load is None:
            return
        setting.journal.say(f"scale {scale}: {load.words}, with {spec.cycles} more cycles at {rate:,.6g}/s")
        if not load.lower:
            return
        rate = _round(load.lower)


def _say_spoilt(setting: ScaleContext, scale: int, load: Load | None) -> None:
    last = load.tried[-1] if load else None
    if last and last.still_s:
        words = f"dsbench was suspended for {last.still_s:.2g} s of it: the search ignores this cycle"
        setting.journal.say(f"scale {scale}, cycle {last.cycle}: {words}")


def _round(rate: float) -> float:
    return float(f"{rate:.4g}")


def _judge(setting: ScaleContext, scale: int) -> Load | None:
    return search(setting.history.of(scale), setting.spec.objectives, setting.spec.duration)


def grade_load(
    setting: ScaleContext, scale: int, cycles: Sequence[PlannedCycle], count: Callable[[Sequence[NodePart]], None]
) -> Iterator[PlannedCycle]:
    """``cycles`` at the levels of a graduated load, after three closed loops that tell the capacity.

    It is the mean of the last two of them, as in SPECpower_ssj2008.
    """
    full = next((one.rate_per_s for one in setting.history.of(scale) if one.level == GRADES[0]), None)
    if not full:
        spec = setting.spec
        rates = [_run_closed(setting, scale, cycles[0], count, spec.duration) for _ in range(TRIALS)]
        full = sum(rates[1:]) / len(rates[1:])
        told = ", ".join(f"{rate:,.0f}" for rate in rates)
        setting.journal.say(f"scale {scale}: {told} tps without a pause between transactions: 100% is {full:,.0f}")
    yield from _grade(setting, scale, iter(cycles), full)


def _grade(setting: ScaleContext, scale: int, planned: Iterator[PlannedCycle], full: float) -> Iterator[PlannedCycle]:
    """Those levels that the archive does not have yet, the highest first."""
    done = Counter(one.level for one in setting.history.of(scale))
    for level in GRADES:
        rate = _round(full * level / 100) or _IDLE
        for _ in range(setting.spec.cycles - done[level]):
            yield replace(next(planned), rate=rate, duration=setting.spec.duration, level=level)


def _run_closed(
    setting: ScaleContext, scale: int, cycle: PlannedCycle, count: Callable[[Sequence[NodePart]], None], duration: float
) -> float:
    """Transactions per second of the clients when each begins the next as soon as the last has ended."""
    parts = run_cycle(setting, scale, replace(cycle, number=0, duration=duration), recorded=False)
    count(parts)
    return max(merge_whole(parts).total("committed") / duration, 1.0)
