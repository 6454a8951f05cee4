"""Where control groups are on this machine: the trees of version 1, one for some controllers each, and that of 2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dsbench import devices

_CONTROLLERS = frozenset({"memory", "cpu", "blkio", "io"})


@dataclass(frozen=True)
class Hierarchy:
    """One tree of groups."""

    version: int
    top: Path
    own: Path
    """The group of this process in it."""
    controllers: frozenset[str]
    """Those that it has, of ``memory``, ``cpu``, and ``blkio`` (version 1) or ``io`` (version 2)."""

    def parents(self) -> Iterator[Path]:
        """Groups that a new one may be made in: the own one, then those above it."""
        yield self.own
        if self.own != self.top:
            yield from (folder for folder in self.own.parents if folder.is_relative_to(self.top))


def hierarchies() -> list[Hierarchy]:
    """Those that are mounted here and have a controller of ours; none but on Linux."""
    try:
        member = Path("/proc/self/cgroup").read_text()
    except OSError:
        return []
    return list(among(devices.mounts(), member))


def among(mounts: list[devices.Mount], member: str) -> Iterator[Hierarchy]:
    """Those of ``mounts``; ``member`` is the text of ``/proc/PID/cgroup``."""
    groups: dict[str, str] = {}
    for line in member.splitlines():
        _, controllers, group = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), group)
    for mount in mounts:
        if mount.type == "cgroup":
            found = _CONTROLLERS & set(mount.options)
            if found:
                yield Hierarchy(1, mount.point, _inside(mount.point, groups.get(min(found), "/")), frozenset(found))
        elif mount.type == "cgroup2":
            found = _CONTROLLERS & set(_words(mount.point / "cgroup.controllers"))
            if found:
                yield Hierarchy(2, mount.point, _inside(mount.point, groups.get("", "/")), frozenset(found))


def _inside(top: Path, group: str) -> Path:
    """The folder of ``group``. In a container its path may be that of the host: then only the top is visible."""
    folder = top / group.lstrip("/")
    return folder if ".." not in folder.parts and folder.is_dir() else top


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []
