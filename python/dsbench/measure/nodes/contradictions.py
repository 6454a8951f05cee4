"""Whether the numbers of a node's part fit each other: each may be possible, and all of them together a lie."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dsbench.archive.columns import COUNTERS
from dsbench.measure.loaders import CycleResult
from dsbench.measure.nodes.outcome import DamagedError

_Numbers = NDArray[np.float64]
_ROUGH: Final = 1.01
"""The end of a group that follows another is known a transaction late."""


def refuse_contradictions(result: CycleResult) -> None:
    """``DamagedError`` with the rule that ``result`` breaks; an entry of a commons is held to the same."""
    of = {name: result.counters[:, :, at].astype(np.float64) for at, name in enumerate(COUNTERS)}
    done, least, most = of["committed"] + of["rolled_back"], of["residence_min_ns"], of["residence_max_ns"]
    spent = of["ended_ns"] + of["in_flight_ns"] + of["connecting_ns"] + of["waiting_ns"]
    some = done > 0
    rules = {
        "the minimum time is above the maximum": (least > most) & some,
        "the sum of the times does not fit their number": (done * least > of["residence_ns"])
        | (of["residence_ns"] > done * most),
        "the last end is before the first start": (of["first_start_ns"] > of["last_end_ns"]) & some,
        "response times are below residence times": of["response_ns"] < of["residence_ns"],
        "more commits than transactions in flight": of["commits_after_window"] > of["in_flight"],
        "more client time than the cycle has": spent.sum(axis=1) > _ROUGH * of["client_ns"].sum(axis=1),
    }
    for words, broken in rules.items():
        if broken.any():
            raise DamagedError(words)
    _refuse_histograms(result, done, least, most)


def _refuse_histograms(result: CycleResult, done: _Numbers, least: _Numbers, most: _Numbers) -> None:
    """Each transaction that was counted is in a histogram of its group and kind once, between the extremes."""
    for group, kind, measure, rows in result.histograms:
        here = result.groups == group
        if measure == "failed":
            continue
        if int(rows[:, 2].sum()) != int(done[here, kind].sum()):
            raise DamagedError("histogram and counters have different numbers of transactions")
        some = here & (done[:, kind] > 0)
        if measure == "residence" and some.any():
            low, high = least[some, kind].min(), most[some, kind].max()
            if rows[:, 1].min() < low or rows[:, 0].max() > high:
                raise DamagedError("the histogram has times beyond the extremes of the counters")
