"""A run of several series, as one evaluation for each of them and one for the whole; and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dsbench.archive import RunRecord
from dsbench.read.evaluation.evaluated import Evaluation, Series
from dsbench.read.stats.values import Doubt


def run_shown(run: RunRecord, evaluation: Evaluation) -> RunRecord:
    """``run.json`` for what ``evaluation`` itself shows: of several series one."""
    return run.at(evaluation.threads) if evaluation.series else run


def labels(series: Iterable[Series]) -> dict[Series, dict[str, str]]:
    """For each of ``series`` what tells it from the others: its threads, its stage, or both, by these names."""
    found = list(series)
    stages = {key.stage for key in found}
    if len(stages) < 2:
        return {key: {"threads": str(key.threads)} for key in found}
    if len(stages) == len(found):
        return {key: {"stage": key.stage} for key in found}
    return {key: {"stage": key.stage, "threads": str(key.threads)} for key in found}


def headings(series: Iterable[Series]) -> dict[Series, str]:
    """``threads 10``, ``stage queries`` or ``stage queries, threads 10``."""
    return {key: ", ".join(f"{name} {value}" for name, value in said.items()) for key, said in labels(series).items()}


def phrases(series: Iterable[Series]) -> dict[Series, str]:
    """The same within a sentence: ``10 threads``, ``stage queries`` or ``stage queries with 10 threads``."""
    found = {}
    for key, said in labels(series).items():
        threads, stage = f"{key.threads:,} threads" * ("threads" in said), f"stage {key.stage}" * ("stage" in said)
        found[key] = " with ".join(part for part in (stage, threads) if part)
    return found


def together(parts: Mapping[Series, Evaluation], noticed: Sequence[Doubt]) -> Evaluation:
    """The evaluation of the last series, with all ``parts`` and the doubts of all of them.

    ``noticed`` are those of them that stand in ``run.json``.
    """
    return replace(list(parts.values())[-1], series=dict(parts), doubts=_doubts(parts, noticed))


def _doubts(parts: Mapping[Series, Evaluation], noticed: Sequence[Doubt]) -> tuple[Doubt, ...]:
    found: list[Doubt] = []
    names = phrases(parts)
    for key, part in parts.items():
        for doubt in part.doubts:
            # What concerns the whole run or the database is the same for every series, and what the run noticed
            # while it went on is told with its cycle.
            general = doubt.scale is None or doubt.severe or doubt.code == "unchecked" or doubt in noticed
            told = doubt if general else replace(doubt, message=f"{names[key]}: {doubt.message}")
            found += [] if told in found else [told]
    return tuple(sorted(found, key=lambda doubt: not doubt.severe))
