"""How many transactions a cycle of a fixed number takes: as many as its workload says, or more, so that it is no burst.

A rate that was measured over too short a time has its writes in caches, and cannot be sustained. So the number is
raised until a cycle lasts as long as ``--duration``, at the fastest number of threads: it is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil
from typing import Final

from dsbench.archive import Archive
from dsbench.measure.cycle import Setting, run_cycle
from dsbench.measure.loaders import Bench
from dsbench.measure.loaders.parts import Part
from dsbench.measure.plan import Planned
from dsbench.measure.rows import measured_ns

_TRIAL_NS: Final = 1_000_000_000
"""A trial that took less tells too little."""
_MORE: Final = 1.2
"""By how much a number goes beyond what the trials ask for: they may have been disturbed, and first ones are slower."""
_MOST_TRIALS: Final = 6

Took = Callable[[int, int], int]
"""Transactions and threads to the nanoseconds that they took."""


def sized(setting: Setting, asked: int, cycles: Sequence[Planned], add: Callable[[Sequence[Part]], None]) -> Setting:
    """``setting`` with the number for ``cycles``, which are of one stage and at least ``asked``; ``add`` hears what the
    trials committed.

    A run that is resumed goes on with its number.
    """
    stage, scale = cycles[0].stage, setting.bench.scale
    known = _of_archive(setting, scale)
    if not known:

        def took(transactions: int, threads: int) -> int:
            now = with_number(setting, scale, transactions)
            trial = Planned(0, now.bench.load(stage.name), threads)
            parts = run_cycle(now, scale, trial, recorded=False)
            add(parts)
            return measured_ns(0, [part.found.result for part in parts if part.found and not part.why])

        numbers = dict.fromkeys(cycle.threads or setting.spec.threads for cycle in cycles)
        known = number(asked, round(setting.spec.duration * 1e9), list(numbers), took)
        setting.journal.say(f"scale {scale}: {known} transactions in each cycle, of all threads together")
    return with_number(setting, scale, known)


def number(asked: int, duration_ns: int, threads: Sequence[int], took: Took) -> int:
    """The least multiple of ``asked`` that takes ``duration_ns`` at each of ``threads``, by trials with ``took``."""
    found = asked
    for clients in threads:
        count = asked
        for _ in range(_MOST_TRIALS):
            lasted_ns = max(took(count, clients), 1)
            if lasted_ns >= min(duration_ns, _TRIAL_NS):
                break
            count = asked * ceil(count * _MORE * min(duration_ns, _TRIAL_NS) / lasted_ns / asked)
        found = max(found, asked * ceil(_MORE * count * min(duration_ns / lasted_ns, 1e6) / asked))
    return found


def with_number(setting: Setting, scale: int, transactions: int) -> Setting:
    """``setting`` with so many transactions in each cycle; nodes are told by the workload's setting."""
    spec = setting.spec
    settings = {**spec.workload_settings, "transactions": str(transactions)}
    bench = Bench(setting.target, spec.workload, scale, spec.call, settings, spec.clients)
    return replace(setting, spec=spec.model_copy(update={"workload_settings": settings}), bench=bench)


def _of_archive(setting: Setting, scale: int) -> int:
    rows = Archive.open(setting.journal.writer.path).table("groups").to_pylist()
    counts = (row["until_count"] for row in rows if row["scale"] == scale and row["until_of"] == "share")
    return max(counts, default=0)
