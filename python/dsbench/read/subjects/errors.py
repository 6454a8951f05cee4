"""Attempts that failed: by class, the share that succeeded, and the model of collisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dsbench.archive import RunRecord
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.groups import Makers, counts_by
from dsbench.read.measured import Measured
from dsbench.read.series import each_series, label_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.stats.fits import fit_collision
from dsbench.stats.values import Collision
from dsbench.workloads import Entry

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

def remote_share(workload: Entry, load: Mapping[int, Measured]) -> dict[int, float]:
    """By scale, out of all commits, early and late ones included, as ``remote`` counts them."""
    totals = {x: (part.total("remote"), part.kept) for x, part in load.items()}
    if workload.remote is None and not any(remote for remote, _ in totals.values()):
        return {}
    return {x: remote / of for x, (remote, of) in totals.items() if of}


def collision(
    run: RunRecord, success: Mapping[int, float], load: Mapping[int, Measured], makers: Makers
) -> Collision | None:
    """The model of collisions where it applies: snapshots of one row per unit of scale, several writers at a time.

    It supposes that all clients always have a transaction under way: in the closed loop, with every node.
    """
    shares = {x: share for x, share in success.items() if x not in run.broken and load[x].present.all()}
    applies = (
        run.workload.data.hot_row
        and makers.pacings == {"closed"}
        and run.in_force != "read-committed"
        and not run.dialect.single_writer
        and not _waits(run)
        and any(share < 1 for share in shares.values())
    )
    return fit_collision(list(shares), list(shares.values()), makers.clients) if applies else None


def _waits(run: RunRecord) -> bool:
    """InnoDB lets an update wait for the one before it and then go on: what fails there are deadlocks."""
    return run.item("RDBMS", "storage engine").lower() == "innodb"


def _read_success(evaluation: Evaluation) -> dict[int, float]:
    load = evaluation.rows.load
    return {x: 1 - part.total("failed") / part.attempts for x, part in load.items() if part.attempts}


def _read_collision(evaluation: Evaluation) -> Collision | None:
    rows = evaluation.rows
    return collision(rows.run, evaluation.of(ErrorsResult).success_share, rows.load, rows.makers)


def tabulate_classes(
    title: str, keys: Sequence[Column], rows: Sequence[tuple[Sequence[object], Mapping[str, int]]]
) -> Iterator[Table]:
    """Failed attempts with a column for each class; nothing where none failed."""
    classes = sorted({name for _, counts in rows for name in counts})
    if classes:
        body = [(*cells, *(counts.get(name, 0) for name in classes)) for cells, counts in rows]
        yield Table(title, (*keys, *map(Column, classes)), body)


def count_classes(evaluation: Evaluation) -> Iterator[Table]:
    """Failed attempts of all series by scale and class."""
    keys, parts = label_series(evaluation)
    rows = [((*cells, scale), counts) for cells, part in parts
        for scale, counts in sorted(part.of(ErrorsResult).errors.items())
            if counts]  # fmt: skip
    yield from tabulate_classes("Failed attempts by scale and class", (*keys, Column("scale")), rows)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    yield from count_classes(evaluation)
    for heading, part in each_series(evaluation):
        if model := part.of(ErrorsResult).collision:
            yield Sentence(
                f"{heading}: " * bool(heading) + f"Conflicts of {model.clients} clients over X branches fit "
                f"q = 1 / (1 + κ (K − 1) / X) with κ = {model.kappa:.3g}, K = {model.clients}, from scale "
                f"{model.lowest_scale} to {model.highest_scale} (root mean square of the residuals of q: "
                f"{model.rms:.2g}). q is the share of attempts that succeed."
            )


class ErrorsResult(Result):
    success_share = computed(_read_success)
    """q: successful attempts / attempts."""
    remote_share: computed[Mapping[int, float]] = computed(
        lambda evaluation: remote_share(evaluation.rows.run.workload, evaluation.rows.load)
    )
    """Share of committed transactions on another branch's account; empty when the workload has none."""
    errors: computed[Mapping[int, Mapping[str, int]]] = computed(
        lambda evaluation: counts_by(evaluation.rows.failed, "class", "count")
    )
    """Scale to class ("serialization 40001") to count."""
    collision = computed(_read_collision)
    """``None`` where the model does not apply: one client, read committed, no failure, fewer than three scales."""


SUBJECT: Final = Subject(
    "errors", "Errors", ErrorsResult, tell=_tell, nothing="No attempt failed.",
    measures=(Measure("failures", "%", "share of attempts that failed",
                      lambda part: {x: 100 * (1 - share) for x, share in part.of(ErrorsResult).success_share.items()},
                      more=False, geometric=False, own=True),),
)  # fmt: skip
