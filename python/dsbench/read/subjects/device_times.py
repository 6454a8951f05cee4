"""How long the disks of the data took for each request (--perf storage)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Diagram, Sentence, Table
from dsbench.read.series import each_series
from dsbench.read.subject import Result, Subject, computed
from dsbench.stats.device_times import mean_of, quantile_of, survival_of
from dsbench.stats.values import known

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_ORDER: Final = ("read", "write", "forced write", "flush")
_LEAST: Final = 100
"""Requests from which on they are drawn."""


@dataclass(frozen=True)
class Timed:
    """The requests of one kind at one scale, of all disks of the data."""

    operation: str
    """``read``, ``write``, ``forced write`` or ``flush``."""
    count: int
    per_transaction: float
    mean_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    """As all quantiles ``nan`` where fewer than five requests are expected beyond."""
    max_ns: float
    buckets: tuple[tuple[int, int, int], ...]
    """Least time, greatest time and how many requests."""


def _read_times(evaluation: Evaluation) -> dict[int, tuple[Timed, ...]]:
    clients = set(evaluation.rows.cycles["clients"].to_pylist())
    sums: dict[tuple[int, str], dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    committed: dict[int, int] = {}
    for row in evaluation.rows.tables["device_times"].to_pylist():
        if row["clients"] in clients:
            sums[row["scale"], row["operation"]][row["low_ns"], row["high_ns"]] += row["count"]
            committed[row["scale"]] = row["committed"]
    found: dict[int, list[Timed]] = defaultdict(list)
    for (scale, operation), counts in sorted(sums.items(), key=lambda one: (one[0][0], _ORDER.index(one[0][1]))):
        buckets = tuple((low, high, count) for (low, high), count in sorted(counts.items()))
        number = sum(count for *_, count in buckets)
        middle, most, late = (quantile_of(buckets, q) if known(q, number) else float("nan") for q in (0.5, 0.9, 0.99))
        found[scale].append(Timed(
            operation, number, number / committed[scale] if committed[scale] else float("nan"), mean_of(buckets),
            middle, most, late, float(buckets[-1][1]), buckets,
        ))  # fmt: skip
    return {scale: tuple(some) for scale, some in found.items()}


_COLUMNS: Final = (
    Column("operation", left=True), Column("requests"), Column("per transaction"), Column("mean", "ms", 1e-6),
    Column("50% within", "ms", 1e-6), Column("90% within", "ms", 1e-6), Column("99% within", "ms", 1e-6),
    Column("longest", "ms", 1e-6),
)  # fmt: skip
_NOTE: Final = (
    "Requests of all processes, from the time the kernel passed them to the device to their end, during one more "
    "cycle; times are accurate to 4%. Forced writes bypass the device's cache, a flush empties it. Time in the "
    "kernel's queues is not included."
)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    for heading, part in each_series(evaluation):
        for scale, timed in part.of(DeviceTimesResult).device_times.items():
            where = f"scale {scale}" + (f", {heading}" if heading else "")
            names = ("operation", "count", "per_transaction", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")
            rows = [tuple(getattr(one, name) for name in names) for one in timed]
            yield Table(f"Times of the device, {where}", _COLUMNS, rows)
            if spec := _draw(timed, where):
                caption = "Share of the requests that took longer than the time on the axis."
                yield Diagram(f"device-{part.stage}-clients-{part.clients}-scale-{scale}", spec, caption, wide=True)
    if any(part.of(DeviceTimesResult).device_times for _, part in each_series(evaluation)):
        yield Sentence(_NOTE, "note")


_COLOURS: Final = {"read": "#56b4e9", "write": "#009e73", "forced write": "#a6761d", "flush": "#d55e00"}


def _draw(timed: Sequence[Timed], where: str) -> dict[str, Any]:
    data: list[Mapping[str, Any]] = [
        {"operation": one.operation, "ms": time_ns / 1e6, "longer": share}
        for one in timed if one.count >= _LEAST for time_ns, share in survival_of(one.buckets)
    ]  # fmt: skip
    if not data:
        return {}
    present = list(dict.fromkeys(row["operation"] for row in data))
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": f"Times of the device at {where}",
        "title": f"Times of the device, {where}",
        "width": 860, "height": 220,
        "data": {"values": data},
        "mark": {"type": "line", "interpolate": "step-after"},
        "encoding": {
            "x": {"field": "ms", "type": "quantitative", "scale": {"type": "log"}, "title": "time [ms]"},
            "y": {"field": "longer", "type": "quantitative", "scale": {"type": "log"}, "axis": {"format": "~%"},
                  "title": "share that took longer"},
            "color": {"field": "operation", "type": "nominal", "title": None, "sort": present,
                      "scale": {"domain": present, "range": [_COLOURS[name] for name in present]}},
            "tooltip": [{"field": "operation", "type": "nominal"},
                        {"field": "ms", "type": "quantitative", "format": ".3~s"},
                        {"field": "longer", "type": "quantitative", "format": ".2~%"}],
        },
    }  # fmt: skip


class DeviceTimesResult(Result):
    device_times = computed(_read_times)
    """By scale: how long the disks of the data took for their requests; empty without --perf storage."""


SUBJECT: Final = Subject(
    "device_times",
    "Times of the device", DeviceTimesResult,
    tell=_tell,
    nothing="Requests of the device were not timed: --perf storage does, where the kernel allows it; the warnings "
    "show why it does not. Means of reads, writes and flushes are in show --by cost.",
)
