"""The conditions that the database had to keep, as they were checked after each scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dsbench.archive.conditions import Condition, State, say_conditions
from dsbench.read.blocks import Block, Column, Part, Table
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_COLUMNS: Final = (Column("scale"), *(Column(name, left=True) for name in ("condition", "result", "detail")))


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    found = [(scale, one) for scale, conditions in sorted(evaluation.run.checks.items()) for one in conditions]
    if found:
        rows = [(scale, one.name, one.state.shown, _detail(one)) for scale, one in found]
        broken = frozenset(at for at, (_, one) in enumerate(found) if one.state is State.BROKEN)
        every = Table("Checks by scale", _COLUMNS, rows, broken)
        if broken or len(found) == 1:
            yield every
        else:
            words = say_conditions(one for _, one in found)
            yield Part(words[0].upper() + words[1:], [every], folded=True)


def _detail(one: Condition) -> str:
    return f"{one.detail}; {one.remedy}" if one.remedy else one.detail


SUBJECT: Final = Subject("checks", "Checks", tell=_tell, nothing="No scale was checked.")
