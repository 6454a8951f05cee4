"""A run at several numbers of threads, as one evaluation for each of them and one for the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.analysis.values import Doubt
from dsbench.archive import RunRecord
from dsbench.evaluation.evaluated import Evaluation


def run_shown(run: RunRecord, evaluation: Evaluation) -> RunRecord:
    """``run.json`` for what ``evaluation`` itself shows: of several numbers of threads one."""
    return run.at(evaluation.threads) if evaluation.steps else run


def cycles_at(cycles: pa.Table, threads: int) -> pa.Table:
    """The rows of the table ``cycles`` with that number of threads."""
    return cycles.filter(pc.field("threads") == threads)


def together(parts: Mapping[int, Evaluation], noticed: Sequence[Doubt]) -> Evaluation:
    """The evaluation of the largest number of threads, with all ``parts`` and the doubts of all of them.

    ``noticed`` are those of them that stand in ``run.json``.
    """
    return replace(parts[max(parts)], steps=dict(parts), doubts=_doubts(parts, noticed))


def _doubts(parts: Mapping[int, Evaluation], noticed: Sequence[Doubt]) -> tuple[Doubt, ...]:
    found: list[Doubt] = []
    for threads, part in parts.items():
        for doubt in part.doubts:
            # What concerns the whole run or the database is the same for every number of threads, and what the
            # run noticed while it went on is told with its cycle.
            general = doubt.scale is None or doubt.severe or doubt.code == "unchecked" or doubt in noticed
            told = doubt if general else replace(doubt, message=f"{threads} threads: {doubt.message}")
            found += [] if told in found else [told]
    return tuple(sorted(found, key=lambda doubt: not doubt.severe))
