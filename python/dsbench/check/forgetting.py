"""Where the data lie while a server is killed: on the storage as it is, or on the file system that forgets."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dsbench.measure.loaders import FORGETFUL
from dsbench.servers import ServerError
from dsbench.servers.process import python

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

    def __init__(self, folder: Path, process: subprocess.Popen[str], *, lies: bool) -> None:
        super().__init__(folder)
        self._process = process
        self._lies = lies

    def ready(self) -> None:
        """All that was written so far is on the disk; from now on flushes count, or are lies."""
        self._say("settle")
        self._say("lie" if self._lies else "honest")

    def forget(self) -> int | None:
        """Drops what is not on the disk; until ``ready`` flushes count again, so that the server can recover."""
        dropped = self._say("forget")
        self._say("honest")
        return dropped

    def _say(self, word: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            print(word, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline().strip()
        if not answer.isdecimal():
            raise ServerError(f"the file system that forgets has ended: {answer or 'it was killed'}", "try again")
        return int(answer)


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
    process = python(FORGETFUL, str(disk), str(mount))
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        if said != "mounted":
            process.stdin.close()
            remedy = "see that this user may mount: in a container --device /dev/fuse --cap-add SYS_ADMIN"
            raise ServerError(f"--storage {kind}: {said.removeprefix('error ') or 'it did not start'}", remedy)
        try:
            yield Forgetful(mount, process, lies=kind == "lying")
        finally:
            process.stdin.close()
            try:
                process.wait(_ANSWER_S)
            except subprocess.TimeoutExpired:
                process.kill()


def lacking() -> tuple[str, str] | None:
    """What the file system that forgets needs and is not here, with the remedy."""
    if sys.platform != "linux":
        return "--storage: the file system that forgets needs Linux", "use --storage plain"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        remedy = "load it (modprobe fuse), or give it to the container: --device /dev/fuse --cap-add SYS_ADMIN"
        return "--storage: there is no FUSE here: /dev/fuse is missing or may not be opened", remedy
    if os.geteuid() != 0 and not (shutil.which("fusermount3") or shutil.which("fusermount")):
        return "--storage: only the superuser can mount here: there is no fusermount3", "install it: apt install fuse3"
    return None
