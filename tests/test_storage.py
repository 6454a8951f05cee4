"""Which mount and which block device hold a path."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsbench import devices
from dsbench.devices import Mount, device_of, mount_of, parsed, visible


def test_a_line_of_mountinfo_is_taken_apart() -> None:
    line = r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue,noatime"
    expected = Mount(Path("/mnt 2"), "/dev/root", "ext3", ("rw", "noatime", "errors=continue"))
    assert parsed(line) == expected
    without_tags = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard"
    assert parsed(without_tags) == Mount(Path("/"), "/dev/vda", "ext4", ("rw", "relatime", "discard"))
    assert parsed("nonsense") is None


def test_the_deepest_and_the_last_mount_holds_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [
        Mount(Path("/"), "/dev/sda1", "ext4", ()),
        Mount(Path("/data"), "/dev/sdb1", "xfs", ()),
        Mount(Path("/data"), "/dev/sdc1", "btrfs", ()),
        Mount(Path("/datafile"), "/dev/sdd1", "xfs", ()),
    ]
    monkeypatch.setattr(devices, "mounts", lambda: known)
    assert mount_of(Path("/data/base/1")) == known[2]
    assert mount_of(Path("/database")) == known[0]
    monkeypatch.setattr(devices, "mounts", list)
    assert mount_of(Path("/data")) is None


def test_the_mounts_of_this_machine_agree_with_the_kernel(tmp_path: Path) -> None:
    mount = mount_of(tmp_path)
    assert mount is not None
    said = subprocess.run(
        ["findmnt", "-no", "TARGET,SOURCE,FSTYPE", "-T", str(tmp_path)], capture_output=True, text=True, check=True
    )
    # One that another is mounted over is told as well.
    assert [str(mount.point), mount.source, mount.type] in [line.split() for line in said.stdout.splitlines()]


def test_the_device_is_the_one_whose_number_files_bear(tmp_path: Path) -> None:
    device = device_of(tmp_path)
    if device is None:
        pytest.skip("the temporary directory lies on no block device")
    number = tmp_path.stat().st_dev
    assert (device.folder / "dev").read_text().strip() == f"{os.major(number)}:{os.minor(number)}"
    assert device_of(tmp_path / "not" / "yet") == device


def test_memory_and_the_kernel_have_no_device() -> None:
    assert device_of(Path("/dev/shm")) is None
    assert device_of(Path("/proc")) is None


def test_a_path_that_is_not_there_is_seen_at_its_parent(tmp_path: Path) -> None:
    assert visible(tmp_path / "a" / "b") == tmp_path


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A file system in a file, on a loop device of its own: (name of the device, where it is mounted)."""
    image, point = tmp_path / "image", tmp_path / "mounted"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(16 << 20)
    quietly = {"capture_output": True, "text": True}
    if os.geteuid() != 0 or subprocess.run(["mkfs.ext4", "-q", str(image)], **quietly).returncode != 0:  # type: ignore[call-overload]
        pytest.skip("needs the superuser and mkfs.ext4")
    made = subprocess.run(["losetup", "--show", "-f", str(image)], **quietly)  # type: ignore[call-overload]
    if made.returncode != 0:
        pytest.skip("no loop devices here")
    device = made.stdout.strip()
    try:
        subprocess.run(["mount", device, str(point)], check=True)
        try:
            yield Path(device).name, point
        finally:
            subprocess.run(["umount", str(point)], check=True)
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def test_a_loop_device_is_found_below_its_file_system(loop: tuple[str, Path]) -> None:
    name, point = loop
    device = device_of(point / "data")
    assert device is not None
    assert device.name == name
    assert device.disk == device
    assert visible(point / "data") == point


def test_what_is_built_on_it_is_told(loop: tuple[str, Path], tmp_path: Path) -> None:
    from dsbench.measure.stack import storage

    _, point = loop
    below = device_of(tmp_path)
    if below is None:
        pytest.skip("the temporary directory lies on no block device")
    items = storage.describe_backend(point)
    assert items["device"] == f"loop device (file) on {below.name}"
    assert list(items) == ["device", f"disk {below.disk.name}"]
    assert str(tmp_path) not in str(items)


def test_a_partition_belongs_to_its_disk(tmp_path: Path) -> None:
    part = tmp_path / "sda" / "sda1"
    part.mkdir(parents=True)
    (part / "partition").write_text("1\n")
    assert devices.Device("sda1", part).disk == devices.Device("sda", tmp_path / "sda")
