"""The storage backend: the block devices below the data (Linux)."""

from __future__ import annotations

import re
from pathlib import Path

from dsbench import control_groups
from dsbench.measure.stack.described import Items, size, text
from dsbench.storage import Device, device_of

_SECTOR_BYTES = 512
_VIRTUAL_DRIVERS = {"virtio_blk", "virtio_scsi", "vbd", "xen-blkfront", "vmw_pvscsi", "hv_storvsc", "storvsc"}
_VIRTUAL_MODELS = re.compile(r"qemu|vbox|vmware|virtual|persistentdisk|elastic block|msft", re.IGNORECASE)


def items(directory: Path, server: int | None = None) -> Items:
    """How the device of ``directory`` is built up, each disk it stands on, and what the process ``server`` may do."""
    device = device_of(directory)
    if device is None:
        return {"device": "none that can be seen from here"}
    rates = control_groups.disk_rates(server, text(device.disk.folder / "dev"))
    limited = {f"{what} limit": f"{size(rate)}/s (control group)" for what, rate in rates.items()}
    return {"device": _built(device)} | {f"disk {disk.name}": _disk(disk) for disk in disks(device)} | limited


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
    return f"{solid} (NVMe)" if disk.name.startswith("nvme") else solid


def _queue(disk: Device, file: str, words: str, unit: str = "") -> str:
    value = text(disk.folder / "queue" / file)
    chosen = re.search(r"\[(\S+)\]", value)
    return f"{words} {chosen[1] if chosen else value}{unit}" if value else ""
