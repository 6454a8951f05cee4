"""Drivers of PostgreSQL."""

from __future__ import annotations

import getpass
import os
import ssl
from types import ModuleType
from typing import Any

from dsbench._core import by_format
from dsbench.measure.drivers.session import Run, Session
from dsbench.spec import SpecError
from dsbench.spec.target import Target

_PLACE = "dsbench"
"""The schema of a run."""
_OPEN = (1, 2, 3)
"""libpq's words for a transaction: a statement under way in it, open, failed."""


class _Postgres(Session):
    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._cursor = connection.cursor()

    def _proof(self, isolation: str, /) -> tuple[str, tuple[str, str]]:
        sql = "SELECT current_setting('transaction_isolation'), current_setting('search_path')"
        return sql, (isolation.replace("-", " "), _PLACE)

    def _alone(self, alone: bool) -> None:
        self.connection.autocommit = alone

    def _statement(self, sql: str, reads: bool, _once: bool, /) -> Run:
        cursor, text = self._cursor, by_format(sql, "postgres")

        def run(params: Any) -> Any:
            cursor.execute(text, params)
            return cursor.fetchall() if reads else cursor.rowcount

        return run


class Psycopg(_Postgres):
    """psycopg 3: the parameters travel apart from the statement."""

    def __init__(self, module: ModuleType, target: Target, isolation: str) -> None:
        # Before 3.2 it takes no statement as the server does, with $1.
        raw = getattr(module, "RawCursor", None)
        self._raw = raw is not None
        # Left to itself it would prepare what it sees for the fifth time.
        connection = module.connect(
            target.url, options=session_options(target, isolation), cursor_factory=raw or module.Cursor,
            prepare_threshold=None,
        )  # fmt: skip
        super().__init__(connection)

    def _statement(self, sql: str, reads: bool, once: bool, /) -> Run:
        cursor, text = self._cursor, sql if self._raw else by_format(sql, "postgres")

        def run(params: Any) -> Any:
            cursor.execute(text, params, prepare=once)
            return cursor.fetchall() if reads else cursor.rowcount

        return run

    def in_transaction(self) -> bool:
        """By the status of the protocol."""
        return int(self.connection.pgconn.transaction_status) in _OPEN

    def code(self, error: BaseException) -> str | None:
        code = getattr(error, "sqlstate", None)
        return None if code is None and self.connection.closed else str(code or "")


class Psycopg2(_Postgres):
    """psycopg2, which writes the parameters into the statement."""

    def __init__(self, module: ModuleType, target: Target, isolation: str) -> None:
        super().__init__(module.connect(target.url, options=session_options(target, isolation)))

    def in_transaction(self) -> bool:
        """By the status of the protocol."""
        return self.connection.get_transaction_status() in _OPEN

    def code(self, error: BaseException) -> str | None:
        code = getattr(error, "pgcode", None)
        return None if code is None and self.connection.closed else str(code or "")


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # A user without an entry, as in a container of any user's.
        raise SpecError("TARGET", "no user name is known", "write one: postgresql://user@…") from None


class Pg8000(_Postgres):
    """pg8000, which is written in Python; each statement with parameters takes a message for parsing and an answer."""

    def __init__(self, module: ModuleType, target: Target, isolation: str) -> None:
        if os.environ.get("PGSERVICE"):
            raise SpecError("PGSERVICE", "pg8000 reads no service files", "name host, port and database in TARGET")
        level, asked = isolation.replace("-", " "), asked_options(target)
        host, port = target.host, target.port or 5432
        unix = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else None
        user = target.user or os.environ.get("PGUSER") or _own_name()
        connection = module.connect(
            user,
            host=host or os.environ.get("PGHOST") or "localhost",
            port=port,
            unix_sock=unix,
            password=target.password or os.environ.get("PGPASSWORD"),
            database=target.database or user,
            startup_params={
                "search_path": _PLACE, "default_transaction_isolation": level, **({"options": asked} if asked else {})
            },
            ssl_context=_encryption(target),
        )  # fmt: skip
        super().__init__(connection)
        self._gone = (module.InterfaceError, OSError)

    def in_transaction(self) -> bool:
        """By the status of the protocol, for which pg8000 has no public name."""
        return self.connection._transaction_status in (b"T", b"E")

    def code(self, error: BaseException) -> str | None:
        if isinstance(error, self._gone):
            return None
        told = error.args[0] if error.args else None
        return str(told.get("C", "")) if isinstance(told, dict) else ""


def asked_options(target: Target) -> str:
    """Settings of all sessions that the user asks for."""
    return target.parameters.get("options") or os.environ.get("PGOPTIONS", "")


def session_options(target: Target, isolation: str) -> str:
    """Settings of the session, which travel with the login."""
    level = isolation.replace("-", "\\ ")
    return f"{asked_options(target)} -c search_path={_PLACE} -c default_transaction_isolation={level}".strip()


def _encryption(target: Target) -> ssl.SSLContext | bool | None:
    """libpq's sslmode in pg8000's words: ``None`` where the server may choose, ``True`` for any certificate."""
    mode = target.parameters.get("sslmode") or os.environ.get("PGSSLMODE", "prefer")
    roots, identity = target.parameters.get("sslrootcert"), target.parameters.get("sslcert")
    if mode in ("disable", "allow", "prefer"):
        return None if mode == "prefer" else False
    if mode == "require" and not (roots or identity):
        return True
    context = ssl.create_default_context(cafile=roots if roots != "system" else None)
    context.check_hostname = mode == "verify-full"
    # As libpq: a named authority is asked for its word.
    context.verify_mode = ssl.CERT_REQUIRED if mode != "require" or roots else ssl.CERT_NONE
    if identity:
        context.load_cert_chain(identity, target.parameters.get("sslkey"))
    return context
