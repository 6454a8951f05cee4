"""Limits of memory, disk and CPUs around the processes of one private server, by control groups (Linux).

A group is made before the server's first process and holds all that come of it. Page cache of the files that they
read or write counts as their memory. Version 1 holds back reads, direct writes and what a process flushes itself, but
not what the kernel writes back later. Version 2 holds that back as well, on file systems that tell whose pages it is.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from dsbench import devices
from dsbench.dataclass import dataclass
from dsbench.servers.limits.files import Place, hierarchies, places
from dsbench.servers.network import Network
from dsbench.spec import Limits, SpecError

__all__ = ["Group", "forget_pages", "planned", "remove"]

_PREFIX = "dsbench-"
_PATIENCE_S = 5.0
_REMEDY = (
    "run dsbench as root, or where your session may create control groups: systemd-run --user --scope "
    "dsbench run …; start a container with --privileged"
)


@dataclass
class Group:
    """What is around the processes of one server: the control groups, one folder for each tree that has a part of the
    limits, and a network of its own where it has one."""

    limits: Limits
    _places: list[Place]
    network: Network | None = None
    _name: str = field(default_factory=lambda: _PREFIX + secrets.token_hex(6))

    @property
    def paths(self) -> list[Path]:
        """The folders, whether they are made or not."""
        return [place.parent / self._name for place in self._places]

    @property
    def notes(self) -> list[str]:
        """What whoever reads the figures must know about how these limits hold."""
        if self.limits.write is None or any(place.version == 2 for place in self._places if place.throttles):
            return []
        return [
            "control groups of version 1 limit direct writes and writes that the server flushes; write-back by "
            "the kernel is not limited"
        ]

    def make(self) -> None:
        """Makes the folders with their limits; ``OSError`` when that fails, and then nothing is left."""
        try:
            for place in self._places:
                place.make(self._name)
        except BaseException:
            self.remove()
            raise

    def add(self, pid: int) -> None:
        """Puts a process in, with all that it starts from now on. Raises ``OSError``."""
        for path in self.paths:
            (path / "cgroup.procs").write_text(str(pid))

    def killed(self) -> int:
        """Processes that the kernel ended because the memory was used up."""
        return sum(place.killed(self._name) for place in self._places)

    def remove(self) -> bool:
        """Removes the folders, after what still runs in them; false when one would not go. Harmless when repeated."""
        gone = not [path for path in self.paths if not _removed(path)]
        for place in self._places:
            place.undo()
        return gone


def planned(limits: Limits, *folders: Path, network: Network | None = None) -> Group | None:
    """The group for a server whose data will lie in ``folders``; ``None`` without limits and ``network``.

    Whether it can be had is tried: a group is made and removed. ``SpecError`` when this system or user has none.
    """
    if limits == Limits():
        return None if network is None else Group(limits, [], network)
    group = Group(limits, places(limits, hierarchies(), _devices(limits, folders)), network)
    try:
        for place in group._places:
            place.choose(group._name)
        group.make()
    except OSError as error:
        problem = f"this user may not create control groups here ({error.strerror}: {error.filename})"
        raise SpecError("--limit", problem, _REMEDY) from None
    finally:
        group.remove()
    return group


def _devices(limits: Limits, folders: Iterable[Path]) -> list[str]:
    """Numbers of the disks below ``folders``, such as 8:0, each once, where their rates are limited."""
    if limits.read is None and limits.write is None:
        return []
    return list(dict.fromkeys(_number(folder) for folder in folders))


def _number(folder: Path) -> str:
    device = devices.device_of(folder)
    with contextlib.suppress(OSError):
        if device is not None:
            return (device.disk.folder / "dev").read_text().strip()
    problem = f"no disk is visible below {folder}, so its rates cannot be limited"
    raise SpecError("--limit", problem, "specify a folder on a disk: directory = …, or omit read and write")


def remove(paths: Iterable[Path]) -> bool:
    """Removes groups of ours, and ends the processes that are still in them; false when one would not go.

    A folder that only looks like a group, with numbers of processes in a file, is none of the kernel's.
    """
    tops = [one.top.resolve() for one in hierarchies()]
    ours = [path for path in paths if path.name.startswith(_PREFIX)]
    real = [path for path in ours if any(path.resolve().is_relative_to(top) for top in tops)]
    return not [path for path in real if not _removed(path)]


def _removed(path: Path) -> bool:
    deadline = time.monotonic() + _PATIENCE_S
    while path.is_dir():
        for pid in _members(path):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            path.rmdir()
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _members(path: Path) -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from (int(word) for word in (path / "cgroup.procs").read_text().split() if int(word) > 0)


def forget_pages(directory: Path) -> None:
    """Lets the files below ``directory`` go from the page cache.

    What another process has read or written counts as that one's memory: it would be there for the server beyond its
    limit. Without complaint where a file cannot be opened.
    """
    if not hasattr(os, "posix_fadvise"):
        return
    for folder, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                file = os.open(Path(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    os.fsync(file)  # Pages that are not written yet stay.
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(file)
