"""What the Rust core is and knows, its errors and its clock, and the database behind a URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from dsbench import _core, workloads
from dsbench.dataclass import dataclass
from dsbench.problem import Problem


class CoreError(Problem):
    """An error of an engine, a workload or the loop. ``kind`` is dsbench's word, ``code`` the engine's own.

    ``by_user``: what the user wrote is wrong, a script or a workload file, and no other attempt can mend it.
    """

    def __init__(self, kind: str, code: str, problem: str, remedy: str = "", by_user: bool = False) -> None:
        super().__init__(problem, remedy)
        self.by_user = by_user
        self.kind = kind
        self.code = code
        self.usage = kind == "configuration"


class Stopped(Exception):
    """The user asked to stop; what was finished before is kept."""


@contextmanager
def errors() -> Iterator[None]:
    """The core's errors as those of this package."""
    try:
        yield
    except _core.CoreError as error:
        raise CoreError(*error.args) from None


def fetch(core: _core.Prepared | _core.Target, sql: str) -> list[Any]:
    """Rows of a query as texts by column name."""
    with errors():
        columns, rows = core.fetch(sql)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def schemes() -> list[str]:
    """URL schemes this core knows."""
    return _core.schemes()


def build() -> dict[str, Any]:
    """What this core knows: for ``dsbench doctor`` and for archives."""
    return {"schemes": schemes(), "workloads": workloads.names()}


def now_ns() -> int:
    """Nanoseconds of the monotonic clock by which cycles start."""
    return _core.now_ns()


def measuring(repeats: int, wakes: int, pause_ns: int) -> dict[str, float]:
    """What measuring costs here: see ``measuring`` of the core, which names the values."""
    return _core.measuring(repeats, wakes, pause_ns)


TAKEN: Final = "TAKEN"
"""Code of the error that says that another session has what the administrative session had claimed."""
HALF_OPEN: Final = "HALF_OPEN"
"""Code of the error that says that the administrative session was lost, and the server still has its half of it."""


@dataclass(frozen=True)
class Claim:
    """A lock of a server's that ends with the session that has it, as queries."""

    take: str
    """A row: "t" where it was free, and what names the asking session among all that the server ever had; NULL where
    nothing does."""
    holder: str
    """A row of who has it: the name of the session, its number, and where its client is; NULL for what is not shown."""
    end: str
    """Ends the session that ``{name}`` or ``{number}`` stands for. Only the own one that was lost is ended so."""


@dataclass(frozen=True)
class Holder:
    """A session that has the lock; what the server does not show is empty."""

    number: str
    origin: str

    def __str__(self) -> str:
        number = f"session {self.number}" if self.number else "a session that is not shown"
        return f"{number} from {self.origin}" if self.origin else number


@dataclass(frozen=True)
class EngineDialect:
    """How an engine speaks SQL, and what it is."""

    name: str
    procedures: bool
    embedded: bool
    single_writer: bool
    keeps_data: bool


class TargetDatabase:
    """The database behind a URL: its place (what dsbench may create and drop) and queries."""

    def __init__(self, url: str, *, existing: bool = False, reads: str = "") -> None:
        """``existing``: the database as it stands, with tables that somebody else made. It has no place then: whatever
        would make, mark or drop one is refused. ``reads``: URL of the same database at a server to read from."""
        with errors():
            self._core = _core.Target(url, existing)
        self.url = url
        self.reading = TargetDatabase(reads, existing=existing) if reads else None
        """Where clients that only read connect, if that is another server."""
        self.dialect = EngineDialect(**self._core.dialect())

    def state(self) -> tuple[str, str]:
        """("absent" | "marked" | "foreign", text of the mark or name of what is there)."""
        with errors():
            return self._core.state()

    def create(self, mark: str) -> None:
        """Creates the place with dsbench's mark."""
        with errors():
            self._core.create(mark)

    def remark(self, mark: str) -> None:
        """Puts another mark in place of that which the place carries; refused where it carries none."""
        with errors():
            self._core.remark(mark)

    def take_stock(self) -> None:
        """Notes what is in the place now as dsbench's: what comes later is somebody else's. Before, all of it is
        dsbench's."""
        with errors():
            self._core.take_stock()

    def strangers(self) -> list[str]:
        """Names of what is not dsbench's and would go with the place: what came after the stock was taken, and what
        depends on the place elsewhere."""
        with errors():
            return self._core.strangers()

    def drop(self) -> None:
        """Drops the place; refused unless it carries the mark and has no strangers."""
        with errors():
            self._core.drop()

    def take(self) -> bool:
        """Claims a place that is there until it is dropped or the target closed; false when another process has it.

        Only an engine without a server claims a file so; all others have locks or show their sessions.
        """
        with errors():
            return self._core.take()

    def size_bytes(self) -> int | None:
        """Size of the place in bytes; ``None`` where the server does not say it."""
        with errors():
            return self._core.size_bytes()

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        """Rows of an administrative query, by column name, all text."""
        return fetch(self._core, sql)

    def seen(self) -> list[tuple[str, str, str]] | None:
        """State, wait and statement of each session of the load in this process; ``None`` where a server has them."""
        return self._core.seen()

    @property
    def is_unproved(self) -> bool:
        """Whether the server did not understand the question for the isolation of a session."""
        return self._core.is_unproved()

    @property
    def passed_over(self) -> list[str]:
        """Names of parameters of the URL that other clients know, and that change nothing here."""
        return self._core.passed_over()

    def round_trips(self, sql: str, count: int) -> list[int]:
        """Nanoseconds of ``count`` executions of a query, one after another."""
        with errors():
            return self._core.round_trips(sql, count)

    @property
    def pooled(self) -> str:
        """What a pooler before the server gives: ``sessions``, ``transactions``; empty where none was seen yet."""
        return self._core.pooled()

    def claim(self, claim: Claim) -> Holder | None:
        """Takes a lock that ends with the administrative session; gives who has it where it is not free.

        A session that is opened in place of a lost one takes it first, and ends the server's half of that one. Where
        somebody else has it by then, every query fails with the code ``TAKEN``; with ``HALF_OPEN`` where its own half
        could not be ended.
        """
        with errors():
            held = self._core.claim(claim.take, claim.holder, claim.end)
        return None if held is None else Holder(*held)

    def hold(self) -> None:
        """Makes sure that what was claimed is still held, or is again: one query, none where nothing was claimed."""
        with errors():
            self._core.hold()

    def renew(self) -> None:
        """Has the next query open a session anew, also where clients read from: another server may be the primary
        now."""
        self._core.renew()
        if self.reading is not None:
            self.reading.renew()

    def check_claim(self) -> None:
        """Raises ``CoreError`` with the code ``TAKEN`` or ``HALF_OPEN`` once the claim is lost; sends nothing."""
        with errors():
            self._core.check_claim()

    def close(self) -> None:
        """Closes the administrative connection for good; a query that waits for the server in another thread ends."""
        if self.reading is not None:
            self.reading.close()
        self._core.close()
