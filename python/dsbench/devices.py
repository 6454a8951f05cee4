"""Which file system and which block device hold a path: facts that servers, monitors and the stack share."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import psutil

from dsbench.dataclass import dataclass

VOLATILE = frozenset({"tmpfs", "ramfs"})
"""File systems that live in memory: what is written there never meets a storage device."""
STACKED = frozenset({"overlay", "aufs", "unionfs"})
"""File systems of containers: a file that is changed is copied first, and the device below is hidden."""

FORGETFUL = "dsbench-forgetful"
"""Source of a mount of our file system that forgets, by which one that was left behind is found."""

_MOUNTS = Path("/proc/self/mountinfo")
_DEVICES = Path("/sys/dev/block")


@dataclass(frozen=True)
class Mount:
    """A mounted file system."""

    point: Path
    source: str
    """What is mounted: a device node, ``tmpfs``, ``server:/share`` …"""
    type: str
    options: tuple[str, ...]
    """Options of the mount and of the file system, each once."""


@dataclass(frozen=True)
class Device:
    """A block device as the kernel counts it: a disk, a partition, a loop, a logical volume."""

    name: str
    """The kernel's name, as in ``/proc/diskstats``: ``sda1``, ``dm-0``."""
    folder: Path
    """Its folder below ``/sys``."""

    @property
    def disk(self) -> Device:
        """The whole disk of a partition; a device that is no partition is its own."""
        if (self.folder / "partition").exists():
            return Device(self.folder.parent.name, self.folder.parent)
        return self

    def below(self) -> list[Device]:
        """The devices that a logical volume or an array is made of; empty for any other."""
        try:
            return [Device(p.name, p.resolve()) for p in sorted((self.folder / "slaves").iterdir())]
        except OSError:
            return []


def mount_of(path: Path) -> Mount | None:
    """The file system that holds ``path`` (which need not exist yet); ``None`` when the system does not say."""
    inside = path.resolve()
    holding = [m for m in mounts() if inside.is_relative_to(m.point)]
    # The deepest mount point wins; of several mounts on one point the last one covers the others.
    deepest = max((len(m.point.parts) for m in holding), default=0)
    return next((m for m in reversed(holding) if len(m.point.parts) == deepest), None)


def mounts() -> list[Mount]:
    """All mounted file systems, in the order in which they were mounted."""
    try:
        lines = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return [
            Mount(Path(p.mountpoint), p.device, p.fstype, tuple(p.opts.split(",")))
            for p in psutil.disk_partitions(all=True)
        ]
    return [mount for line in lines if (mount := parsed(line)) is not None]


def forgetful() -> list[Path]:
    """Where our file system that forgets is mounted."""
    return [mount.point for mount in mounts() if mount.source == FORGETFUL]


def is_dead(point: Path) -> bool:
    """Whether the process that served the FUSE mount at ``point`` has ended."""
    try:
        point.stat()
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def detach_forgetful(below: Path) -> None:
    """Unmounts what was left mounted at a folder of ours or below when all that used it was killed."""
    for point in (point for point in forgetful() if point.is_relative_to(below)):
        for command in (["umount", "-l"], ["fusermount3", "-u", "-z"], ["fusermount", "-u", "-z"]):
            with contextlib.suppress(OSError):
                if subprocess.run([*command, str(point)], capture_output=True, check=False).returncode == 0:
                    break


def parsed(line: str) -> Mount | None:
    """One line of ``/proc/self/mountinfo``.

    It reads: number, parent, major:minor, root, point, options, tags, a dash, type, source, more options.
    """
    left, dash, right = line.partition(" - ")
    before, after = left.split(" "), right.split(" ")
    if not dash or len(before) < 6 or len(after) < 3:
        return None
    options = dict.fromkeys([*before[5].split(","), *after[2].split(",")])
    return Mount(Path(_unescaped(before[4])), _unescaped(after[1]), after[0], tuple(options))


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text)


def device_of(path: Path) -> Device | None:
    """The block device that holds ``path``; ``None`` for memory, networks, stacked file systems and other systems.

    btrfs and its like report a number of their own for their files: there the mounted device node tells.
    """
    inside = visible(path)
    found = _by_number(inside.stat().st_dev) if inside is not None else None
    if found is not None:
        return found
    mount = mount_of(path)
    if mount is None or not mount.source.startswith("/dev/"):
        return None
    try:
        return _by_number(Path(mount.source).stat().st_rdev)
    except OSError:
        return None


def devices_of(paths: Iterable[Path]) -> tuple[Device, ...]:
    """The block devices that hold ``paths``, each once."""
    return tuple(dict.fromkeys(found for path in paths if (found := device_of(path)) is not None))


def visible(path: Path) -> Path | None:
    """``path``, or the nearest folder above it on the same file system that is there and may be seen."""
    mount = mount_of(path)
    for folder in (path.resolve(), *path.resolve().parents):
        try:
            folder.stat()
        except OSError:
            continue
        return folder if mount_of(folder) == mount else None
    return None


def _by_number(number: int) -> Device | None:
    link = _DEVICES / f"{os.major(number)}:{os.minor(number)}"
    try:
        folder = link.resolve(strict=True)
    except OSError:
        return None
    return Device(folder.name, folder)
