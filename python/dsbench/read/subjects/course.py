"""The course of the cycles, second by second."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from dsbench.read.arrow import whole
from dsbench.read.measured import Measured
from dsbench.read.operations import group_courses
from dsbench.read.stats.values import Floats
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

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


def _read_group_courses(evaluation: Evaluation) -> dict[int, dict[str, Floats]]:
    rows = evaluation.rows
    return group_courses(rows.run.entry, rows.cycles, rows.of_cycles("seconds"), rows.load)


SUBJECT: Final = Subject(
    "course", "Timeline",
    reads={
        "seconds": lambda evaluation: seconds(evaluation.rows.of_cycles("seconds"), evaluation.rows.load),
        "group_courses": _read_group_courses,
    },
)  # fmt: skip
