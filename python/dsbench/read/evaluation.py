"""What an archive says: the results of all subjects, each computed when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self, TypeVar

from dsbench.archive import Archive, RunRecord
from dsbench.read.groups import Series, texts
from dsbench.read.rows import RunRows, SeriesRows
from dsbench.read.subject import Result
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.stages import StagesResult

R = TypeVar("R", bound=Result)
Known = Mapping[type[Result], Mapping[str, Any]]
"""Results to values of their attributes by name, which are not computed."""


class Evaluation:
    """What one archive says, or one series of its cycles.

    ``of`` gives what each subject says of it. The mappings by scale hold only scales that have something to show: a
    scale that was cut short before its first cycle is in none of them.
    """

    rows: SeriesRows
    run: RunRecord
    """Of one series as if the run had no other."""
    name: str
    levels: tuple[float, ...]
    stage: str
    clients: int
    """Of each node, in these cycles."""
    series: Mapping[Series, Evaluation]
    """Every series of cycles with its evaluation, where a run has several; the whole is that of the last."""

    def __init__(self, rows: SeriesRows, series: Mapping[Series, Evaluation] | None = None) -> None:
        """``rows`` are those of the series, of several series those of the last."""
        self.rows = rows
        self.run = rows.whole.run if series else rows.run
        self.name, self.levels = rows.whole.name, rows.run.spec.levels
        self.stage, self.clients = rows.key
        self.series = dict(series or {})
        self._results: dict[type[Result], Result] = {}

    @classmethod
    def without_rows(cls, key: Series, known: Known) -> Self:
        """One that has nothing but the results that are ``known``: of a stage of statements that are timed."""
        found = cls.__new__(cls)
        found.stage, found.clients = key
        found.series = {}
        found._results = {result: result(found, values) for result, values in known.items()}
        return found

    def of(self, result: type[R]) -> R:
        """What the subject of ``result`` says; each of its attributes is computed when it is first used."""
        found = self._results.get(result)
        if found is None:
            found = self._results[result] = result(self)
        assert isinstance(found, result)
        return found

    @property
    def has_clients(self) -> bool:
        """Whether this is a series of cycles, and not statements that are timed."""
        return "rows" in self.__dict__

    @property
    def groups(self) -> list[str]:
        """The groups of clients of these cycles, in the order of the workload; none in a stage of statements."""
        return list(dict.fromkeys(texts(self.rows.groups, "group"))) if self.has_clients else []

    def of_group(self, group: str) -> Evaluation:
        """The same series of one group of its clients alone."""
        return Evaluation(self.rows.of_group(group))

    @cached_property
    def own(self) -> Evaluation:
        """The same series of the measured clients alone, without what runs beside them in a stage."""
        found = next(iter(self.of(StagesResult).efficiency.values()), None)
        if found is None or not self.counts_operations or len(self.groups) < 2:
            return self
        return self.of_group(found.measured)

    @property
    def counts_operations(self) -> bool:
        """Whether the rate of this series is that of the operations of some clients in a stage, such as rows that they
        insert, and not that of all transactions."""
        if not self.has_clients or self.rows.group:
            return True
        staged = len({key.stage for key in self.rows.whole.keys}) > 1
        return staged or any(one.background for one in self.of(StagesResult).efficiency.values())

    @property
    def of_stage(self) -> str:
        """What ``own_rates`` are of, where they are those of operations: ``stage qp1000, transactions per second
        of the query clients``. Else empty: then all transactions count."""
        found = next(iter(self.of(StagesResult).efficiency.values()), None)
        if found is None or not self.counts_operations:
            return ""
        alone = len(self.groups) < 2 and not (self.has_clients and self.rows.group)
        clients = "" if alone else f" of the {found.measured} clients"
        return f"stage {self.stage}, {found.counted} per second{clients}"

    @property
    def own_rates(self) -> dict[int, float]:
        """Scale to the median over the cycles; in stages, and of one group of clients, that of the operations of the
        measured clients alone, never with what runs beside them."""
        if self.counts_operations:
            return {scale: found.median_rate for scale, found in self.own.of(StagesResult).efficiency.items()}
        return {row.scale: row.rate_median_tps for row in self.of(RateResult).scales}

    @property
    def staged(self) -> bool:
        """Whether several stages were measured, each for itself: an index over scales says little of them together."""
        return len({key.stage for key in self.series}) > 1

    @property
    def by_clients(self) -> dict[int, Evaluation]:
        """Numbers of clients of this stage, rising, each with its evaluation; empty where the run has one series."""
        return {key.clients: part for key, part in sorted(self.series.items(), key=lambda one: one[0].clients)
                if key.stage == self.stage}  # fmt: skip

    @property
    def key(self) -> Series:
        """The series of these cycles."""
        return Series(self.stage, self.clients)


def evaluate(archive: Archive) -> Evaluation:
    """What ``archive`` says; also of one that was cut short or still grows."""
    return evaluate_rows(RunRows.of(archive))


def evaluate_rows(rows: RunRows) -> Evaluation:
    """What an archive says whose rows were read."""
    parts = {key: Evaluation(rows.of_series(key)) for key in rows.keys}
    *_, last = parts.values()
    return last if len(parts) == 1 else Evaluation(last.rows, parts)
