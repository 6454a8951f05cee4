"""What a database system says of itself: one file per engine, and one line in ``_ENGINES``."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from dsbench.measure.stack.described import Database, StackQueries
from dsbench.measure.stack.rdbms import firebird, mysql, postgres, sqlite

_ENGINES: dict[str, ModuleType] = {"postgres": postgres, "mysql": mysql, "firebird": firebird, "sqlite": sqlite}
"""Modules with ``describe(queries, url) -> Database`` and ``directory(queries, url) -> Path | None``."""


def describe(engine: str, queries: StackQueries, url: str) -> Database:
    """The description of ``engine``; without a word where nothing is known of it."""
    module = _ENGINES.get(engine)
    if module is None:
        return Database(version=engine, items={"product": engine})
    described: Database = module.describe(queries, url)
    return described


def directory(engine: str, queries: StackQueries, url: str) -> Path | None:
    """Where ``engine`` keeps its data on this machine; ``None`` when that is elsewhere or not told."""
    module = _ENGINES.get(engine)
    found: Path | None = module.directory(queries, url) if module is not None else None
    return found
