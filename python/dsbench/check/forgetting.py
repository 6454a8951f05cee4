"""Where the data lie while a server is killed: on the storage as it is, or on the file system that forgets."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from dsbench.children import Child, ChildError
from dsbench.measure.beside import Forgetting
from dsbench.problem import Problem
from dsbench.servers import ServerError

STORAGES: Final = ("plain", "forgetful", "lying")
"""``plain``: as it is; ``forgetful``: what was not flushed is gone after a kill; ``lying``: all that was written is."""

_ANSWER_S: Final = 120.0


class Plain:
    """Storage as it is: a kill leaves the kernel's cache alone, so that only what the server itself kept is lost."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ready(self) -> None:
        """Before the writers begin."""

    def forget(self) -> int | None:
        """Once all that wrote is dead: the number of bytes that were dropped; ``None`` where nothing is ever."""
        return None


class Forgetful(Plain):
    """The file system that forgets, over a folder of its own, in a process of its own."""

    def __init__(self, folder: Path, process: Child, *, lies: bool) -> None:
        super().__init__(folder)
        self._process = process
        self._lies = lies

    def ready(self) -> None:
        """All that was written so far is on the disk; from now on flushes count, or are lies."""
        self._ask("settle")
        self._ask("lie", self._lies)

    def forget(self) -> int | None:
        """Drops what is not on the disk; until ``ready`` flushes count again, so that the server can recover."""
        dropped: int = self._ask("forget")
        self._ask("lie", False)
        return dropped

    def _ask(self, question: str, *values: bool) -> Any:
        self._process.ask(question, *values)
        try:
            return self._process.answer()
        except ChildError as error:
            raise ServerError(f"the forgetful file system has ended: {error}", "try again") from None


@contextlib.contextmanager
def storage(kind: str, home: Path) -> Iterator[Plain]:
    """The storage ``kind`` with its folder in ``home``. ``ServerError`` where there is no FUSE for it.

    It is unmounted with the block. Where dsbench is killed, its process reads the end of its input and unmounts; where
    that is killed as well, the next run finds the mount by its mark (``devices.FORGETFUL``) and clears it away.
    """
    if kind == "plain":
        yield Plain(home)
        return
    if lack := lacking():
        raise ServerError(*lack)
    disk, mount = home / "disk", home / "mount"
    for folder in (disk, mount):
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
    process = Child(Forgetting, "the forgetful file system")
    try:
        process.ask("mount", str(disk), str(mount))
        try:
            process.answer()
        except Problem as error:
            remedy = "check that this user may mount: in a container --device /dev/fuse --cap-add SYS_ADMIN"
            raise ServerError(f"--storage {kind}: {error}", remedy) from None
        yield Forgetful(mount, process, lies=kind == "lying")
    finally:
        process.end(_ANSWER_S)


def lacking() -> tuple[str, str] | None:
    """What the file system that forgets needs and is not here, with the remedy."""
    if sys.platform != "linux":
        return "--storage: the forgetful file system needs Linux", "use --storage plain"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        remedy = "load it (modprobe fuse), or pass it to the container: --device /dev/fuse --cap-add SYS_ADMIN"
        return "--storage: FUSE is not available: /dev/fuse is missing or cannot be opened", remedy
    if os.geteuid() != 0 and not (shutil.which("fusermount3") or shutil.which("fusermount")):
        return "--storage: only root can mount here: fusermount3 is missing", "install it: apt install fuse3"
    return None
