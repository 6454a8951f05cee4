"""Ages a file system in a way that can be repeated: it is filled, and every second file goes again."""

from __future__ import annotations

import math
import os
import random
import subprocess
from pathlib import Path
from typing import Final

_SMALLEST, _LARGEST = 4 << 10, 4 << 20
"""Bytes of a file; their logarithms are spread evenly."""
_FOLDERS: Final = 64
_STOCK_BYTES: Final = 8 << 20


def age(folder: Path, share: float, seed: int) -> tuple[int, int]:
    """Fills the file system of ``folder``, which is made, up to ``share`` (0-1) and deletes every second file.

    Files have 4 KiB to 4 MiB of random bytes, which no file system can compress, and lie in 64 folders. The same
    ``seed`` gives the same sizes, places and bytes. Gives the numbers of files made and deleted. Raises ``OSError``.
    """
    chance = random.Random(seed)
    stock = memoryview(chance.randbytes(_STOCK_BYTES))
    for number in range(_FOLDERS):
        (folder / f"{number:02}").mkdir(parents=True)
    left = int(_bytes_of(folder) * share)
    made: list[Path] = []
    while left > 0:
        size = min(int(math.exp(chance.uniform(math.log(_SMALLEST), math.log(_LARGEST)))), left)
        at = chance.randrange(_STOCK_BYTES - size)
        path = folder / f"{chance.randrange(_FOLDERS):02}" / f"{len(made)}"
        path.write_bytes(stock[at : at + size])
        made.append(path)
        left -= size
    _on_disk(folder)  # Files that were deleted before they were written would leave no holes.
    for path in made[::2]:
        path.unlink()
    _on_disk(folder)
    return len(made), len(made[::2])


def _bytes_of(folder: Path) -> int:
    room = os.statvfs(folder)
    return room.f_blocks * room.f_frsize


def _on_disk(folder: Path) -> None:
    subprocess.run(["sync", "-f", str(folder)], capture_output=True, check=False)
