"""Tables that benches put into pages of docs."""

from __future__ import annotations

from pathlib import Path


def marks(name: str, how: str = "measured") -> tuple[str, str]:
    """Before and behind a table in the page."""
    return f"<!-- {how}: {name} -->\n", f"<!-- /{how}: {name} -->"


def put(page: Path, name: str, table: str, how: str = "measured") -> None:
    """Replaces what stands between the marks of ``name`` in ``page``."""
    begin, end = marks(name, how)
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no marks of {name}")
    page.write_text(f"{before}{begin}{table}{end}{after}")
