"""The conditions that the database had to keep, as they were checked after each scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dsbench.read.blocks import Block, Column, Part, Table
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_COLUMNS: Final = (Column("scale"), *(Column(name, left=True) for name in ("condition", "result", "detail")))


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    found = [(scale, one) for scale, conditions in sorted(evaluation.run.checks.items()) for one in conditions]
    if found:
        rows = [(scale, one.name, "holds" if one.holds else "FAILED", one.detail) for scale, one in found]
        broken = frozenset(at for at, (_, one) in enumerate(found) if not one.holds)
        every = Table("Checks by scale", _COLUMNS, rows, broken)
        if broken or len(found) == 1:
            yield every
        else:
            yield Part(f"All {len(found)} conditions hold", [every], folded=True)


SUBJECT: Final = Subject("checks", "Checks", tell=_tell, nothing="No scale was checked.")
