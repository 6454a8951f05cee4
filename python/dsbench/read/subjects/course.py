"""The course of the cycles, second by second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import nan
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from dsbench.read.groups import grouped, plain, summed, whole
from dsbench.read.measured import Measured
from dsbench.read.subject import Result, Subject, computed
from dsbench.stats.values import Floats, Ints
from dsbench.workloads import Entry, Kind

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

def seconds(table: pa.Table, load: Mapping[int, Measured]) -> dict[int, Floats]:
    """See ``Evaluation.seconds``."""
    scale, cycle, second = (whole(table, name) for name in ("scale", "cycle", "second"))
    values = {name: whole(table, name) for name in ("count", "failed", "p50_ns", "p99_ns", "max_ns", "oldest_ns")}
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
        np.maximum.at(most, at, np.maximum(values["max_ns"], values["oldest_ns"])[here])
        course[:, 4] = np.where(most > 0, most, np.nan)
        result[x] = course
    return result


def counts_rows(kinds: Mapping[str, Kind], kind: str) -> bool:
    """Whether the operations of ``kind`` are rows."""
    return kind in kinds and bool(kinds[kind].rows)


def group_courses(
    entry: Entry, cycles: pa.Table, seconds: pa.Table, load: Mapping[int, Measured]
) -> dict[int, dict[str, Floats]]:
    """Scale to group to its course, one row per second of all cycles in order: operations and the longest time in ns.

    A second in which nothing ended has 0 and nan. The last second of a cycle may be a part of one.
    """
    kinds = {kind.name: kind for kind in entry.kinds}
    each: dict[tuple[int, str, str], float] = {}
    for row in summed(cycles, ["scale", "group", "kind"], "rows", "sum", "committed"):
        if counts_rows(kinds, row["kind"]) and row["committed_sum"]:
            each[row["scale"], row["group"], row["kind"]] = row["rows_sum"] / row["committed_sum"]
    found: dict[int, dict[str, Floats]] = defaultdict(dict)
    series, number = grouped(plain(seconds), ("scale", "group", "kind"))
    cycle, second, count, most = (whole(seconds, name) for name in ("cycle", "second", "count", "max_ns"))
    for at, (scale, group, kind) in enumerate(series):
        if scale not in load:
            continue
        lengths = _lengths(load[scale])
        course = found[scale].setdefault(group, np.stack([np.zeros(lengths.sum()), np.full(lengths.sum(), nan)], 1))
        of = np.minimum(np.searchsorted(load[scale].cycles, cycle), lengths.size - 1)
        here = (number == at) & (second < lengths[of])
        place = (np.cumsum(lengths) - lengths)[of[here]] + second[here]
        np.add.at(course[:, 0], place, count[here] * each.get((scale, group, kind), 1.0))
        np.fmax.at(course[:, 1], place, np.where(count[here] > 0, most[here].astype(float), nan))
    return dict(found)


def _lengths(part: Measured) -> Ints:
    """Seconds of each cycle, begun ones included."""
    return np.ceil(part.duration_s).astype(np.int64)


def whole_seconds(course: Floats, part: Measured) -> Floats:
    """Operations of those seconds that are whole ones."""
    lengths = _lengths(part)
    begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
    within = np.arange(course.shape[0]) - begins
    return np.asarray(course[within < np.repeat(np.floor(part.duration_s), lengths), 0])


def _read_group_courses(evaluation: Evaluation) -> dict[int, dict[str, Floats]]:
    rows = evaluation.rows
    return group_courses(rows.run.workload, rows.cycles, rows.of_cycles("seconds"), rows.load)


class CourseResult(Result):
    seconds: computed[Mapping[int, Floats]] = computed(
        lambda evaluation: seconds(evaluation.rows.of_cycles("seconds"), evaluation.rows.load)
    )
    """Scale to array of shape (seconds of all cycles in order, 5): count, failed, p50_ns, p99_ns, max_ns.

    Each cycle has ceil(D) rows, seconds without an end included (times nan there). With several nodes or
    kinds p50 and p99 are means weighted by count, an approximation; the maximum is exact. It is the age of a
    transaction that was under way during all of the second, if that is greater.
    """
    group_courses = computed(_read_group_courses)
    """Scale to group to an array of shape (seconds of all cycles in order, 2): operations, and the longest time in ns,
    nan where nothing ended."""


SUBJECT: Final = Subject(
    "course", "Timeline", CourseResult,
)  # fmt: skip
