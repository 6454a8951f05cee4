"""The comparisons of two that the browser begins: folders beside the archives, as ``dsbench ab --out`` leaves them."""

from __future__ import annotations

from pathlib import Path

from dsbench.archive import ArchiveError
from dsbench.library.pair import STEM


def beside(archives: Path) -> Path:
    """The folder of all of them."""
    return archives.absolute().parent / "comparisons"


def names(archives: Path) -> list[str]:
    """The latest first: names begin with the time."""
    try:
        found = [path.name for path in beside(archives).iterdir() if (path / f"{STEM}.json").is_file()]
    except OSError:
        return []
    return sorted(found, reverse=True)


def folder(archives: Path, name: str) -> Path:
    """One of them; ``ArchiveError`` for all others."""
    if name not in names(archives):
        words = f"no comparison {name[:80]!r} in {beside(archives)}"
        raise ArchiveError(words, "choose one of the page Compare two", usage=True)
    return beside(archives) / name
