"""What storage tools found around the cycles of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Table
from dsbench.read.subject import Result, Subject, computed

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

@dataclass(frozen=True)
class Probed:
    """The figures of one test of one tool at one scale."""

    tool: str
    test: str
    unit: str
    before: float
    """Before the cycles; nan where it was not made."""
    after: float

    @property
    def name(self) -> str:
        """Of the test, with its tool."""
        return f"{self.tool}: {self.test}"

    @property
    def mean(self) -> float:
        """Geometric mean of what was measured; nan where that is nothing, or 0."""
        found = np.array([value for value in (self.before, self.after) if np.isfinite(value)])
        return float(np.exp(np.log(found).mean())) if found.size and np.all(found > 0) else float(np.nan)


def probed(table: pa.Table) -> Mapping[int, tuple[Probed, ...]]:
    """By scale, from the table ``probes``; of stages and populations that follow each other the last counts."""
    found: dict[tuple[int, str, str, str], dict[str, float]] = {}
    for row in table.to_pylist():
        key = row["scale"], row["tool"], row["test"], row["unit"]
        found.setdefault(key, {})[row["moment"]] = row["value"]
    by_scale: dict[int, list[Probed]] = {}
    for (scale, tool, test, unit), values in found.items():
        of_test = Probed(tool, test, unit, values.get("before", float("nan")), values.get("after", float("nan")))
        by_scale.setdefault(scale, []).append(of_test)
    return {scale: tuple(tests) for scale, tests in sorted(by_scale.items())}


def _read_probes(evaluation: Evaluation) -> Mapping[int, tuple[Probed, ...]]:
    return probed(evaluation.rows.whole.tables["probes"])


_COLUMNS: Final = (
    Column("scale"), *(Column(name, left=True) for name in ("tool", "test", "unit")), Column("before", digits=4),
    Column("after", digits=4),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    rows = [(scale, one.tool, one.test, one.unit, one.before, one.after)
            for scale, tests in evaluation.of(ProbesResult).probes.items() for one in tests]  # fmt: skip
    if rows:
        yield Table("Disk benchmarks on the data's file system, before and after the cycles", _COLUMNS, rows)


class ProbesResult(Result):
    probes = computed(_read_probes, whole=_read_probes)
    """Scale to what storage tools found around its cycles; empty without them."""


SUBJECT: Final = Subject(
    "probes", "Disk benchmarks", ProbesResult, tell=_tell,
    nothing="No disk benchmark was run (--probes).",
)  # fmt: skip
