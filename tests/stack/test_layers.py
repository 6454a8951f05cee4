"""Core, operating system, file system and application of this machine."""

from __future__ import annotations

import getpass
import platform
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

import dsbench
from dsbench import control_groups
from dsbench.devices import Mount
from dsbench.measure.stack import described, machine, storage


def test_the_core_is_that_of_the_machine() -> None:
    items = machine.describe_core(None)
    assert items["threads"] == str(psutil.cpu_count())
    assert items["CPU"]
    assert items["RAM"] == described.size(psutil.virtual_memory().total)
    assert all(items.values())


def test_lists_of_processors_are_counted() -> None:
    assert machine._count("0-3,8,10-11") == 7
    assert machine._count("") == 0


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (8192, "8 KiB"),
        (25276514304, "23.54 GiB"),
        (5 << 40, "5 TiB"),
        (5000 << 40, "5000 TiB"),
    ],
)
def test_sizes_are_written_in_powers_of_1024(count: int, words: str) -> None:
    assert described.size(count) == words


def _groups(folder: Path, monkeypatch: pytest.MonkeyPatch, membership: str, files: dict[str, str]) -> None:
    for name, content in {**files, "membership": membership}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    monkeypatch.setattr(control_groups, "_GROUPS", folder)
    real = described.text
    monkeypatch.setattr(control_groups, "text", lambda p: real(folder / "membership" if p.parts[1] == "proc" else p))


def test_the_tightest_limit_on_the_way_up_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "memory.max": "max", "a/memory.max": "1073741824", "a/b/memory.max": "4294967296",
        "a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000", "c/memory.max": "1",
    }  # fmt: skip
    _groups(tmp_path, monkeypatch, "0::/a/b", files)
    assert control_groups.memory_limit(None) == 1 << 30
    assert control_groups.cpu_limit(None) == 1.5
    assert control_groups.memory(None) == 1 << 30


def test_limits_of_the_first_version_of_control_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "memory/memory.limit_in_bytes": "9223372036854771712", "memory/run/memory.limit_in_bytes": "536870912",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000",
    }  # fmt: skip
    _groups(tmp_path, monkeypatch, "9:memory:/run\n4:cpu,cpuacct:/\n0::/", files)
    assert control_groups.memory_limit(None) == 512 << 20
    assert control_groups.cpu_limit(None) is None


def test_without_control_groups_there_is_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _groups(tmp_path, monkeypatch, "", {})
    assert control_groups.memory_limit(None) is None
    assert control_groups.memory(None) == psutil.virtual_memory().total


def test_the_system_is_named() -> None:
    items = machine.describe_system()
    assert items["kernel"] == f"Linux {platform.release()}"
    assert items["distribution"]
    assert all(items.values())


def test_the_chosen_word_is_the_one_in_brackets() -> None:
    assert machine._chosen("always [madvise] never") == "madvise"


def test_the_file_system_of_a_folder(tmp_path: Path) -> None:
    items = storage.describe_file_system(tmp_path)
    said = subprocess.run(["stat", "-f", "-c", "%S", str(tmp_path)], capture_output=True, text=True, check=True)
    assert items["block size"] == described.size(int(said.stdout))
    assert items["type"]
    assert items["options"].startswith("rw")
    assert storage.durability(tmp_path) == [] or items["type"] == "tmpfs"


def test_memory_keeps_nothing() -> None:
    (switch,) = storage.durability(Path("/dev/shm"))
    assert (switch["value"], switch["safe"]) == ("tmpfs", False)


def test_a_log_in_memory_is_told_with_its_name(tmp_path: Path) -> None:
    apart = {"log_directory": Path("/dev/shm")}
    told = [(one["switch"], one["value"]) for one in storage.durability(tmp_path, apart)]
    assert ("file system of log_directory", "tmpfs") in told
    assert storage.describe_file_system(tmp_path, apart)["type of log_directory"] == "tmpfs"
    assert storage.describe_backend(tmp_path, None, apart)["device of log_directory"] == "not visible from here"


def test_switched_off_barriers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    mount = Mount(Path("/"), "/dev/sda1", "ext4", ("rw", "nobarrier"))
    monkeypatch.setattr(storage, "mount_of", lambda _path: mount)
    (switch,) = storage.durability(Path("/data"))
    assert (switch["switch"], switch["value"], switch["safe"]) == ("mount option", "nobarrier", False)


def test_options_and_sources_that_name_people_and_machines_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("rw", "vers=3.0", "username=ada", "addr=10.0.0.7", "password=hush", "upperdir=/home/ada/x")
    mount = Mount(Path("/"), "//files/ada", "cifs", options)
    monkeypatch.setattr(storage, "mount_of", lambda _path: mount)
    items = storage.describe_file_system(Path("/tmp"))
    assert items["options"] == "rw,vers=3.0"
    assert items["source"] == "network share"


def test_the_commit_is_that_of_dsbench_and_of_nothing_around_it(tmp_path: Path) -> None:
    assert machine.describe_application()["dsbench"] == dsbench.__version__
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    installed = tmp_path / "venv/lib/python3/site-packages/dsbench"
    checkout = tmp_path / "python/dsbench"
    for folder in (installed, checkout):
        folder.mkdir(parents=True)
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert machine.commit(installed) == ""
    assert machine.commit(checkout) == head[:12]


def test_no_layer_names_the_machine_or_its_user(tmp_path: Path) -> None:
    told = str([machine.describe_core(None), machine.describe_system(), storage.describe_file_system(tmp_path), machine.describe_application()])
    names = {socket.gethostname(), getpass.getuser(), str(Path.home())}
    # Short names (vm, root) may be parts of other words.
    assert [name for name in names if len(name) > 5 and name in told] == []


def _module(amount: int, kind: int, speed: int, *, extended: int = 0, configured: int = 0) -> bytes:
    """A memory device as SMBIOS has it, with its texts behind it."""
    body = bytearray(0x22)
    body[0], body[1] = 17, len(body)
    body[0x0C:0x0E], body[0x12], body[0x15:0x17] = amount.to_bytes(2, "little"), kind, speed.to_bytes(2, "little")
    body[0x1C:0x20], body[0x20:0x22] = extended.to_bytes(4, "little"), configured.to_bytes(2, "little")
    return bytes(body) + b"DIMM A\0Samsung\0\0"


def test_memory_modules_are_those_of_the_firmware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "DMI"
    bios = bytes([0, 4, 0, 0]) + b"\0\0"
    table.write_bytes(bios + _module(8192, 0x1A, 3200, configured=2667) * 2 + _module(0, 2, 0)
                      + _module(0x7FFF, 0x22, 4800, extended=65536) + bytes([127, 4, 0, 0, 0, 0]))  # fmt: skip
    monkeypatch.setattr(machine, "_SMBIOS", table)
    assert machine.memory_modules() == "2 × 8 GiB DDR4, 2667 MT/s; 1 × 64 GiB DDR5, 4800 MT/s"
    for cut in range(0, table.stat().st_size, 7):
        table.write_bytes(table.read_bytes()[:cut])
        assert isinstance(machine.memory_modules(), str), "a table that is cut tells what it has"


def test_memory_modules_are_those_that_udev_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_SMBIOS", tmp_path / "none")
    monkeypatch.setattr(machine, "_UDEV", tmp_path / "udev")
    assert machine.memory_modules() == ""
    (tmp_path / "udev").write_text(
        "E:MEMORY_DEVICE_0_SIZE=17179869184\nE:MEMORY_DEVICE_0_TYPE=DDR4\nE:MEMORY_DEVICE_0_SPEED_MTS=3200\n"
        "E:MEMORY_DEVICE_1_PRESENT=0\n"
    )
    assert machine.memory_modules() == "1 × 16 GiB DDR4, 3200 MT/s"
