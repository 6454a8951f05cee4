"""Packed archives: bytes changed, and files with other names, sizes and methods."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path
from random import Random

from . import archives
from .mutate import TEXTS, mutated

_NAMES = (
    "a/results-p/../../PWNED.vl.json", "../PWNED", "/PWNED.vl.json", "a\\..\\PWNED", "a/results-\x00.vl.json", "a/results-x/y.vl.json",
    "results-z.vl.json", "a/run.json", "run.json", "b/run.json/", "a/cycles/p.parquet", "a/cycles.merged/x", "a/.part",
)  # fmt: skip


def make(random: Random) -> bytes:
    """A zip that was changed, or packed otherwise."""
    number = random.randrange(archives.COUNT)
    data = archives.packed(number) if random.random() < 0.5 else _packed(random, archives.files(number))
    return mutated(random, data, archives.packed(0)) if random.random() < 0.7 else data


def _packed(random: Random, files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    root = random.choice(("a/", "", "a/b/", "./"))
    with zipfile.ZipFile(buffer, "w", method) as pack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in files.items():
            if random.random() < 0.95:
                pack.writestr(root + name, content)
        for _ in range(random.choice((0, 1, 1, 2))):
            name = random.choice(_NAMES) if random.random() < 0.6 else "a/" + random.choice(TEXTS).encode("utf-8", "replace").decode()
            large = random.random() < 0.05
            pack.writestr(name, b" " * 20_000_000 if large else random.choice((b"{}", b"", b"PK\x05\x06" + bytes(18))))
    return buffer.getvalue()


def run(data: bytes, folder: Path) -> None:
    """Reads it, mostly by the commands that write files of it."""
    (folder / "a.zip").write_bytes(data)
    archives.read("a.zip", data)
