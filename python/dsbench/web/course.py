"""The course of a run that goes on: rates and times of its seconds as pictures, and its finished cycles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dsbench.archive import LOCAL, ArchiveError, folder
from dsbench.web.parts import number

_WIDTH, _HEIGHT, _LEFT, _NAME = 480, 170, 56, 130
_MOST: Final = 200
"""Cycles that are shown, the latest."""


def svg(lines: Mapping[str, Sequence[float]], what: str, unit: str) -> str:
    """Values of seconds as lines from 0 to the greatest of all, each with its name and the last value, and an axis.

    Made of numbers and of our own words only. ``what`` they are, in ``unit``.
    """
    top = max((value for values in lines.values() for value in values), default=0.0) or 1.0
    most = max(map(len, lines.values()), default=0)
    wide = (_WIDTH - _LEFT - 4) / max(most - 1, 1)
    drawn, legend, said = "", "", ""
    for number_of, (name, values) in enumerate(lines.items()):
        points = " ".join(f"{_LEFT + i * wide:.1f},{_HEIGHT - 22 - value / top * (_HEIGHT - 34):.1f}"
                          for i, value in enumerate(values))  # fmt: skip
        drawn += f'<polyline class="line-{number_of}" points="{points}"/>'
        if values:
            told = f"{name} {number(values[-1])} {unit}"
            said += f", {told}"
            if len(lines) > 1:
                at = _LEFT + _NAME * (number_of + 1)
                legend += f'<text class="line-{number_of}" x="{at}" y="{_HEIGHT - 4}">{told}</text>'
    ticks = "".join(
        f'<text x="{_LEFT - 6}" y="{_HEIGHT - 18 - share * (_HEIGHT - 34):.0f}" text-anchor="end">{number(share * top)}'
        f'</text><line x1="{_LEFT}" x2="{_WIDTH - 4}" y1="{y:.0f}" y2="{y:.0f}"/>'
        for share in (0.0, 0.5, 1.0) if (y := _HEIGHT - 22 - share * (_HEIGHT - 34)) >= 0
    )  # fmt: skip
    whole = f"{what} in each second{said}, the greatest {number(top)} {unit}" if said else f"{what}: none yet"
    words = f"{unit}, by seconds" if said else "waiting for the first second of a cycle"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{whole}">{ticks}'
        f'<text x="{_LEFT}" y="{_HEIGHT - 4}">{words}</text>{legend}{drawn}</svg>'
    )


class Course:
    """The finished cycles of a run. Each is read once, when its part of ``cycles`` has come, the last of all."""

    heads = ("scale", "cycle", "tps", "p50 [ms]", "p99 [ms]", "slowest [ms]", "failed", "client CPUs", "server CPUs",
             "idle CPUs")  # fmt: skip

    def __init__(self) -> None:
        self._known: set[str] = set()
        self.rows: list[list[str]] = []
        """The latest cycle first."""
        self.nodes: list[list[str]] = []
        """Name, rate and failures of each remote node in the latest cycle; empty for a run without."""

    def look(self, archive: Path, *, whole: bool = False) -> bool:
        """Reads what is new in the folder of the archive, or ``whole`` what it holds in the end; whether it was."""
        try:
            fresh = sorted(part.stem for part in archive.glob("cycles/*.parquet") if part.stem not in self._known)
            if whole and not self._known and (archive / "cycles.parquet").is_file():
                fresh = [""]
        except (OSError, ValueError):  # A path that none can be.
            return False
        for stem in fresh:
            self._known.add(stem)
            with suppress(ArchiveError, OSError):  # What cannot be read is told where the archive is opened.
                self.rows = [*_rows(archive, stem), *self.rows][:_MOST]
                self.nodes = _nodes(archive, stem)
        return bool(fresh)


def _rows(archive: Path, stem: str) -> list[list[str]]:
    """The cycles of one part, or with an empty ``stem`` those of a sealed archive, the latest first."""
    cycles = _sums(archive, "cycles", stem, committed="sum", failed="sum", residence_max_ns="max")
    spans = {_at(row): row["duration_ns_max"] / 1e9 for row in _sums(archive, "groups", stem, duration_ns="max")}
    machine = _sums(archive, "machine", stem, span_ns="max", run_ns="sum", server_ns="sum", idle_ns="sum")
    buckets: dict[_At, list[tuple[int, int]]] = {}
    for row in _sums(archive, "buckets", stem, "high_ns", count="sum"):
        buckets.setdefault(_at(row), []).append((row["high_ns"], row["count_sum"]))
    used = {_at(row): row for row in machine}
    return [_row(row, spans.get(_at(row), 0.0), sorted(buckets.get(_at(row), ())), used.get(_at(row), {}))
            for row in sorted(cycles, key=_at, reverse=True)]  # fmt: skip


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
    """A table by scale and cycle, and by ``more``, over all nodes, threads and kinds; empty where nothing is there."""
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


def _row(
    cycle: Mapping[str, Any], span_s: float, buckets: Sequence[tuple[int, int]], used: Mapping[str, Any]
) -> list[str]:
    times = (_quantile(buckets, 0.5), _quantile(buckets, 0.99), cycle["residence_max_ns_max"] or 0)
    cpus = [(used.get(f"{name}_ns_sum") or 0) / used["span_ns_max"] if used.get("span_ns_max") else math.nan
            for name in ("run", "server", "idle")]  # fmt: skip
    return [
        str(cycle["scale"]), str(cycle["cycle"]), number(cycle["committed_sum"] / span_s) if span_s else "–",
        *(number(value / 1e6) if value else "–" for value in times), f"{cycle['failed_sum']:,}",
        *(f"{value:.2f}" if math.isfinite(value) else "–" for value in cpus),
    ]  # fmt: skip


def _quantile(buckets: Sequence[tuple[int, int]], share: float) -> float:
    """The upper bound of the bucket in which that share of the transactions has ended, in ns; 0 without any."""
    left = share * sum(count for _, count in buckets)
    for high_ns, count in buckets:
        left -= count
        if left <= 0:
            return float(high_ns)
    return 0.0
