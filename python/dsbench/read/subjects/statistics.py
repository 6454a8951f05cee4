"""What the database says of itself around the cycles: its own statistics, before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from dsbench.read.subject import Subject

if TYPE_CHECKING:
    pass

@dataclass(frozen=True)
class Change:
    """One statistic that the database keeps of itself, around the cycles of a scale."""

    of: str
    """Table, or empty for the database or the server."""
    name: str
    unit: str
    before: float
    after: float
    """nan where it was not read."""


def changes_of(table: pa.Table, stage: str) -> dict[int, tuple[Change, ...]]:
    """The database's statistics by scale around ``stage``, of the last population that was looked at.

    Older archives have them around all stages together: of such a run the first was looked at before, the last after.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    moments: dict[str, set[str]] = {}
    for row in rows:
        moments.setdefault(row["stage"], set()).add(row["moment"])
    if any(len(found) > 1 for found in moments.values()):
        rows = [row for row in rows if row["stage"] == stage]
    result = {}
    for scale in sorted({row["scale"] for row in rows}):
        last = max(row["segment"] for row in rows if row["scale"] == scale)
        here = [row for row in rows if row["scale"] == scale and row["segment"] == last]
        keys = dict.fromkeys((row["object"], row["metric"], row["unit"]) for row in here)
        at = {(row["object"], row["metric"], row["moment"]): row["value"] for row in here}
        result[scale] = tuple(
            Change(of, name, unit, at.get((of, name, "before"), np.nan), at.get((of, name, "after"), np.nan))
            for of, name, unit in keys
        )
    return result


SUBJECT: Final = Subject(
    "statistics", "Database statistics",
    reads={"changes": lambda evaluation: changes_of(evaluation.rows.tables["statistics"], evaluation.rows.key.stage)},
)
