"""Drivers of PostgreSQL."""

from __future__ import annotations

import getpass
import os
from types import ModuleType
from typing import Any

from dsbench.drivers.address import Address
from dsbench.drivers.session import Run, Session, by_format

_PLACE = "dsbench"
"""The schema of a run."""


class _Postgres(Session):
    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._cursor = connection.cursor()

    def _alone(self, alone: bool) -> None:
        self.connection.autocommit = alone

    def _statement(self, sql: str, reads: bool, _once: bool, /) -> Run:
        cursor, text = self._cursor, by_format(sql)

        def run(params: Any) -> Any:
            cursor.execute(text, params)
            return cursor.fetchall() if reads else cursor.rowcount

        return run


class Psycopg(_Postgres):
    """psycopg 3: the parameters travel apart from the statement."""

    def __init__(self, module: ModuleType, address: Address, isolation: str) -> None:
        # Left to itself it would prepare what it sees for the fifth time.
        connection = module.connect(
            address.url, options=_options(address, isolation), cursor_factory=module.RawCursor, prepare_threshold=None
        )
        super().__init__(connection)

    def _statement(self, sql: str, reads: bool, once: bool, /) -> Run:
        cursor = self._cursor

        def run(params: Any) -> Any:
            cursor.execute(sql, params, prepare=once)
            return cursor.fetchall() if reads else cursor.rowcount

        return run

    def code(self, error: BaseException) -> str | None:
        """SQLSTATE."""
        code = getattr(error, "sqlstate", None)
        return None if code is None and self.connection.closed else str(code or "")


class Psycopg2(_Postgres):
    """psycopg2, which writes the parameters into the statement."""

    def __init__(self, module: ModuleType, address: Address, isolation: str) -> None:
        super().__init__(module.connect(address.url, options=_options(address, isolation)))

    def code(self, error: BaseException) -> str | None:
        """SQLSTATE."""
        code = getattr(error, "pgcode", None)
        return None if code is None and self.connection.closed else str(code or "")


class Pg8000(_Postgres):
    """pg8000, which is written in Python; each statement with parameters takes a message for parsing and an answer."""

    def __init__(self, module: ModuleType, address: Address, isolation: str) -> None:
        host, port = address.query.get("host", address.host), int(address.query.get("port", address.port or 5432))
        unix = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else None
        user = address.query.get("user") or address.user or os.environ.get("PGUSER") or getpass.getuser()
        connection = module.connect(
            user,
            host=host or os.environ.get("PGHOST") or "localhost",
            port=port,
            unix_sock=unix,
            password=address.password or address.query.get("password") or os.environ.get("PGPASSWORD"),
            database=address.query.get("dbname") or address.path or user,
            startup_params={"search_path": _PLACE, "default_transaction_isolation": isolation.replace("-", " ")},
        )
        super().__init__(connection)
        self._gone = (module.InterfaceError, OSError)

    def code(self, error: BaseException) -> str | None:
        """SQLSTATE."""
        if isinstance(error, self._gone):
            return None
        told = error.args[0] if error.args else None
        return str(told.get("C", "")) if isinstance(told, dict) else ""


def _options(address: Address, isolation: str) -> str:
    """Settings of the session, which travel with the login."""
    level = isolation.replace("-", "\\ ")
    asked = address.query.get("options", "")
    return f"{asked} -c search_path={_PLACE} -c default_transaction_isolation={level}".strip()
