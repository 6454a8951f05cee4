"""What ``dsbench check`` wants of the core: the conformance suite that every engine passes, the ledger of commits by
which durability is tried out, clients that append to lists, and the file system that forgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dsbench import _core
from dsbench.dataclass import dataclass
from dsbench.measure.loaders.core import TargetDatabase, errors


@dataclass(frozen=True)
class Case:
    """A case of the conformance suite and how it ended."""

    group: str
    name: str
    variant: str
    """Level of isolation, or way of sending statements; empty where there is but one."""
    outcome: str
    expected: str
    """What the product documents."""
    detail: str

    @property
    def passed(self) -> bool:
        """Whether it is as documented."""
        return self.outcome == self.expected


@dataclass(frozen=True)
class Family:
    """Products that document the same outcomes."""

    names: tuple[str, ...]
    title: str
    source: str


class Conformance:
    """The suite that every engine passes, on ``target``, where nothing of dsbench's may be yet."""

    def __init__(self, target: TargetDatabase) -> None:
        with errors():
            self._core = _core.Conformance(target._core)
            self.family, self.version = self._core.product()

    @property
    def left(self) -> int:
        """Number of cases that are left."""
        with errors():
            return self._core.left()

    def cases(self) -> Iterator[Case]:
        """Runs one case at a time."""
        with errors():
            while (found := self._core.next()) is not None:
                yield Case(*found)

    def lose_server(self, kill: Callable[[], None]) -> list[Case]:
        """Ends the suite with the cases in which ``kill`` kills the server."""
        with errors():
            return [Case(*found) for found in self._core.lose_server(kill)]

    def close(self) -> None:
        """Drops what the suite made."""
        self._core.close()


def families() -> list[Family]:
    """Whose documentation the suite knows."""
    return [Family(tuple(names), title, source) for names, title, source in _core.families()]


def schedules() -> list[tuple[str, str]]:
    """The suite's schedules of two transactions: (name, what happens)."""
    return _core.schedules()


NOTES_BYTES: Final = 16
"""Of each writer in the file of notes: the last number sent and the last one acknowledged; 64 bits, little-endian."""

@dataclass(frozen=True)
class LedgerContent:
    """What a database has of a ledger."""

    rows: dict[int, tuple[int, int]]
    """Writer to the number of its rows and the last number among them."""
    halves: int
    """Rows of one table without their twin in the other: transactions that were torn."""


class CheckLedger:
    """A ledger at ``target``, where nothing of dsbench's may be yet."""

    def __init__(self, target: TargetDatabase) -> None:
        with errors():
            self._core = _core.Ledger(target._core)

    def create(self) -> None:
        """Makes the place with its tables."""
        with errors():
            self._core.create()

    def found(self) -> LedgerContent:
        """What the database has now."""
        with errors():
            rows, halves = self._core.found()
        return LedgerContent({writer: (count, last) for writer, count, last in rows}, halves)

    def kept(self, writer: int, number: int) -> int:
        """How many of the first ``number`` transactions of ``writer`` the database has."""
        with errors():
            return self._core.kept(writer, number)


@dataclass(frozen=True)
class Anomaly:
    """What went wrong between transactions."""

    name: str
    """Adya's or Elle's, where they have one."""
    count: int
    """Reads or appends that show it; of cycles the dependencies that belong to one."""
    example: str
    """The shortest that was looked at."""


@dataclass(frozen=True)
class StaleReads:
    """Reads that missed what had been acknowledged before their transaction was asked for."""

    reads: int
    items: int
    """Most items that one missed."""
    median_ns: int
    """For how long the first item that a stale read missed had been acknowledged."""
    p99_ns: int
    max_ns: int


@dataclass(frozen=True)
class Judged:
    """What a history of appends and reads holds."""

    committed: int
    aborted: int
    appends: int
    """Of committed transactions, as are the reads."""
    reads: int
    anomalies: tuple[Anomaly, ...]
    """From the worst; none that did not occur."""
    undivided: int
    """Dependencies on cycles that snapshot isolation forbids, which were not told apart: G-single or G-nonadjacent."""
    stale: StaleReads


class Histories:
    """Clients at ``target``, where nothing of dsbench's may be yet, that append to lists and read them. With
    ``reading`` half of their transactions read there, and do nothing else."""

    def __init__(
        self, target: TargetDatabase, reading: TargetDatabase | None, isolation: str, *, clients: int,
        transactions: int, patience_s: float, seed: int,
    ) -> None:  # fmt: skip
        other = reading._core if reading is not None else None
        with errors():
            self._core = _core.Histories(target._core, other, isolation, clients, transactions, patience_s, seed)

    def play(self, longest_s: float) -> tuple[int, bool]:
        """Lets them play for so long at most; gives the committed transactions so far, and whether it is all done."""
        with errors():
            return self._core.play(longest_s)

    def judge(self) -> Judged:
        """What is wrong with what they saw."""
        with errors():
            found = self._core.judge()
        anomalies = tuple(Anomaly(*one) for one in found.anomalies())
        return Judged(*found.counts(), anomalies, found.undivided(), StaleReads(*found.stale()))

    def close(self) -> None:
        """Drops what they made. ``CoreError`` where that cannot be dropped."""
        with errors():
            self._core.close()

    def interrupt(self) -> None:
        """Ends whatever they do, and drops what they made as far as that can be done."""
        self._core.interrupt()


def anomalies() -> list[str]:
    """Names of all anomalies, from the worst."""
    return _core.anomalies()
