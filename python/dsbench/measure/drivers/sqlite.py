"""Python's own driver of SQLite."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dsbench.measure.drivers.session import Run, Session
from dsbench.spec.target import Target

_PRAGMAS = {"synchronous": "full", "foreign_keys": "on", "journal_mode": "", "cache_size": "", "mmap_size": ""}
"""Those that a session sets, with dsbench's defaults."""


class SQLite(Session):
    """sqlite3, with transactions that are opened by a statement: it opens none by itself before it reads."""

    def __init__(self, module: ModuleType, target: Target, _isolation: str) -> None:
        wait_s = float(target.parameters.get("busy_timeout_ms", 5000)) / 1000
        connection = module.connect(target.database, timeout=wait_s, isolation_level=None, check_same_thread=False)
        super().__init__(connection)
        for name, default in _PRAGMAS.items():
            if value := target.parameters.get(name, default):
                connection.execute(f"PRAGMA {name}={value}")
        self._begin = f"BEGIN {target.parameters.get('begin', 'immediate').upper()}"

    def _alone(self, alone: bool) -> None:
        pass

    def begin(self) -> None:
        """Opens a transaction that may write."""
        self.connection.execute(self._begin)
        self._open = True

    def begin_reading(self) -> None:
        """Opens one that takes no writer's turn."""
        self.connection.execute("BEGIN DEFERRED")
        self._open = True

    def _statement(self, sql: str, reads: bool, _once: bool, /) -> Run:
        cursor = self.connection.cursor()

        def run(params: Any) -> Any:
            cursor.execute(sql, params)
            return cursor.fetchall() if reads else cursor.rowcount

        return run

    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction)

    def code(self, error: BaseException) -> str | None:
        return str(getattr(error, "sqlite_errorcode", ""))

    def decimal(self, unscaled: int, _scale: int, /) -> Any:
        """Its digits, as dsbench keeps them in SQLite."""
        return unscaled

    def unscaled(self, value: Any, _scale: int, /) -> int:
        return int(value)

    def timestamp(self, microseconds: int) -> Any:
        """A number, as dsbench keeps it in SQLite."""
        return microseconds

    def microseconds(self, value: Any) -> int:
        return int(value)
