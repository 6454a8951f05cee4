"""A database behind a URL."""

from __future__ import annotations

from dataclasses import dataclass

from dsbench import _core
from dsbench.generator.core import errors


@dataclass(frozen=True)
class Dialect:
    """How an engine speaks SQL, and what it is."""

    name: str
    procedures: bool
    embedded: bool
    single_writer: bool
    keeps_data: bool


class Target:
    """The database behind a URL: its place (what dsbench may create and drop) and queries."""

    def __init__(self, url: str) -> None:
        with errors():
            self._core = _core.Target(url)
        self.dialect = Dialect(**self._core.dialect())

    def state(self) -> tuple[str, str]:
        """("absent" | "marked" | "foreign", text of the mark or name of what is there)."""
        with errors():
            return self._core.state()

    def create(self, mark: str) -> None:
        """Creates the place with dsbench's mark."""
        with errors():
            self._core.create(mark)

    def drop(self) -> None:
        """Drops the place; refused unless it carries the mark."""
        with errors():
            self._core.drop()

    def size_bytes(self) -> int:
        """Size of the place in bytes."""
        with errors():
            return self._core.size_bytes()

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        """Rows of an administrative query, by column name, all text."""
        with errors():
            columns, rows = self._core.fetch(sql)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def close(self) -> None:
        """Closes the administrative connection for good; a query that waits for the server in another thread ends."""
        self._core.close()
