"""``run.json``: bytes changed, and values of other types."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from . import archives
from .mutate import changed, mutated


def make(random: Random) -> bytes:
    """The number of the archive as one byte, and what stands in its place."""
    number = random.randrange(archives.COUNT)
    text = archives.files(number)["run.json"]
    pick = random.random()
    if pick < 0.03:
        return bytes([number]) + random.choice((b"[", b'{"format":')) * random.choice((100, 100_000))
    if pick < 0.8:
        text = json.dumps(changed(random, json.loads(text))).encode()
    return bytes([number]) + (mutated(random, text) if pick > 0.7 else text)


def run(data: bytes, folder: Path) -> None:
    """Reads the archive that has it."""
    archives.unpack(data[0] % archives.COUNT if data else 0, folder / "a", **{"run.json": data[1:]})
    archives.read("a", data)
