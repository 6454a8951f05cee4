"""What the loop of the core asks of a session: one class for each driver fills in what its driver does differently.

The core's ``crates/py/src/driver.rs`` calls these methods, and takes the times around its calls.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

Run = Callable[[Sequence[Any]], Any]
"""Runs a statement with its parameters: rows where it gives some, else the number of rows that it changed."""

_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


class Unproved(Exception):
    """A session is not what was asked for."""


class Session(ABC):
    """A session of a driver. Outside of ``begin`` to ``commit`` or ``rollback`` each statement is a transaction."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._open = False
        self._single = False

    def prove(self, isolation: str) -> None:
        """Reads back what was asked for with the login, as something between may have changed it. ``Unproved``."""
        sql, asked = self._proof(isolation)
        if not sql:
            return
        self._alone(True)
        cursor = self.connection.cursor()
        cursor.execute(sql)
        found = [str(cell) for cell in cursor.fetchone() or ()]
        cursor.close()
        self._alone(self._single)
        if found != list(asked):
            words = f"sessions have {', '.join(found)} instead of {', '.join(asked)}: a pooler or proxy changes it"
            raise Unproved(f"{words}; specify the server itself as the target")

    def _proof(self, _isolation: str, /) -> tuple[str, Sequence[str]]:
        """A query and the row that it gives; none where each transaction is asked for as it is to be."""
        return "", ()

    def begin(self) -> None:
        """Opens a transaction: most drivers do so by themselves with the next statement."""
        if self._single:
            self._alone(False)
            self._single = False
        self._open = True

    def begin_reading(self) -> None:
        """Opens a transaction that will only read."""
        self.begin()

    def commit(self) -> None:
        self.connection.commit()
        self._open = False

    def rollback(self) -> None:
        """Takes the open transaction back; harmless without one."""
        if self._open:
            self._open = False
            self.connection.rollback()

    def close(self) -> None:
        self.connection.close()

    def prepare(self, sql: str, reads: bool, once: bool) -> Run:
        """What runs ``sql``; ``reads``: it gives rows; ``once``: the server parses it once, not each time."""
        run = self._statement(sql, reads, once)

        def alone_or_within(params: Sequence[Any]) -> Any:
            if not self._open and not self._single:
                self._alone(True)
                self._single = True
            return run(params)

        return alone_or_within

    @abstractmethod
    def _statement(self, sql: str, reads: bool, once: bool, /) -> Run:
        """What runs ``sql`` on this driver."""

    @abstractmethod
    def _alone(self, alone: bool) -> None:
        """Makes each statement from now on a transaction, or not. No transaction is open."""

    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether the database said with its last answer that a transaction is open."""

    @abstractmethod
    def code(self, error: BaseException) -> str | None:
        """The product's code of ``error``, empty where it has none; ``None`` where the connection is gone."""

    def decimal(self, unscaled: int, scale: int, /) -> Any:
        """A number of ``scale`` digits behind the point, as a parameter."""
        return Decimal(unscaled).scaleb(-scale)

    def unscaled(self, value: Any, scale: int, /) -> int:
        """A number of a result in units of its last digit."""
        return int(Decimal(value).scaleb(scale))

    def timestamp(self, microseconds: int) -> Any:
        """A time since 1970, as a parameter."""
        return _EPOCH + microseconds * _MICROSECOND

    def microseconds(self, value: Any) -> int:
        """A time of a result since 1970."""
        return int((value - _EPOCH) // _MICROSECOND)


def proved(session: Session, isolation: str) -> Session:
    """``session``, which has what was asked for with its login; closed and ``Unproved`` otherwise."""
    try:
        session.prove(isolation)
    except BaseException:
        session.close()
        raise
    return session
