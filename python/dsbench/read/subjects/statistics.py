"""What the database says of itself around the cycles: its own statistics, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from dsbench.dataclass import dataclass
from dsbench.format import counted
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.groups import Series
from dsbench.read.subject import Result, Subject, computed

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_MOST: Final = 40
"""Tables of which the statistics are shown at a scale."""
_WHOLE: Final = "database"

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


def changes_of(table: pa.Table, key: Series) -> dict[int, tuple[Change, ...]]:
    """The database's statistics by scale around the cycles of ``key``, of the last population that was looked at."""
    rows = [row for row in table.to_pylist() if row["stage"] == key.stage and row["clients"] in (None, key.clients)]
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


_COLUMNS: Final = (
    Column("scale"), *(Column(name, left=True) for name in ("of", "statistic", "unit")),
    *(Column(name, digits=6) for name in ("before", "after", "difference")),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    series = evaluation.series or {evaluation.key: evaluation}
    heads = [Column("stage", left=True)] * (len({key.stage for key in series}) > 1)
    by_clients = len({key.clients for key in series}) > 1
    rows: list[tuple[object, ...]] = []
    more = []
    for key, part in series.items():
        first = (key.stage,) * len(heads) + (key.clients,) * by_clients
        for scale, changes in sorted(part.of(StatisticsResult).changes.items()):
            moved = [one for one in changes if one.after != one.before]
            tables = [name for name in dict.fromkeys(one.of for one in moved) if name]
            seen = {"", *tables[:_MOST]}
            rows += [first + _row(scale, one) for one in moved if one.of in seen]
            if hidden := len(tables[_MOST:]):  # Hundreds of tables would be most of the page.
                where = f"scale {scale}" + f" of stage {key.stage}" * len(heads)
                where += f" with {counted(key.clients, 'client')}" * by_clients
                more.append(f"At {where} {hidden} more tables are in the table statistics of the archive.")
    if any(part.of(StatisticsResult).changes for part in series.values()):
        heads += [Column("clients")] * by_clients
        yield Table("The database's statistics around the cycles", (*heads, *_COLUMNS), rows)
        yield from (Sentence(words, "note") for words in more)
        each = "stage and number of clients" if by_clients else "stage"
        words = f"Read after the first cleaning and the last cycle of each {each}. Unchanged values are not shown."
        yield Sentence(words, "note")


def _row(scale: int, one: Change) -> tuple[object, ...]:
    figures = (one.before, one.after, one.after - one.before)
    return (scale, one.of or _WHOLE, one.name.replace("_", " "), one.unit, *map(_whole, figures))


def _whole(value: float) -> float:
    """A whole number as such, so that it is shown with all its digits."""
    return int(value) if isfinite(value) and value == int(value) else value


class StatisticsResult(Result):
    changes: computed[Mapping[int, tuple[Change, ...]]] = computed(
        lambda evaluation: changes_of(evaluation.rows.tables["statistics"], evaluation.rows.key)
    )
    """By scale: what the database's own statistics said before and after the cycles."""


SUBJECT: Final = Subject(
    "statistics", "Database statistics", StatisticsResult, tell=_tell,
    nothing="There are no database statistics: the engine has none.",
)
