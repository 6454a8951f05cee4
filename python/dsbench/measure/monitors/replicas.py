"""How far the replicas of a MariaDB or MySQL server are behind it: each is asked itself."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from itertools import islice, takewhile
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.monitors.monitor import Queries, Value

_WRITTEN: Final = ("show binary log status", "show master status")
"""Of versions since MySQL 8.2, and before it."""


@dataclass(frozen=True)
class _Words:
    """How a replica is asked, and the columns of its answer."""

    asked: str
    source: str
    """server_id of the one that it follows."""
    file: str
    position: str


_APPLIED: Final = (
    _Words("show replica status", "source_server_id", "relay_source_log_file", "exec_source_log_pos"),
    _Words("show slave status", "master_server_id", "relay_master_log_file", "exec_master_log_pos"),
)
"""MariaDB answers to both, and names the columns as the second one does."""
_KEPT: Final = 7200
"""Looks at the primary, two per second."""


class Replicas:
    """Those of one server: a metric for each, in bytes of the binary log and in time.

    A replica tells the place in the log of its primary up to which it has applied it. The time is that since the
    primary was at this place, by the line between two looks at the primary: servers write the time of a transaction
    in whole seconds only.
    """

    name = "replication"

    def __init__(self, primary: Queries, replicas: Mapping[str, Queries]) -> None:
        self.notes: list[str] = []
        self._primary, self._replicas = primary, replicas
        self._number = _row(primary, "select @@global.server_id as number")["number"]
        self._written_by = next((words for words in _WRITTEN if _answers(primary, words)), "")
        self._followed_by = {name: words for name, one in replicas.items() if (words := self._words_of(name, one))}
        self._sizes: dict[str, int] = {}
        """Bytes of each file of the log, in their order; those that the primary has removed stay."""
        self._looks: deque[tuple[int, int]] = deque(maxlen=_KEPT)
        """When the primary was where in its log, in ns and bytes since the first file."""
        if self._written_by and self._followed_by:
            self._look()

    @classmethod
    def of(cls, primary: Queries, replicas: Mapping[str, Queries]) -> Replicas | None:
        """``None`` where the primary does not tell, and where none of ``replicas`` follows it."""
        try:
            found = cls(primary, replicas)
        except Exception:  # no right, a product that only resembles MySQL
            return None
        return found if found._written_by and (found._followed_by or found.notes) else None

    def _words_of(self, name: str, replica: Queries) -> _Words | None:
        """How the replica ``name`` is asked; ``None`` where it follows another server, or none."""
        errors: list[Exception] = []
        for words in _APPLIED:
            try:
                if any(row.get(words.source) == self._number for row in _rows(replica, words.asked)):
                    return words
            except Exception as error:  # no right, words of another version
                errors.append(error)
        if len(errors) == len(_APPLIED):
            self.notes.append(f"{name} does not show how far it is: {errors[-1]}")
        return None

    def sample(self) -> list[Value]:
        # Also before the replicas: one that has all of this is not behind by the time since the last look.
        self._look()
        applied: dict[str, tuple[str, int, int]] = {}
        for name in self._followed_by:
            try:
                applied[name] = (*self._applied(name), time.monotonic_ns())
            except Exception as error:  # The others go on.
                if (note := f"{name}: {error}") not in self.notes:
                    self.notes.append(note)
        # Later than the replicas: none is ahead of its primary.
        written = self._look()
        found: list[Value] = []
        for name, (file, position, answered_ns) in applied.items():
            place = self._place(file, position)
            found.append((name, "bytes", float(max(0, written - place))))
            if (since_ns := self._since(place)) is not None:
                found.append((name, "ns", max(0.0, answered_ns - since_ns)))
        return found

    def _look(self) -> int:
        """Where the primary is now."""
        asked_ns, row = time.monotonic_ns(), _row(self._primary, self._written_by)
        written = self._place(row["file"], int(row["position"]))
        if self._looks and written < self._looks[-1][1]:  # It has begun its log anew.
            self._sizes.clear()
            self._looks.clear()
            written = self._place(row["file"], int(row["position"]))
        self._looks.append((asked_ns, written))
        return written

    def _applied(self, name: str) -> tuple[str, int]:
        words = self._followed_by[name]
        for row in _rows(self._replicas[name], words.asked):
            if row.get(words.source) == self._number:
                return row[words.file], int(row[words.position])
        raise LookupError(f"{name} follows the primary no longer")

    def _place(self, file: str, position: int) -> int:
        """Bytes since the beginning of the first file."""
        if file not in self._sizes:  # The primary has begun a new one, and the size of that before it is final.
            rows = _rows(self._primary, "show binary logs")
            self._sizes |= {row["log_name"]: int(row["file_size"]) for row in rows}
        if file not in self._sizes:
            raise LookupError(f"the primary has no log {file!r}, which a replica applies")
        before = takewhile(lambda name: name != file, self._sizes)
        return sum(self._sizes[name] for name in before) + position

    def _since(self, place: int) -> float | None:
        """When the primary was at ``place``, in ns; ``None`` where that was before the first look."""
        now, end = self._looks[-1]
        if place >= end:
            return now
        for then, begin in islice(reversed(self._looks), 1, None):
            if begin <= place:
                return then + (now - then) * (place - begin) / (end - begin)
            now, end = then, begin
        return None


def _rows(queries: Queries, sql: str) -> list[dict[str, str]]:
    """By name of column in small letters, in which products differ."""
    return [{name.lower(): value or "" for name, value in row.items()} for row in queries.fetch(sql)]


def _row(queries: Queries, sql: str) -> dict[str, str]:
    """The first row; empty where there is none."""
    return next(iter(_rows(queries, sql)), {})


def _answers(queries: Queries, sql: str) -> bool:
    try:
        return bool(_row(queries, sql))
    except Exception:  # no right, no binary log, words of another version
        return False
