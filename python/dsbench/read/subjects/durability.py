"""What a power cut would cost with the settings of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dsbench.read.blocks import Block, Column, Table
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_COLUMNS: Final = tuple(Column(name, left=True) for name in ("switch", "value", "safe", "in plain words"))


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    found = evaluation.run.durability
    if found:
        rows = [(one.switch, str(one.value), "yes" if one.safe else "NOT SAFE", one.meaning) for one in found]
        yield Table("Switches", _COLUMNS, rows, frozenset(at for at, one in enumerate(found) if not one.safe))


SUBJECT: Final = Subject("durability", "Durability", tell=_tell, nothing="The engine reports no durability settings.")
