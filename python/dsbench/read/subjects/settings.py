"""Settings of the database server that are not at their default."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dsbench.read.blocks import Block, Column, Table
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_COLUMNS: Final = (Column("setting", left=True), Column("value", left=True))


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    if found := evaluation.run.settings:
        rows = [(name, str(value)) for name, value in sorted(found.items())]
        yield Table("Settings that differ from the default", _COLUMNS, rows)


SUBJECT: Final = Subject(
    "settings", "Settings", tell=_tell, nothing="All settings of the server have their defaults."
)
