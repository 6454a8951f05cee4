"""A run at several numbers of threads, as one evaluation for each of them and one for the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.analysis.values import Doubt
from dsbench.evaluation.evaluated import Evaluation


def run_at(run: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """``run.json`` as if ``threads`` had been its only number of threads, but that it says ``of_steps``."""
    nodes = [
        {**node, "calibration": _calibration_at(node.get("calibration"), threads)} for node in run.get("nodes", ())
    ]
    own = _calibration_at(run.get("calibration"), threads)
    return {**run, "spec": {**run["spec"], "threads": threads}, "calibration": own, "nodes": nodes, "of_steps": True}


def _calibration_at(found: Mapping[str, Any] | None, threads: int) -> Mapping[str, Any] | None:
    """``found`` with the ceiling of that number of clients: one client cannot reach what many do."""
    if not found:
        return found
    ceilings = found.get("ceilings") or []
    against = ceilings[-1]["against"] if ceilings else None
    fitting = [c for c in ceilings if c["against"] == against and c["threads"] <= threads]
    nearest = max(fitting, key=lambda c: int(c["threads"]), default={"rate_tps": nan})
    return {**found, "ceiling_tps": nearest["rate_tps"]}


def run_shown(run: Mapping[str, Any], evaluation: Evaluation) -> Mapping[str, Any]:
    """``run.json`` for what ``evaluation`` itself shows: of several numbers of threads one."""
    return run_at(run, evaluation.threads) if evaluation.steps else run


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
