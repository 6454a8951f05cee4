"""The file system that holds the data, and the block devices below it (Linux)."""

from __future__ import annotations

import array
import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from dsbench import control_groups
from dsbench.devices import VOLATILE, Device, Mount, device_of, mount_of, visible
from dsbench.measure.stack.described import Items, Switch, present, size, text, unsafe
from dsbench.servers.storage.volume import NOTE

_PRIVATE_OPTIONS = {
    "username", "user", "password", "pass", "credentials", "domain", "addr", "clientaddr", "mountaddr", "ip", "unc",
    "upperdir", "lowerdir", "workdir", "name", "secret",
}  # fmt: skip
"""Options that may name a person, a machine or a folder."""

_GET_FLAGS, _NO_COPY_ON_WRITE = 0x80086601, 0x00800000  # FS_IOC_GETFLAGS and FS_NOCOW_FL of linux/fs.h


_NOTHING: Final[Mapping[str, Path]] = MappingProxyType({})


def describe_file_system(directory: Path, apart: Mapping[str, Path] = _NOTHING) -> Items:
    """Type, source, options and room of the file system below ``directory``, and the types of those of ``apart``."""
    mount = mount_of(directory)
    named = {
        "type": mount.type if mount else "",
        "source": _source(mount) if mount else "",
        "options": ",".join(_shown(mount)) if mount else "",
        "copy on write": _copy_on_write(mount, directory) if mount else "",
    }
    of_parts = {f"type of {name}": mount.type for name, path in apart.items() if (mount := mount_of(path))}
    return present(named | _room(directory) | (_made(mount) if mount else {}) | of_parts)


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


def durability(directory: Path | None, apart: Mapping[str, Path] = _NOTHING) -> list[Switch]:
    """Promises that the file systems of ``directory``, and of what lies ``apart`` from it by name, do not keep."""
    switches: list[Switch] = []
    for name, path in {**({"": directory} if directory is not None else {}), **apart}.items():
        mount, of = mount_of(path), f" of {name}" if name else ""
        if mount is None:
            continue
        if mount.type in VOLATILE:
            meaning = f"{name} is in memory: a power cut loses all of it" if name else _LOST
            switches.append(unsafe(f"file system{of}", mount.type, meaning))
        for option in mount.options:
            if option in ("nobarrier", "barrier=0"):
                switches.append(unsafe(f"mount option{of}", option, _THROUGH))
    return switches


_LOST: Final = "the data is in memory: a power cut loses all of it"
_THROUGH: Final = "flushes do not pass the drive's cache: a power cut may lose commits and corrupt files"


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


_UDEV = Path("/run/udev/data")
_SECTOR_BYTES = 512
_VIRTUAL_DRIVERS = {"virtio_blk", "virtio_scsi", "vbd", "xen-blkfront", "vmw_pvscsi", "hv_storvsc", "storvsc"}
_VIRTUAL_MODELS = re.compile(r"qemu|vbox|vmware|virtual|persistentdisk|elastic block|msft", re.IGNORECASE)


def describe_backend(directory: Path, server: int | None = None, apart: Mapping[str, Path] = _NOTHING) -> Items:
    """How the devices of ``directory`` and ``apart`` are built up, each disk they stand on, and what the process
    ``server`` may do."""
    found: Items = {}
    on: dict[str, str] = {}
    limited: dict[str, str] = {}
    for key, path in {"device": directory, **{f"device of {name}": path for name, path in apart.items()}}.items():
        device = device_of(path)
        found[key] = _built(device) if device is not None else "not visible from here"
        if device is None:
            continue
        on |= {f"disk {disk.name}": _disk(disk) for disk in disks(device)}
        if path == directory:
            rates = control_groups.disk_rates(server, text(device.disk.folder / "dev"))
            limited = {f"{what} limit": f"{size(rate)}/s (control group)" for what, rate in rates.items()}
    return {**found, **on, **limited}


def disks(device: Device) -> list[Device]:
    """The disks at the bottom of a device: of a partition, a volume, an array, a loop."""
    below = _below(device)
    if not below:
        return [device.disk]
    found = {disk.name: disk for part in below for disk in disks(part)}
    return list(found.values())


def _below(device: Device) -> list[Device]:
    backing = text(device.disk.folder / "loop/backing_file")
    if backing:
        holder = device_of(Path(backing))
        return [holder] if holder is not None else []
    return device.below()


def _built(device: Device) -> str:
    below = _below(device)
    if below:
        inner = ", ".join(_built(part) for part in below)
        # The number of a loop device is that which was free: it tells no stacks apart.
        return f"{'loop device' if device.name.startswith('loop') else device.name}{_kind(device)} on {inner}"
    return device.name if device.disk == device else f"{device.name} on {device.disk.name}"


def _kind(device: Device) -> str:
    mapped = text(device.folder / "dm/uuid").partition("-")[0]
    kind = mapped or text(device.folder / "md/level") or ("file" if device.name.startswith("loop") else "")
    return f" ({kind})" if kind else ""


def _disk(disk: Device) -> str:
    facts = [
        _model(disk),
        size(int(text(disk.folder / "size") or 0) * _SECTOR_BYTES),
        _medium(disk),
        _queue(disk, "scheduler", "scheduler"),
        _queue(disk, "write_cache", "write cache"),
        _queue(disk, "physical_block_size", "sectors of", " B"),
    ]
    return ", ".join(fact for fact in facts if fact)


def _model(disk: Device) -> str:
    return " ".join(text(disk.folder / "device" / name) for name in ("vendor", "model") if _is_name(disk, name)).strip()


def _is_name(disk: Device, name: str) -> bool:
    # virtio and PCI give a number here, where SCSI and NVMe give words.
    value = text(disk.folder / "device" / name)
    return bool(value) and not value.startswith("0x")


def _medium(disk: Device) -> str:
    """What the disk is; what a virtual one stands on cannot be told, whatever it says of turning."""
    driver = (disk.folder / "device/driver").resolve().name if (disk.folder / "device/driver").exists() else ""
    if driver in _VIRTUAL_DRIVERS or _VIRTUAL_MODELS.search(_model(disk)):
        return f"virtual disk ({driver})" if driver in _VIRTUAL_DRIVERS else "virtual disk"
    if disk.name.startswith("zram"):
        return "compressed memory"
    solid = {"0": "solid state", "1": "rotating"}.get(text(disk.folder / "queue/rotational"), "")
    if disk.name.startswith("nvme"):
        return f"{solid} (NVMe)"
    known = re.search(r"^E:ID_ATA_ROTATION_RATE_RPM=([1-9]\d*)$", _by_udev(disk), re.MULTILINE)
    return f"{solid}, {int(known[1]):,} rpm" if known and solid == "rotating" else solid


def _by_udev(disk: Device) -> str:
    """What udev asked the disk when it was found."""
    return text(_UDEV / f"b{number}") if (number := text(disk.folder / "dev")) else ""


def _queue(disk: Device, file: str, words: str, unit: str = "") -> str:
    value = text(disk.folder / "queue" / file)
    chosen = re.search(r"\[(\S+)\]", value)
    return f"{words} {chosen[1] if chosen else value}{unit}" if value else ""
