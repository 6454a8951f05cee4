"""Drivers of MariaDB and MySQL."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from dsbench._core import by_format
from dsbench.measure.drivers.session import Run, Session
from dsbench.spec.target import Target

_FOUND_ROWS = 2
"""Flag of the protocol: an update tells how many rows it found, also where nothing in them changed."""

_IN_TRANSACTION = 1
"""Flag of the server's status."""


class PyMySQL(Session):
    """PyMySQL, which is written in Python and writes the parameters into the statement."""

    def __init__(self, module: ModuleType, target: Target, isolation: str) -> None:
        connection = module.connect(
            host=target.host or os.environ.get("MYSQL_HOST"),
            port=target.port or int(os.environ.get("MYSQL_TCP_PORT") or 3306),
            unix_socket=target.parameters.get("socket"),
            user=target.user or None,
            # As text it could only be of Latin 1.
            password=(target.password or os.environ.get("MYSQL_PWD", "")).encode(),
            database="dsbench",
            autocommit=True,
            client_flag=_FOUND_ROWS,
            sql_mode="STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION",
            **_encryption(target),
            init_command=f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation.replace('-', ' ').upper()}",
        )
        super().__init__(connection)
        self._single = True
        self._cursor = connection.cursor()

    def _proof(self, isolation: str, /) -> tuple[str, tuple[str, str]]:
        """Isolation and database; each product takes the other's name of the isolation for a comment."""
        sql = "SELECT /*M! @@tx_isolation *//*!50720 @@transaction_isolation */, DATABASE()"
        return sql, (isolation.upper(), "dsbench")

    def _alone(self, alone: bool) -> None:
        self.connection.autocommit(alone)

    def _statement(self, sql: str, reads: bool, _once: bool, /) -> Run:
        cursor, text = self._cursor, by_format(sql, "mysql")

        def run(params: Any) -> Any:
            changed = cursor.execute(text, params)
            return cursor.fetchall() if reads else changed

        return run

    def in_transaction(self) -> bool:
        """By the status of the protocol."""
        return bool(self.connection.server_status & _IN_TRANSACTION)

    def code(self, error: BaseException) -> str | None:
        """The number of the error."""
        if isinstance(error, OSError):
            return None
        told = error.args[0] if error.args else ""
        return str(told) if isinstance(told, int) else ""


def _encryption(target: Target) -> dict[str, Any]:
    """The mode of the URL in PyMySQL's words; as with the own client, a socket is encrypted only if asked."""
    query = target.parameters
    mode = query.get("ssl_mode") or ("VERIFY_CA" if "ssl_ca" in query else "PREFERRED")
    if mode == "DISABLED" or (mode == "PREFERRED" and "socket" in query):
        return {"ssl_disabled": True}
    if mode == "PREFERRED":
        return {}
    files: dict[str, Any] = {name: query[name] for name in ("ssl_ca", "ssl_cert", "ssl_key") if name in query}
    if mode == "REQUIRED" and not files:
        return {"ssl": {"verify_mode": False}}
    return {**files, "ssl_verify_cert": mode != "REQUIRED", "ssl_verify_identity": mode == "VERIFY_IDENTITY"}
