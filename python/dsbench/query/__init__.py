"""SQL over all archives below a folder: DuckDB looks at their tables as views."""

from __future__ import annotations

from dsbench.query.asking import QueryError, ask, described
from dsbench.query.found import Found, find
from dsbench.query.views import names

__all__ = ["Found", "QueryError", "ask", "described", "find", "names"]
