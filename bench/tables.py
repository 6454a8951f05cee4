"""Tables that benches put into pages of docs."""

from __future__ import annotations

from pathlib import Path


def put(page: Path, name: str, table: str) -> None:
    """Replaces what stands between the marks of ``name`` in ``page``."""
    begin, end = f"<!-- measured: {name} -->\n", f"<!-- /measured: {name} -->"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no marks of {name}")
    page.write_text(f"{before}{begin}{table}{end}{after}")
