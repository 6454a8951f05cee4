"""Numbers of a node that are each possible, and together a lie, are named and not counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsbench.archive.columns import COUNTERS
from dsbench.measure.loaders import SECOND_WORDS, CycleResult
from dsbench.measure.nodes.outcome import DamagedError, refuse_contradictions

HONEST = {
    "committed": 2, "residence_ns": 3000, "response_ns": 3000, "residence_min_ns": 1000, "residence_max_ns": 2000,
    "first_start_ns": 10, "last_end_ns": 5000, "in_flight": 1, "commits_after_window": 1, "ended_ns": 3000,
    "in_flight_ns": 1000, "client_ns": 5000,
}  # fmt: skip
TIMES = [[1000, 1000, 1], [2000, 2000, 1]]


def said(times: list[list[int]], **counters: int) -> CycleResult:
    values = np.zeros((1, 1, len(COUNTERS)), "<u8")
    for name, value in {**HONEST, **counters}.items():
        values[0, 0, COUNTERS.index(name)] = value
    histograms = ((0, 0, "residence", np.array(times, "<u8")), (0, 0, "failed", np.zeros((0, 3), "<u8")))
    return CycleResult(values, np.zeros(1, "<u8"), histograms, np.zeros((0, SECOND_WORDS), "<u8"), (), {}, None)


def test_what_fits_is_believed() -> None:
    refuse_contradictions(said(TIMES))
    refuse_contradictions(replace(said(TIMES), counters=np.zeros((0, 1, len(COUNTERS)), "<u8"), histograms=()))


@pytest.mark.parametrize(
    ("times", "counters", "words"),
    [
        (TIMES, {"residence_min_ns": 2**52}, "the minimum time is above the maximum"),
        (TIMES, {"residence_ns": 30_000, "response_ns": 30_000}, "the sum of the times does not fit their number"),
        (TIMES, {"last_end_ns": 1}, "the last end is before the first start"),
        (TIMES, {"response_ns": 2999}, "response times are below residence times"),
        (TIMES, {"commits_after_window": 2}, "more commits than transactions in flight"),
        (TIMES, {"in_flight_ns": 9000}, "more client time than the cycle has"),
        ([[1, 1, 2]], {}, "the histogram has times beyond the extremes of the counters"),
        ([*TIMES, [2000, 2000, 1]], {}, "histogram and counters have different numbers of transactions"),
    ],
)
def test_a_lie_is_named(times: list[list[int]], counters: dict[str, int], words: str) -> None:
    with pytest.raises(DamagedError, match=words):
        refuse_contradictions(said(times, **counters))
