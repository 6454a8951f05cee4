"""The file system that holds the data."""

from __future__ import annotations

import array
import contextlib
import json
import os
import shutil
import sys
from pathlib import Path

from dsbench.measure.stack.described import Items, Switch, present, size, unsafe
from dsbench.storage import VOLATILE, Mount, mount_of, visible
from dsbench.storage.volume import NOTE

_PRIVATE_OPTIONS = {
    "username", "user", "password", "pass", "credentials", "domain", "addr", "clientaddr", "mountaddr", "ip", "unc",
    "upperdir", "lowerdir", "workdir", "name", "secret",
}  # fmt: skip
"""Options that may name a person, a machine or a folder."""

_GET_FLAGS, _NO_COPY_ON_WRITE = 0x80086601, 0x00800000  # FS_IOC_GETFLAGS and FS_NOCOW_FL of linux/fs.h


def items(directory: Path) -> Items:
    """Type, source, options and room of the file system below ``directory``."""
    mount = mount_of(directory)
    named = {
        "type": mount.type if mount else "",
        "source": _source(mount) if mount else "",
        "options": ",".join(_shown(mount)) if mount else "",
        "copy on write": _copy_on_write(mount, directory) if mount else "",
    }
    return present(named | _room(directory) | (_made(mount) if mount else {}))


def _made(mount: Mount) -> Items:
    """How it was made, where dsbench made it for a run."""
    try:
        note = json.loads((mount.point / NOTE).read_text())
        return {str(name): str(text) for name, text in note.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _room(directory: Path) -> Items:
    """Sizes, also for a folder that another user closed to us."""
    inside = visible(directory)
    if inside is None:
        return {}
    usage = shutil.disk_usage(inside)
    block = os.statvfs(inside).f_frsize if hasattr(os, "statvfs") else 0
    return {"block size": size(block) if block else "", "size": size(usage.total), "free": size(usage.free)}


def durability(directory: Path | None) -> list[Switch]:
    """Promises that the file system does not keep."""
    mount = mount_of(directory) if directory is not None else None
    if mount is None:
        return []
    switches: list[Switch] = []
    if mount.type in VOLATILE:
        switches.append(unsafe("file system", mount.type, "the data lie in memory: a power cut loses all of them"))
    for option in mount.options:
        if option in ("nobarrier", "barrier=0"):
            meaning = "flushes do not reach through the drive's cache: a power cut may lose commits and corrupt files"
            switches.append(unsafe("mount option", option, meaning))
    return switches


def _source(mount: Mount) -> str:
    if mount.source.startswith("//") or ":" in mount.source:
        return "network share"
    if mount.source.startswith("/dev/loop"):
        return "loop device"
    return mount.source if mount.source.startswith("/dev/") else ""


def _shown(mount: Mount) -> list[str]:
    return [option for option in mount.options if option.partition("=")[0] not in _PRIVATE_OPTIONS]


def _copy_on_write(mount: Mount, directory: Path) -> str:
    """Seed 000, section 3.2.3: btrfs lets it be switched off for a folder by ``chattr +C``."""
    if mount.type != "btrfs" or sys.platform != "linux":
        return ""
    import fcntl

    flags = array.array("L", [0])
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _GET_FLAGS, flags)
        finally:
            os.close(handle)
    off = flags[0] & _NO_COPY_ON_WRITE or "nodatacow" in mount.options
    return "off" if off else "on"
