"""File systems that are made for private servers: each lies in a folder of ours, and goes with it."""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dsbench import spec
from dsbench.servers import folder
from dsbench.servers.errors import ServerError
from dsbench.servers.storage.volume import NOTE, StorageError, Volume, check
from dsbench.spec.storage import Storage

_standing: list[Volume] = []
"""Those that this process has mounted."""


def on_screen(line: str) -> None:
    """Where nobody else listens."""
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def mounted(
    base: Path, asked: Mapping[str, str], erase: str = "", tell: Callable[[str], None] = on_screen
) -> Iterator[Path]:
    """Where a private server makes its folder: ``base``, or a file system ``asked`` for that is made in it meanwhile.

    Where ``base`` lies on one already, as the runs of one history share it, that one is used. ``erase`` is the device
    that the user agreed to lose. Raises ``ServerError``; nothing is left behind in any case, or else ``tell`` gets a
    line with the folder that would not go.
    """
    if not asked or _is_ours(base):
        yield base
        return
    try:
        home = folder.Folder.create(base, "storage")
    except OSError as error:
        raise ServerError(f"cannot write to {base}: {error.strerror}", "specify another folder: directory = "
                                                                       "…") from None
    atexit.register(home.remove)
    try:
        try:
            volume = Volume.make(Storage.of(asked), home.path, erase)
        except StorageError as error:
            raise ServerError(error.problem, error.remedy) from None
        _standing.append(volume)
        try:
            yield volume.data
        finally:
            _standing.remove(volume)
    finally:
        if not home.remove():
            tell(left(home.path))
        atexit.unregister(home.remove)


def left(path: Path) -> str:
    """The line that tells of a folder of ours that would not go."""
    return f"warning: {path} could not be removed; hint: {REMEDY}"


REMEDY = "check which programs still use it (fuser -vm); the next run with the same folder removes it"


def _is_ours(path: Path) -> bool:
    """Whether ``path`` lies on a file system that dsbench made, which the process of a study may have mounted: a server
    there is given no other."""
    return any((one / NOTE).is_file() and one.is_mount() for one in (path, *path.parents))


def defragment(path: Path) -> None:
    """Defragments the file system of ours that holds ``path``. Raises ``ServerError``."""
    _done_to(path, Volume.defragment)


def restart(path: Path) -> None:
    """Unmounts and mounts it: nothing of it is in memory then. Raises ``ServerError``."""
    _done_to(path, Volume.remount)


def _done_to(path: Path, change: Callable[[Volume], None]) -> None:
    volume = next((one for one in _standing if path.is_relative_to(one.point)), None)
    if volume is None:
        raise ServerError(f"{path} is not on a file system that dsbench created", "add storage to the run")
    try:
        change(volume)
    except StorageError as error:
        raise ServerError(error.problem, error.remedy) from None


def refuse(base: Path, asked: Mapping[str, str]) -> None:
    """``SpecError`` where the file system ``asked`` for cannot be made in ``base``. Nothing is made."""
    if not asked or _is_ours(base):
        return
    try:
        check(Storage.of(asked), base)
    except StorageError as error:
        raise spec.NotHere("--storage", error.problem, error.remedy) from None
