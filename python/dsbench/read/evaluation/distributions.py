"""Residence times of a scale, and the course of its cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.evaluation.arrow import whole
from dsbench.read.evaluation.measured import Measured
from dsbench.read.stats import histogram as hist
from dsbench.read.stats.values import Floats, Frequency

OTHER_QUANTILES: Final = (0.5, 0.9, 0.99, 0.999, 1.0)
"""Quantiles beside the confidence levels, whatever those are; TPC-B's limit of 2 s is one for 0.9."""


def frequency(
    buckets: pa.Table, measure: str, load: Mapping[int, Measured], levels: Iterable[float]
) -> dict[int, Frequency]:
    """The distribution by scale; ``load`` gives the exact extremes of the residence times."""
    chosen = buckets.filter(pc.field("measure") == measure)
    scale, low, high, count = (whole(chosen, name) for name in ("scale", "low_ns", "high_ns", "count"))
    result = {}
    for x in np.unique(scale):
        here = scale == x
        exact = load[int(x)].extremes_ns if int(x) in load else (None, None)
        values = hist.histogram(low[here], high[here], count[here], min_ns=exact[0], max_ns=exact[1])
        if values.count:
            result[int(x)] = hist.frequency(values, (*levels, *OTHER_QUANTILES))
    return result


def seconds(table: pa.Table, load: Mapping[int, Measured]) -> dict[int, Floats]:
    """See ``Evaluation.seconds``."""
    scale, cycle, second = (whole(table, name) for name in ("scale", "cycle", "second"))
    values = {name: whole(table, name) for name in ("count", "failed", "p50_ns", "p99_ns", "max_ns")}
    result = {}
    for x, part in load.items():
        lengths = np.ceil(part.duration_s).astype(np.int64)
        number = np.minimum(np.searchsorted(part.cycles, cycle), part.cycles.size - 1)
        here = (scale == x) & (second < lengths[number])
        if not here.any():
            continue
        at = (np.cumsum(lengths) - lengths)[number[here]] + second[here]
        size = int(lengths.sum())
        count = np.bincount(at, values["count"][here], size)
        course = np.full((size, 5), np.nan)
        course[:, 0] = count
        course[:, 1] = np.bincount(at, values["failed"][here], size)
        for column, name in ((2, "p50_ns"), (3, "p99_ns")):
            weighted = np.bincount(at, values[name][here] * values["count"][here].astype(float), size)
            np.divide(weighted, count, out=course[:, column], where=count > 0)
        most = np.zeros(size)
        np.maximum.at(most, at, values["max_ns"][here])
        course[:, 4] = np.where(count > 0, most, np.nan)
        result[x] = course
    return result
