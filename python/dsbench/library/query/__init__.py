"""SQL over all archives below a folder: DuckDB looks at their tables as views."""

from __future__ import annotations

from dsbench.library.query.asking import QueryError, ask, described
from dsbench.library.query.found import Found, find
from dsbench.library.query.views import names

__all__ = ["Found", "QueryError", "ask", "described", "find", "names"]
