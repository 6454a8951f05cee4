"""What all pages share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dsbench.web.shelf import Shelf
from dsbench.web.state import Runs


@dataclass
class House:
    """The folder that is shown, and what is known of it."""

    archives: Path
    shelf: Shelf
    runs: Runs
    theme: str = ""
    """"light" or "dark"; empty: as the browser prefers."""

    @classmethod
    def of(cls, archives: Path) -> House:
        """The house over a folder, which is made. ``ArchiveError`` where it cannot be written."""
        return cls(archives, Shelf(archives), Runs(archives))
