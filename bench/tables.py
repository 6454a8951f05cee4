"""Tables that benches put into pages of docs."""

from __future__ import annotations

from pathlib import Path


def marks(name: str, how: str = "measured") -> tuple[str, str]:
    """Before and behind a table in the page."""
    return f"<!-- {how}: {name} -->\n", f"<!-- /{how}: {name} -->"


def taken(page: Path, name: str, how: str = "measured") -> str:
    """What stands between the marks of ``name`` in ``page``."""
    return _parts(page, name, how)[1]


def put(page: Path, name: str, table: str, how: str = "measured") -> None:
    """Replaces it by ``table``."""
    begin, end = marks(name, how)
    before, _, after = _parts(page, name, how)
    page.write_text(f"{before}{begin}{table}{end}{after}")


def _parts(page: Path, name: str, how: str) -> tuple[str, str, str]:
    begin, end = marks(name, how)
    before, _, rest = page.read_text().partition(begin)
    between, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{page} has no marks of {name}")
    return before, between, after
