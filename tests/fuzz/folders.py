"""Folders of archives in which somebody has been at work: links, pipes, files that are gone, folders in their place."""

from __future__ import annotations

import os
import random as chance
from contextlib import suppress
from pathlib import Path
from random import Random

from . import archives
from .sandbox import Refused, called

_NAMES = (
    "run.json", "results.csv", "results.txt", "results.log", "report.html", "cycles.parquet", "buckets.parquet", "cycles/one.parquet",
    "cycles.merged.parquet", "cycles.merged/one.parquet", "trace/x.parquet", "results-rate.vl.json", "results.txt.part", "run.json.part",
    "nodes", "x" * 200, "-", "a\nb", "\x1b[2J", "sealed.zip", "notes.json", "thesis/a.txt",
)  # fmt: skip


def make(random: Random) -> bytes:
    """The seed of what is done."""
    return random.randbytes(8)


def run(data: bytes, folder: Path) -> None:
    """Makes the folder, and reads it by a command, or as the browser does."""
    random = chance.Random(data)
    (folder / "beside").write_text("secret")
    archives.unpack(random.randrange(archives.COUNT), folder / "all" / "a")
    for _ in range(random.choice((1, 2, 4))):
        with suppress(OSError, ValueError):
            _damage(random, folder, folder / "all" / "a" / random.choice(_NAMES))
    choice = random.randrange(4)
    try:
        if choice == 0:
            archives.read("all/a", data)
        elif choice == 1:
            called("trend", "all", "--json", fine=(0, 3))
        else:
            _browsed(folder / "all", remove=choice == 3)
    finally:
        assert (folder / "beside").read_text() == "secret", "what lies beside the archive was changed"


def _damage(random: Random, folder: Path, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    pick = random.randrange(7)
    if pick == 0:
        os.mkfifo(path)
    elif pick == 1:
        path.symlink_to(folder / "beside")
    elif pick == 2:
        path.symlink_to(random.choice(("/dev/zero", "/proc/self/mem", "nowhere", path.name, "..", "/")))
    elif pick == 3:
        path.mkdir()
    elif pick == 4:
        path.write_bytes(random.randbytes(random.choice((0, 1, 5000))))
    elif pick == 5:
        with path.open("wb") as file:
            file.truncate(random.choice((10**6, 10**8, 2**40)))


def _browsed(folder: Path, *, remove: bool) -> None:
    from dsbench.archive import ArchiveError
    from dsbench.web.pages.live import Course
    from dsbench.web.reports import _report
    from dsbench.web.shelf import Shelf

    shelf = Shelf(folder)
    mine = [path for path in folder.rglob("*") if path.name in ("a.txt", "notes.json", "x" * 200, "-") and path.is_file() and not path.is_symlink()]
    shelf.books()
    Course().look(folder / "a", whole=True)
    try:
        _report(shelf.path("a"))
        if remove:
            shelf.remove("a")
    except ArchiveError as error:
        raise Refused(str(error)) from None
    finally:
        assert all(path.is_file() for path in mine), "a file that dsbench did not write is gone"
