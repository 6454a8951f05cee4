"""The course of a run that goes on: rates and times of its seconds as pictures, and its finished cycles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dsbench.archive import LOCAL, ArchiveError, folder
from dsbench.dataclass import dataclass
from dsbench.web.parts import number
from dsbench.web.pictures import Line, draw_lines, thin

_MOST: Final = 200
"""Cycles that are shown, the latest."""


@dataclass(frozen=True)
class FinishedCycle:
    """A finished cycle, over all nodes, clients and kinds."""

    scale: int
    number: int
    span_s: float
    committed: int
    failed: int
    p50_ms: float
    p99_ms: float
    slowest_ms: float
    seconds: Sequence[float]
    """Transactions in each of its seconds."""
    machine: Mapping[str, float]
    """CPUs by who took them, and shares of the time in which something waited; empty without."""

    @property
    def rate_tps(self) -> float:
        return self.committed / self.span_s if self.span_s else math.nan

    def row(self) -> list[str]:
        """Its cells, in the order of ``Course.heads``."""
        times = (self.p50_ms, self.p99_ms, self.slowest_ms)
        cpus = (self.machine.get(name, math.nan) for name in ("dsbench", "server", "idle"))
        return [
            str(self.scale), str(self.number), number(self.rate_tps),
            *(number(value) if value else "–" for value in times), f"{self.failed:,}",
            *(f"{value:.2f}" if math.isfinite(value) else "–" for value in cpus),
        ]  # fmt: skip


class Course:
    """The finished cycles of a run. Each is read once, when its part of ``cycles`` has come, the last of all."""

    heads = ("scale", "cycle", "tps", "p50 [ms]", "p99 [ms]", "slowest [ms]", "failed", "client CPUs", "server CPUs",
             "idle CPUs")  # fmt: skip

    def __init__(self) -> None:
        self._known: set[str] = set()
        self.cycles: list[FinishedCycle] = []
        """In their order."""
        self.nodes: list[list[str]] = []
        """Name, rate and failures of each remote node in the latest cycle; empty for a run without."""

    @property
    def rows(self) -> list[list[str]]:
        """The cells of the latest cycles, the last one first."""
        return [cycle.row() for cycle in self.cycles[: -_MOST - 1 : -1]]

    def rates(self, now: Sequence[float]) -> str:
        """The diagram of the rate over all seconds of load, with those of the cycle that goes on."""
        points, borders, at_s = list[tuple[float, float]](), dict[float, str](), 0.0
        for cycle in self.cycles:
            borders |= self._border(cycle, at_s)
            points += [(at_s + second + 0.5, rate) for second, rate in enumerate(cycle.seconds)]
            points.append((at_s + cycle.span_s, math.nan))
            at_s += cycle.span_s
        points += [(at_s + second + 0.5, rate) for second, rate in enumerate(now)]
        line = Line("rate", thin(points))
        return draw_lines([line], "Rate over the seconds of load", "tps", borders, at_s + len(now))

    def times(self, now: Sequence[tuple[float, float]], now_s: int) -> str:
        """The diagram of the latencies: of each finished cycle, and of each second of the one that goes on."""
        lines, borders, at_s = (list[tuple[float, float]](), list[tuple[float, float]]()), dict[float, str](), 0.0
        for cycle in self.cycles:
            borders |= self._border(cycle, at_s)
            for line, value in zip(lines, (cycle.p50_ms, cycle.p99_ms), strict=True):
                line += [(at_s, value or math.nan), (at_s + cycle.span_s, value or math.nan)]
                line.append((at_s + cycle.span_s, math.nan))
            at_s += cycle.span_s
        for second, pair in enumerate(now):
            for line, value in zip(lines, pair, strict=True):
                line.append((at_s + second + 0.5, 1e3 * value))
        named = [Line(name, line) for name, line in zip(("p50", "p99"), lines, strict=True)]
        return draw_lines(named, "Latency over the seconds of load", "ms", borders, at_s + now_s)

    def _border(self, cycle: FinishedCycle, at_s: float) -> dict[float, str]:
        """A name where a scale begins."""
        first = next(one for one in self.cycles if one.scale == cycle.scale)
        return {at_s: f"scale {cycle.scale:,}"} if first is cycle else {}

    def look(self, archive: Path, *, whole: bool = False) -> bool:
        """Reads what is new in the folder of the archive, or ``whole`` what it holds in the end; whether it was."""
        try:
            # Its parts may have become one before all of them were seen.
            sealed = whole and (archive / "cycles.parquet").is_file()
            stems = [""] if sealed else sorted(part.stem for part in archive.glob("cycles/*.parquet"))
        except (OSError, ValueError):  # A path that none can be.
            return False
        fresh = [stem for stem in stems if stem not in self._known]
        for stem in fresh:
            self._known.add(stem)
            with suppress(ArchiveError, OSError):  # What cannot be read is told where the archive is opened.
                cycles, nodes = _cycles(archive, stem), _nodes(archive, stem)
                self.cycles = [*self.cycles, *cycles] if stem else cycles
                self.nodes = nodes
        return bool(fresh)


_CPUS: Final = {"dsbench": "run", "server": "server", "kernel": "kernel", "other programs": "others",
                "the host": "stolen", "idle": "idle"}  # fmt: skip
_WAITS: Final = {"a CPU": "cpu_pressure", "storage": "io_pressure", "memory": "memory_pressure"}


def _cycles(archive: Path, stem: str) -> list[FinishedCycle]:
    """The cycles of one part, or with an empty ``stem`` those of a sealed archive."""
    maxima = dict.fromkeys(("residence_max_ns", "in_flight_max_ns"), "max")
    cycles = _sums(archive, "cycles", stem, committed="sum", failed="sum", **maxima)
    spans = {_at(row): row["duration_ns_max"] / 1e9 for row in _sums(archive, "groups", stem, duration_ns="max")}
    wanted: dict[str, Any] = {f"{name}_ns": "sum" for name in _CPUS.values()}
    wanted |= {f"{name}_ns": "max" for name in _WAITS.values()}
    sums = {_at(row): row for row in _sums(archive, "machine", stem, span_ns="max", own_bytes="sum", **wanted)}
    buckets: dict[_At, list[tuple[int, int]]] = {}
    for row in _sums(archive, "buckets", stem, "measure", "high_ns", count="sum"):
        if row["measure"] == "residence":
            buckets.setdefault(_at(row), []).append((row["high_ns"], row["count_sum"]))
    seconds: dict[_At, dict[int, int]] = {}
    for row in _sums(archive, "seconds", stem, "second", count="sum"):
        seconds.setdefault(_at(row), {})[row["second"]] = row["count_sum"]
    return [_cycle(row, spans.get(_at(row), 0.0), sorted(buckets.get(_at(row), ())), seconds.get(_at(row), {}),
                   sums.get(_at(row), {})) for row in sorted(cycles, key=_at)]  # fmt: skip


def _cycle(
    cycle: Mapping[str, Any], span_s: float, buckets: Sequence[tuple[int, int]], seconds: Mapping[int, int],
    used: Mapping[str, Any],
) -> FinishedCycle:  # fmt: skip
    machine = dict[str, float]()
    if span_ns := used.get("span_ns_max"):
        machine = {name: (used.get(f"{column}_ns_sum") or 0) / span_ns for name, column in _CPUS.items()}
        machine |= {name: (used.get(f"{column}_ns_max") or 0) / span_ns for name, column in _WAITS.items()
                    if used.get(f"{column}_ns_max") is not None}  # fmt: skip
        machine["bytes per second"] = (used.get("own_bytes_sum") or 0) / span_ns * 1e9
    slowest_ms = max(cycle["residence_max_ns_max"] or 0, cycle["in_flight_max_ns_max"] or 0) / 1e6
    rates = [float(seconds.get(second, 0)) for second in range(max(seconds, default=-1) + 1)]
    if rates and span_s % 1 > 0 and len(rates) == math.ceil(span_s):  # The last second may be a part of one.
        rates[-1] /= span_s % 1
    return FinishedCycle(
        cycle["scale"], cycle["cycle"], span_s, cycle["committed_sum"], cycle["failed_sum"],
        _quantile(buckets, 0.5) / 1e6, _quantile(buckets, 0.99) / 1e6, slowest_ms, rates, machine,
    )  # fmt: skip


def cpus_of(cycle: FinishedCycle) -> list[tuple[str, float]]:
    """Who took how many CPUs in a cycle; empty where that was not looked at."""
    return [(name, cycle.machine[name]) for name in _CPUS if name in cycle.machine]


def waits_of(cycle: FinishedCycle) -> list[tuple[str, float]]:
    """The shares of a cycle in which some thread of the machine waited, by what for."""
    return [(name, cycle.machine[name]) for name in _WAITS if name in cycle.machine]


def _nodes(archive: Path, stem: str) -> list[list[str]]:
    found = _sums(archive, "cycles", stem, "node", committed="sum", failed="sum") if stem else []
    if {row["node"] for row in found} <= {LOCAL}:
        return []
    span_s = max((row["duration_ns_max"] for row in _sums(archive, "groups", stem, duration_ns="max")), default=0) / 1e9
    rates = {row["node"]: row["committed_sum"] / span_s if span_s else math.nan for row in found}
    return [[row["node"], number(rates[row["node"]]), f"{row['failed_sum']:,}"] for row in found]


_At = tuple[int, int]


def _at(row: Mapping[str, Any]) -> _At:
    return row["scale"], row["cycle"]


def _sums(archive: Path, kind: str, stem: str, *more: str, **columns: str) -> list[dict[str, Any]]:
    """A table by scale and cycle, and by ``more``, over all nodes, clients and kinds; empty where nothing is there."""
    import pyarrow as pa  # Late: these take a tenth of a second.

    from dsbench.archive.parts import table_of

    paths = [archive / kind / f"{stem}.parquet", *sorted((archive / kind).glob(f"{stem}_*.parquet"))] if stem else \
        [archive / f"{kind}.parquet"]  # fmt: skip
    by = ["scale", "cycle", *more]
    tables = [
        table_of(kind, folder.read(archive, path.relative_to(archive).as_posix()), str(path)).select([*by, *columns])
        for path in paths if path.is_file()
    ]  # fmt: skip
    if not tables:
        return []
    wanted: list[Any] = list(columns.items())
    found: list[dict[str, Any]] = pa.concat_tables(tables).group_by(by).aggregate(wanted).to_pylist()
    return found


def _quantile(buckets: Sequence[tuple[int, int]], share: float) -> float:
    """The upper bound of the bucket in which that share of the transactions has ended, in ns; 0 without any."""
    left = share * sum(count for _, count in buckets)
    for high_ns, count in buckets:
        left -= count
        if left <= 0:
            return float(high_ns)
    return 0.0
