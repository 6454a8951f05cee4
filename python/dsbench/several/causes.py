"""What changed in the time of a transaction, from one side to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite, nan
from typing import Final

import numpy as np

from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.evaluation import Evaluation
from dsbench.read.subjects.server_statements import ServerStatementsResult, say_plans
from dsbench.read.subjects.stacks import StacksResult, tell_difference
from dsbench.read.subjects.why import FOREIGN, WhyResult

_LEAST: Final = 0.1
"""Share of the larger time from which on a change has a place in the sentence."""
_MOST: Final = 3


def read_times(side: Sequence[Evaluation], scale: int) -> dict[str, float]:
    """Cause to ms of a transaction, in the mean over the runs of a side; empty where one of them does not tell."""
    found = [one.of(WhyResult).why[scale].by_part for one in side if scale in one.of(WhyResult).why]
    if not found or len(found) < len(side):
        return {}
    names = dict.fromkeys(name for one in found for name in one)
    return {name: float(np.mean([one.get(name, 0.0) for one in found])) for name in names}


def say_change(before: dict[str, float], after: dict[str, float]) -> str:
    """``a transaction takes 1 ms instead of 3 ms: 0.3 ms instead of 1.9 ms flush``; empty where one is not known.

    What other programs took is no doing of either side: it is in none of these times.
    """
    beside = max((one.get(FOREIGN, 0.0) for one in (before, after)), default=0.0)
    before, after = ({name: ms for name, ms in one.items() if name != FOREIGN} for one in (before, after))
    if not before or not after:
        return ""
    was, now = sum(before.values()), sum(after.values())
    changes = {name: after.get(name, 0.0) - before.get(name, 0.0) for name in {**before, **after}}
    told = sorted((name for name, change in changes.items() if abs(change) >= _LEAST * max(was, now)),
                  key=lambda name: -abs(changes[name]))  # fmt: skip
    parts = [f"{_show(after.get(name, 0.0))} instead of {_show(before.get(name, 0.0))} {name}" for name in told[:_MOST]]
    why = f": {', '.join(parts)}" if parts else ", and no part of it changed by a tenth of that"
    without = ", without waits for other programs," if beside >= _LEAST * max(was, now) else ""
    return f"a transaction takes{without} {_show(now)} instead of {_show(was)}{why}"


def tell_changes(
    sides: Sequence[Sequence[Evaluation]], bases: Sequence[int], names: Sequence[str],
    differs: Callable[[int, int], bool],
) -> Iterator[Block]:  # fmt: skip
    """The causes of all sides at the largest scale of all; a sentence for each that ``differs`` there from the one that
    it is set beside."""
    every = [one for side in sides for one in side]
    common = set.intersection(*(set(one.of(WhyResult).why) for one in every)) if every else set()
    if not common:
        return
    scale = max(common)
    times = [read_times(side, scale) for side in sides]
    for number, (name, base) in enumerate(zip(names, bases, strict=True)):
        if differs(number, scale) and (words := say_change(times[base], times[number])):
            yield Sentence(f"{name} beside {names[base]}: {words}.")
    causes = sorted({name for one in times for name in one}, key=lambda name: -max(one.get(name, 0.0) for one in times))
    # A side without any has no run here, or none with samples.
    lacking = [0.0 if one else nan for one in times]
    columns = [Column("cause", left=True), *(Column(name, "ms") for name in names)]
    rows = [[name, *(one.get(name, none) for one, none in zip(times, lacking, strict=True))] for name in causes]
    yield Table(f"Time of a transaction at scale {scale}", columns, rows)
    yield from _tell_plans(sides, bases, names)


def tell_stacks(sides: Sequence[Sequence[Evaluation]], bases: Sequence[int], names: Sequence[str]) -> Iterator[Block]:
    """What grew and shrank of what the server does on CPUs, at the largest scale of all; of each side its first run."""
    firsts = [side[0] for side in sides if side]
    common = set.intersection(*(set(one.of(StacksResult).profile)
        for one in firsts)) if len(firsts) == len(sides) > 1 else set()
    for number, base in enumerate(bases):
        if common and number != base:
            both, called = (firsts[base], firsts[number]), (names[base], names[number])
            key = f"{firsts[number].stage}-{firsts[number].clients}-{number}"
            yield from tell_difference(*both, max(common), called, key)


def _tell_plans(sides: Sequence[Sequence[Evaluation]], bases: Sequence[int], names: Sequence[str]) -> Iterator[Block]:
    """Statements with another plan, at the largest scale of all."""
    known = [side[0].of(ServerStatementsResult).plans if side else {} for side in sides]
    common = set.intersection(*map(set, known)) if known else set()
    if not common:
        return
    plans = [{one.statement: one for one in found[max(common)]} for found in known]
    for number, (name, base) in enumerate(zip(names, bases, strict=True)):
        if number != base:
            yield from (
                Sentence(f"{name} beside {names[base]}: {words}.") for words in say_plans(plans[base], plans[number])
            )


def _show(ms: float) -> str:
    if not isfinite(ms):
        return "?"
    return f"{ms:,.3g} ms" if ms >= 0.1 or ms == 0 else f"{ms * 1e3:.3g} µs"
