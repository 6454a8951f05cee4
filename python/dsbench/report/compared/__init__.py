"""Archives side by side: read, set beside the first, shown as text, JSON, page and one diagram."""

from __future__ import annotations

from dsbench.report.compared.reading import Comparison, read
from dsbench.report.compared.showing import document, files, text

__all__ = ["Comparison", "document", "files", "read", "text"]
