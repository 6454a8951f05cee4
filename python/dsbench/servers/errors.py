"""What can go wrong with a private server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from dsbench import devices
from dsbench.dataclass import dataclass
from dsbench.problem import Problem


class ServerError(Problem):
    """A private server that cannot be had: ``problem`` says what and where, ``remedy`` what to do."""


IS_FULL: Final = re.compile(
    r"disk is full|no space left|disk full|\bis full\b|could not extend file|disk quota exceeded", re.IGNORECASE
)
"""What engines and systems say of a disk without space."""


@dataclass(frozen=True)
class Installation:
    """A product that a private server can be started from."""

    product: str
    version: str
    """Empty when it is not there."""
    path: Path | None
    """Folder of its programs; ``None`` when it is part of dsbench, or not there."""
    remedy: str = ""
    """How to get it, when it is not there."""


def storage_notes(directory: Path) -> list[str]:
    """Doubts about figures from a server that keeps its data in ``directory``."""
    mount = devices.mount_of(directory)
    if mount is None:
        return []
    if mount.type in devices.VOLATILE:
        return [f"the data is in memory ({mount.type} on {mount.point}): the figures do not measure storage"]
    if mount.type in devices.STACKED:
        return [
            f"the data is on a stacked file system ({mount.type} on {mount.point}):"
            " the figures include its overhead; specify a folder on a volume with directory = …"
        ]
    return []
