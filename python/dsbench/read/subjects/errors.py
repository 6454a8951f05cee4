"""Attempts that failed: by class, the share that succeeded, and the model of collisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from dsbench.read.arrow import counts_by
from dsbench.read.measured import Measured
from dsbench.read.subject import Subject
from dsbench.read.subjects.warnings import collision
from dsbench.workloads import Entry

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.stats.values import Collision

def remote_share(workload: Entry, load: Mapping[int, Measured]) -> dict[int, float]:
    """By scale, out of all commits, early and late ones included, as ``remote`` counts them."""
    totals = {x: (part.total("remote"), part.kept) for x, part in load.items()}
    if workload.remote is None and not any(remote for remote, _ in totals.values()):
        return {}
    return {x: remote / of for x, (remote, of) in totals.items() if of}


def _read_success(evaluation: Evaluation) -> dict[int, float]:
    load = evaluation.rows.load
    return {x: 1 - part.total("failed") / part.attempts for x, part in load.items() if part.attempts}


def _read_collision(evaluation: Evaluation) -> Collision | None:
    rows = evaluation.rows
    return collision(rows.run, evaluation.success_share, rows.load, rows.makers)


SUBJECT: Final = Subject(
    "errors", "Errors",
    reads={
        "success_share": _read_success,
        "remote_share": lambda evaluation: remote_share(evaluation.rows.run.entry, evaluation.rows.load),
        "errors": lambda evaluation: counts_by(evaluation.rows.failed, "class", "count"),
        "collision": _read_collision,
    },
)  # fmt: skip
