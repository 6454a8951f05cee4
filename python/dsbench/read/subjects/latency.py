"""Residence times of a scale, and the course of its cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.read.blocks import Block, Column, Table
from dsbench.read.groups import whole
from dsbench.read.measured import Measured
from dsbench.read.series import each_series
from dsbench.read.stats import histogram as hist
from dsbench.read.stats.values import Frequency
from dsbench.read.subject import Measure, Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

OTHER_QUANTILES: Final = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
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


_SHOWN: Final = {0.5: "p50", 0.9: "p90", 0.99: "p99", 0.999: "p99.9", 1.0: "max"}
_MEASURES: Final = {
    "response": "Response times, from the intended start", "frequency": "Latency, from the start of the first attempt",
}  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """Quantiles by scale; in the open loop of response times, too."""
    columns = (Column("scale"), Column("transactions"), *(Column(name, "ms", 1e-6) for name in _SHOWN.values()))
    for heading, part in each_series(evaluation):
        for result, title in _MEASURES.items():
            curves: Mapping[int, Frequency] = getattr(part, result)
            rows = [(x, one.count, *(one.told(q) for q in _SHOWN)) for x, one in sorted(curves.items())]
            if rows:
                yield Table(f"{title}, {heading}" if heading else title, columns, rows)


_WORDS: Final = {0.5: "median", 1.0: "greatest"}


def _measure(name: str, quantile: float) -> Measure:
    """In the open loop of response times."""
    word = _WORDS.get(quantile, f"{quantile * 100:g} % quantile")
    return Measure(name, "ms", f"{word} of the residence times", _of_quantile(quantile), more=False, own=True)


def _of_quantile(quantile: float) -> Callable[[Evaluation], dict[int, float]]:
    def read(part: Evaluation) -> dict[int, float]:
        curves = part.response or part.frequency
        return {x: one.quantiles_ns[quantile] / 1e6 for x, one in curves.items()}

    return read


SUBJECT: Final = Subject(
    "latency", "Latency", tell=_tell, nothing="No transaction was committed.",
    measures=tuple(_measure(name, q) for q, name in sorted({**_SHOWN, 0.95: "p95"}.items())),
    reads={
        "frequency": lambda evaluation: frequency(
            evaluation.rows.buckets, "residence", evaluation.rows.load, evaluation.levels
        ),
        "response": lambda evaluation: frequency(evaluation.rows.buckets, "response", {}, evaluation.levels),
    },
)  # fmt: skip
