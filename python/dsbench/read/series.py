"""A run of several series, as one evaluation for each of them and one for the whole; and what they are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dsbench.archive import RunRecord
from dsbench.read.blocks import Column
from dsbench.read.groups import Series

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation


def run_shown(run: RunRecord, evaluation: Evaluation) -> RunRecord:
    """``run.json`` for what ``evaluation`` itself shows: of several series one."""
    return run.at(evaluation.clients) if evaluation.series else run


def labels(series: Iterable[Series]) -> dict[Series, dict[str, str]]:
    """For each of ``series`` what tells it from the others: its clients, its stage, or both, by these names."""
    found = list(series)
    stages = {key.stage for key in found}
    if len(stages) < 2:
        return {key: {"clients": str(key.clients)} for key in found}
    if len(stages) == len(found):
        return {key: {"stage": key.stage} for key in found}
    return {key: {"stage": key.stage, "clients": str(key.clients)} for key in found}


def headings(series: Iterable[Series]) -> dict[Series, str]:
    """``clients 10``, ``stage queries`` or ``stage queries, clients 10``: the latter where a stage has several."""
    said = labels(series)
    often = Counter(key.stage for key in said)
    return {key: ", ".join(f"{name} {value}" for name, value in parts.items()
                           if name == "stage" or len(parts) == 1 or often[key.stage] > 1)
            for key, parts in said.items()}  # fmt: skip


def phrases(series: Iterable[Series]) -> dict[Series, str]:
    """The same within a sentence: ``10 clients``, ``stage queries`` or ``stage queries with 10 clients``."""
    found = {}
    for key, said in labels(series).items():
        plural = "s" * (key.clients != 1)
        clients = f"{key.clients:,} client{plural}" * ("clients" in said)
        stage = f"stage {key.stage}" * ("stage" in said)
        found[key] = " with ".join(part for part in (stage, clients) if part)
    return found


def each_series(evaluation: Evaluation) -> list[tuple[str, Evaluation]]:
    """Every series with its heading; of a run with one series that one, without a heading."""
    names = headings(evaluation.series)
    return [(names[key], part) for key, part in evaluation.series.items()] or [("", evaluation)]


def label_series(evaluation: Evaluation) -> tuple[tuple[Column, ...], list[tuple[tuple[str, ...], Evaluation]]]:
    """The first columns of a table of all series, and every series with its cells; none where the run has one."""
    said = labels(evaluation.series)
    columns = tuple(Column(name, left=name == "stage") for name in next(iter(said.values()), {}))
    parts = [(tuple(said[key].values()), part) for key, part in evaluation.series.items()]
    return columns, parts or [((), evaluation)]
