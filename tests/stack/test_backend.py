"""The block devices below the data, from folders like those of ``/sys``."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsbench.devices import Device
from dsbench.measure.stack import storage


def _device(sys: Path, name: str, **files: str) -> Device:
    """A device with files named ``queue__scheduler`` for ``queue/scheduler``; its size is 10 GiB."""
    folder = sys / name
    for file, content in {"size": "20971520", **files}.items():
        path = folder / file.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return Device(Path(name).name, folder)


def _on(upper: Device, *lower: Device) -> None:
    (upper.folder / "slaves").mkdir()
    for device in lower:
        (upper.folder / "slaves" / device.name).symlink_to(device.folder)


def _items(monkeypatch: pytest.MonkeyPatch, device: Device | None) -> dict[str, str]:
    monkeypatch.setattr(storage, "device_of", lambda _path: device)
    return storage.describe_backend(Path("/data"))


def test_a_partition_of_a_solid_state_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _device(
        tmp_path, "nvme0n1", device__model="Samsung SSD 990 PRO", device__serial="S7HENJ0W", queue__rotational="0",
        queue__scheduler="[none] mq-deadline kyber", queue__write_cache="write back", queue__physical_block_size="512",
    )  # fmt: skip
    part = _device(tmp_path, "nvme0n1/nvme0n1p2", partition="2")
    items = _items(monkeypatch, part)
    assert items == {
        "device": "nvme0n1p2 on nvme0n1",
        "disk nvme0n1": "Samsung SSD 990 PRO, 10 GiB, solid state (NVMe), scheduler none, write cache write back,"
        " sectors of 512 B",
    }
    assert "S7HENJ0W" not in str(items)


def test_a_volume_on_an_array_of_two_disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"device__vendor": "ATA", "device__model": "HGST HTS725050A7", "queue__rotational": "1"}
    disks = [_device(tmp_path, name, **facts) for name in ("sda", "sdb")]
    array = _device(tmp_path, "md0", md__level="raid1")
    volume = _device(tmp_path, "dm-0", dm__uuid="LVM-ab12cd34")
    _on(array, *disks)
    _on(volume, array)
    items = _items(monkeypatch, volume)
    assert items["device"] == "dm-0 (LVM) on md0 (raid1) on sda, sdb"
    assert items["disk sda"] == items["disk sdb"] == "ATA HGST HTS725050A7, 10 GiB, rotating"
    assert "ab12cd34" not in str(items)


def test_a_virtual_disk_does_not_pass_for_a_turning_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = _device(tmp_path, "vda", device__vendor="0x1af4", queue__rotational="1")
    driver = tmp_path / "drivers" / "virtio_blk"
    driver.mkdir(parents=True)
    (disk.folder / "device" / "driver").symlink_to(driver)
    assert _items(monkeypatch, disk)["disk vda"] == "10 GiB, virtual disk (virtio_blk)"
    cloud = _device(tmp_path, "nvme1n1", device__model="Amazon Elastic Block Store", queue__rotational="0")
    assert "virtual disk" in _items(monkeypatch, cloud)["disk nvme1n1"]


def test_a_device_that_cannot_be_seen_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _items(monkeypatch, None) == {"device": "not visible from here"}


def test_a_rotating_disk_says_how_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = _device(tmp_path, "sda", device__model="HGST HTS725050A7", queue__rotational="1", dev="8:0")
    (tmp_path / "b8:0").write_text("E:ID_BUS=ata\nE:ID_ATA_ROTATION_RATE_RPM=7200\n")
    monkeypatch.setattr(storage, "_UDEV", tmp_path)
    assert _items(monkeypatch, disk)["disk sda"] == "HGST HTS725050A7, 10 GiB, rotating, 7,200 rpm"
