"""Drivers of Firebird."""

from __future__ import annotations

import importlib
import os
import threading
from abc import abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

from dsbench.measure.drivers.session import Run, Session
from dsbench.spec.target import Target

_LOADING: Final = threading.Lock()
"""firebird-driver loads its library with the first session, and shows it to other threads before it is whole."""
_LEVELS: Final = {"read-committed": 0, "repeatable-read": 1, "serializable": 2}


class _Firebird(Session):
    """Without a mode in which each statement is a transaction: one is opened and committed around it."""

    _changed = "rowcount"
    """Attribute of a cursor: the rows that a statement changed."""

    def _alone(self, alone: bool) -> None:
        pass

    def begin(self) -> None:
        self._begin()
        self._open = True

    @abstractmethod
    def _begin(self) -> None:
        """Opens a transaction."""

    def _executing(self, cursor: Any, statement: Any, sql: str, reads: bool) -> Run:
        returning = "RETURNING" in sql.upper()

        def run(params: Sequence[Any]) -> Any:
            cursor.execute(statement, params)
            if reads:
                return cursor.fetchall()
            return _returned(cursor.fetchone()) if returning else getattr(cursor, self._changed)

        return self._around(run)

    def _around(self, run: Run) -> Run:
        def alone_or_within(params: Sequence[Any]) -> Any:
            if self._open:
                return run(params)
            self.begin()
            try:
                found = run(params)
                self.commit()
            except BaseException:
                self.rollback()
                raise
            return found

        return alone_or_within

    def in_transaction(self) -> bool:
        """Transactions are objects of the client here."""
        return self._open

    def code(self, error: BaseException) -> str | None:
        """The gds codes, with commas between them."""
        if isinstance(error, OSError):
            return None
        return ",".join(str(code) for code in getattr(error, "gds_codes", None) or ())


class FirebirdDriver(_Firebird):
    """firebird-driver, on the client library of Firebird."""

    _changed = "affected_rows"

    def __init__(self, module: ModuleType, target: Target, isolation: str) -> None:
        with _LOADING:
            if library := target.parameters.get("client_library"):
                module.driver_config.fb_client_library.value = library
            importlib.import_module("firebird.driver.fbapi").load_api()
        place = str(target.file or f"inet://{target.host}:{target.port or 3050}/{target.database}")
        connection = module.connect(place, charset="UTF8", **_login(target))
        super().__init__(connection)
        wait, known = _wait(target, isolation), module.Isolation
        newest = known.READ_COMMITTED_NO_RECORD_VERSION if wait else known.READ_COMMITTED_RECORD_VERSION
        levels = (newest, known.SNAPSHOT, known.SERIALIZABLE)
        self._tpb = module.tpb(levels[_LEVELS[isolation]], lock_timeout=wait)
        self._cursor = connection.cursor()

    def _begin(self) -> None:
        self.connection.begin(self._tpb)

    def _statement(self, sql: str, reads: bool, once: bool, /) -> Run:
        cursor = self._cursor
        statement: Any = sql
        if once:
            # A cursor to itself, as it forgets a statement when it goes on to another.
            cursor = self.connection.cursor()
            self.begin()
            statement = cursor.prepare(sql)
            self.commit()
        return self._executing(cursor, statement, sql, reads)


class FirebirdSQL(_Firebird):
    """firebirdsql, which is written in Python. Its transactions wait for the locks of others at every level."""

    def __init__(self, module: ModuleType, target: Target, isolation: str) -> None:
        levels = (
            module.ISOLATION_LEVEL_READ_COMMITED, module.ISOLATION_LEVEL_REPEATABLE_READ,
            module.ISOLATION_LEVEL_SERIALIZABLE,
        )  # fmt: skip
        connection = module.connect(
            host=target.host, port=target.port or 3050, database=target.database, charset="UTF8",
            isolation_level=levels[_LEVELS[isolation]], **_login(target),
            wire_crypt=target.parameters.get("wire_crypt") != "disabled",
        )  # fmt: skip
        super().__init__(connection)

    def _begin(self) -> None:
        self.connection.begin()

    def _statement(self, sql: str, reads: bool, once: bool, /) -> Run:
        self.begin()
        cursor = self.connection.cursor()
        statement: Any = cursor.prep(sql) if once else sql
        self.commit()
        return self._executing(cursor, statement, sql, reads)


def _returned(row: Sequence[Any] | None) -> int:
    """Rows that a statement with RETURNING changed: without one it gives none, or one of NULLs."""
    return 0 if row is None or all(cell is None for cell in row) else 1


def _login(target: Target) -> dict[str, str]:
    user = target.user or os.environ.get("ISC_USER", "SYSDBA")
    password = target.password or os.environ.get("ISC_PASSWORD", "")
    return {"user": user, "password": password} if password else {"user": user}


def _wait(target: Target, isolation: str) -> int:
    """Seconds for which a transaction waits for the lock of another; -1 for as long as it takes."""
    asked = target.parameters.get("wait", "forever" if isolation == "read-committed" else "no")
    return int(asked) if asked.isdigit() else {"no": 0}.get(asked, -1)
