"""A run at several numbers of threads, as one evaluation for each of them and one for the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.analysis.values import Doubt, Evaluation


def run_at(run: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """``run.json`` as if ``threads`` had been its only number of threads."""
    return {**run, "spec": {**run["spec"], "threads": threads}}


def run_shown(run: Mapping[str, Any], evaluation: Evaluation) -> Mapping[str, Any]:
    """``run.json`` for what ``evaluation`` itself shows: of several numbers of threads one."""
    return run_at(run, evaluation.threads) if evaluation.steps else run


def cycles_at(cycles: pa.Table, threads: int) -> pa.Table:
    """The rows of the table ``cycles`` with that number of threads."""
    return cycles.filter(pc.field("threads") == threads)


def together(parts: Mapping[int, Evaluation]) -> Evaluation:
    """The evaluation of the largest number of threads, with all ``parts`` and the doubts of all of them."""
    return replace(parts[max(parts)], steps=dict(parts), doubts=_doubts(parts))


def _doubts(parts: Mapping[int, Evaluation]) -> tuple[Doubt, ...]:
    found: list[Doubt] = []
    for threads, part in parts.items():
        for doubt in part.doubts:
            # A failed check and what concerns the whole run are the same for every number of threads.
            general = doubt.scale is None or doubt.severe
            told = doubt if general else replace(doubt, message=f"{threads} threads: {doubt.message}")
            found += [] if told in found else [told]
    return tuple(sorted(found, key=lambda doubt: not doubt.severe))
