"""Residence times of a scale, and the course of its cycles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.format import NONE, format_number
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.groups import whole
from dsbench.read.measured import Measured
from dsbench.read.series import label_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.stats import histogram as hist
from dsbench.stats.ledger import Ledger
from dsbench.stats.values import Frequency, Interval

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

OTHER_QUANTILES: Final = (0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
"""Quantiles beside the confidence levels, whatever those are; TPC-B's limit of 2 s is one for 0.9."""


def frequency(
    buckets: pa.Table, measure: str, load: Mapping[int, Measured], levels: Iterable[float]
) -> dict[int, Frequency]:
    """The distribution by scale; ``load`` gives the exact extremes of the residence times."""
    chosen = buckets.filter(pc.field("measure") == measure)
    names = ("scale", "cycle", "low_ns", "high_ns", "count")
    scale, cycle, low, high, count = (whole(chosen, name) for name in names)
    result = {}
    for x in np.unique(scale):
        here = scale == x
        exact = load[int(x)].extremes_ns if int(x) in load else (None, None)
        values = hist.histogram(low[here], high[here], count[here], min_ns=exact[0], max_ns=exact[1])
        if values.count:
            rows = hist.BucketRows(cycle[here], low[here], count[here])
            result[int(x)] = hist.frequency(values, (*levels, *OTHER_QUANTILES), rows)
    return result


_SHOWN: Final = {0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p99.9", 1.0: "max"}
SURE: Final = (0.5, 0.95, 0.99)
"""Quantiles that are shown with their intervals."""
_SURE: Final = "at 95%, over the cycles"
_MEASURES: Final = {
    "response": "Response times, from the intended start", "frequency": "Latency, from the start of the first attempt",
}  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """Quantiles by scale with their intervals over the cycles; in the open loop of response times, too."""
    from dsbench.read.subjects.clients import ClientsResult  # Late: it needs this module.

    labels, parts = label_series(evaluation)
    heads: list[Column] = [*labels, Column("scale"), Column("transactions")]
    for quantile, name in _SHOWN.items():
        heads.append(Column(name, "ms", 1e-6))
        heads += [Column(f"{name} interval", "ms", left=True, spare=True, about=_SURE)] if quantile in SURE else []
    heads.append(Column("max by cycle", "ms", left=True, spare=True))
    for result, title in _MEASURES.items():
        rows: list[tuple[Any, ...]] = []
        every: list[Frequency] = []
        for said, part in parts:
            curves: Mapping[int, Frequency] = getattr(part.of(LatencyResult), result)
            apart = result != "response" and part.of(LatencyResult).response
            longest = {} if apart else part.of(ClientsResult).ledger
            rows += [(*said, *_cells(x, one, longest.get(x))) for x, one in sorted(curves.items())]
            every += curves.values()
        if rows:
            filled = [at for at in range(len(heads)) if any(row[at] != NONE for row in rows)]
            yield Table(title, [heads[at] for at in filled], [[row[at] for at in filled] for row in rows])
            if not all(isfinite(hist.quantile_interval(one, q).low) for one in every for q in SURE):
                yield Sentence(_FEW, "note")


_FEW: Final = (
    f"A quantile has an interval where {hist.FEWEST_CYCLES} cycles or more agree on it and {hist.LEAST_LEFT} "
    "transactions or more lie beyond it."
)


def _cells(scale: int, curve: Frequency, ledger: Ledger | None) -> tuple[Any, ...]:
    """The greatest time is that of all transactions, those in flight at the end of a cycle included."""
    cells: list[Any] = [scale, curve.count]
    for quantile in _SHOWN:
        cells.append(ledger.longest_ns if ledger and quantile == 1 else curve.told(quantile))
        cells += [show_ends(hist.quantile_interval(curve, quantile))] if quantile in SURE else []
    least, most = curve.maxima_ns
    return (*cells, show_ends(Interval(most, least, most, 1.0)))


def show_ends(found: Interval) -> str:
    """The ends of an interval of ns in ms: ``11.8–12.9``; a dash where it has none."""
    if not isfinite(found.low):
        return NONE
    return f"{format_number(found.low, 1e-6)}–{format_number(found.high, 1e-6)}"


def _read_quantiles(part: Evaluation) -> dict[int, dict[str, Interval]]:
    """In ns, with their intervals over the cycles; in the open loop of response times."""
    curves = part.of(LatencyResult).response or part.of(LatencyResult).frequency
    return {x: {_SHOWN[q]: hist.quantile_interval(one, q) for q in SURE} for x, one in curves.items()}


_WORDS: Final = {0.5: "median", 1.0: "maximum"}


def _measure(name: str, quantile: float) -> Measure:
    """In the open loop of response times."""
    word = _WORDS.get(quantile, f"{quantile * 100:g}% quantile")
    needs = "use more or longer cycles: a percentile needs 5 transactions beyond it" * (quantile < 1)
    return Measure(name, "ms", f"{word} of the latencies", _of_quantile(quantile), more=False, own=True, needs=needs)


def _of_quantile(quantile: float) -> Callable[[Evaluation], dict[int, float]]:
    def read(part: Evaluation) -> dict[int, float]:
        from dsbench.read.subjects.clients import ClientsResult, longest_ns  # Late: it needs this module.

        curves = part.of(LatencyResult).response or part.of(LatencyResult).frequency
        if quantile == 1:
            scales = sorted({*curves, *part.of(ClientsResult).ledger})
            return {x: (longest_ns(part, x) or 0.0) / 1e6 for x in scales}
        return {x: one.told(quantile) / 1e6 for x, one in curves.items()}

    return read


class LatencyResult(Result):
    frequency: computed[Mapping[int, Frequency]] = computed(
        lambda evaluation: frequency(
            evaluation.rows.buckets, "residence", evaluation.rows.load, evaluation.levels
        )
    )
    quantiles = computed(_read_quantiles)
    """Scale to p50, p95 and p99 in ns with their 95% intervals over the cycles, whose bounds are nan where these or
    the transactions are too few; in the open loop of response times."""
    response: computed[Mapping[int, Frequency]] = computed(
        lambda evaluation: frequency(evaluation.rows.buckets, "response", {}, evaluation.levels)
    )
    """As ``frequency``, from the intended starts; empty in the closed loop."""

    def curve(self, scale: int) -> Frequency | None:
        """The response times of a scale where they are apart from the residence times, else these; ``None`` without."""
        return self.response.get(scale) or self.frequency.get(scale)


SUBJECT: Final = Subject(
    "latency", "Latency", LatencyResult, tell=_tell, nothing="No transaction was committed.",
    measures=tuple(_measure(name, q) for q, name in sorted(_SHOWN.items())),
)  # fmt: skip
