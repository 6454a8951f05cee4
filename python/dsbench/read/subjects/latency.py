"""Residence times of a scale, and the course of its cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.arrow import whole
from dsbench.read.measured import Measured
from dsbench.read.stats import histogram as hist
from dsbench.read.stats.values import Frequency
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    pass

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


SUBJECT: Final = Subject(
    "latency", "Latency",
    reads={
        "frequency": lambda evaluation: frequency(
            evaluation.rows.buckets, "residence", evaluation.rows.load, evaluation.levels
        ),
        "response": lambda evaluation: frequency(evaluation.rows.buckets, "response", {}, evaluation.levels),
    },
)  # fmt: skip
