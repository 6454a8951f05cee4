"""What all pages share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dsbench.web.shelf import Shelf
from dsbench.web.state import Runs


@dataclass
class House:
    """The folder that is shown, and what is known of it."""

    archives: Path
    shelf: Shelf
    runs: Runs
    commons: Path
    """The folder to which archives are published, whether it is there or not."""
    verified: dict[str, str] = field(default_factory=dict)
    """What is known of its entries, by their marks."""
    theme: str = ""
    """"light" or "dark"; empty: as the browser prefers."""

    @classmethod
    def of(cls, archives: Path, commons: Path | None = None) -> House:
        """The house over a folder, which is made. ``ArchiveError`` where it cannot be written."""
        return cls(archives, Shelf(archives), Runs(archives), commons or archives.absolute().parent / "commons")
