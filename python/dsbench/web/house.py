"""What all pages share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dsbench.dataclass import dataclass
from dsbench.web.shelf import Shelf
from dsbench.web.state import Runs

if TYPE_CHECKING:
    from dsbench.commons.entry import CommonsEntry


@dataclass
class House:
    """The folder that is shown, and what is known of it."""

    archives: Path
    shelf: Shelf
    runs: Runs
    commons: Path
    """The folder to which archives are published, whether it is there or not."""
    sound: Sequence[CommonsEntry] | None = None
    """Its entries that held when they were last verified; ``None`` before."""
    theme: str = ""
    """"light" or "dark"; empty: as the browser prefers."""

    @classmethod
    def of(cls, archives: Path, commons: Path | None = None) -> House:
        """The house over a folder, which is made. ``ArchiveError`` where it cannot be written."""
        return cls(archives, Shelf(archives), Runs(archives), commons or archives.absolute().parent / "commons")
