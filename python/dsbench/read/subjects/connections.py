"""Rate and response times of all series beside each other: of each number of connections, or of each stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.series import label_series, phrases
from dsbench.read.subject import Subject
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.rate import RateResult

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_COLUMNS: Final = (
    Column("connections"), Column("rate, median", "tps", digits=4), Column("NOPM", digits=4),
    Column("response, mean", "ms", 1e-6), Column("response, maximum", "ms", 1e-6), Column("failed attempts"),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    if not evaluation.series or evaluation.of(QueriesResult).queries:
        return
    series, parts = label_series(evaluation)
    rows: list[tuple[object, ...]] = []
    for scale in sorted({row.scale for _, part in parts for row in part.of(RateResult).scales}):
        for cells, part in parts:
            for row in (row for row in part.of(RateResult).scales if row.scale == scale):
                found, kinds = part.of(KindsResult).nopm.get(scale), part.of(KindsResult).kinds.get(scale, ())
                times = (kinds[-1].response_mean_ns, float(kinds[-1].response_ns[1.0])) if kinds else (None, None)
                figures = (part.of(RateResult).connections, row.rate_median_tps, found.median
                    if found else None, *times, row.failed)
                rows.append((scale, *cells, *figures))
    yield Table("Rate and response time by connections", (Column("scale"), *series, *_COLUMNS), rows)
    shown = phrases(evaluation.series)[evaluation.key]
    yield Sentence(f"Tables and diagrams that tell no series apart show the {shown}.", "note")


SUBJECT: Final = Subject("connections", "Connections", tell=_tell, nothing="The run has one series of cycles.")
