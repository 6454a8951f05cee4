"""A file system that is made for a run: on a file as a loop device, or on a device that the user named (Linux, root).

The folder that holds it belongs to the caller, and has the image and the mount point. Whoever finds such a folder
after a kill calls ``release``, which needs nothing but the folder.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.devices import mounts
from dsbench.spec.storage import KINDS, LABEL, Storage, bytes_of


class StorageError(Exception):
    """A file system cannot be had; ``problem`` says why and ``remedy`` what to do."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem, self.remedy = problem, remedy


def refuse_device(device: str, erase: str, paths: str) -> None:
    """``StorageError`` unless ``device`` is a block device that nothing uses, that holds no signature but that of an
    earlier run, and that ``erase`` names letter by letter. Nothing is written. ``paths`` is where programs lie.
    """
    if erase != device:
        other = f", and --erase names {erase}" if erase else ""
        remedy = f"to confirm, add --erase {device}. A resumed run cannot do so: start a new run"
        raise StorageError(f"a run on {device} overwrites all of it{other}", remedy)
    try:
        kind = Path(device).stat()
    except OSError as error:
        raise StorageError(f"{device}: {error.strerror}", "specify a block device, such as /dev/sdb1") from None
    if not stat.S_ISBLK(kind.st_mode):
        raise StorageError(f"{device} is not a block device", "specify one, such as /dev/sdb1")
    if use := _use(Path(device)):
        raise StorageError(f"{device} is in use: {use}", "specify another device; dsbench leaves this one alone")
    if signature := _signature(device, paths):
        raise StorageError(f"{device} holds data: {signature}",
                           f"specify another; or, if you no longer need the data: wipefs -a {device}")  # fmt: skip


def _use(device: Path) -> str:
    """Who uses ``device``, in words; empty where nobody does."""
    folder = Path("/sys/class/block") / device.resolve().name
    if any((part / "partition").exists() for part in folder.glob(f"{folder.name}*")):
        return "it has partitions"
    if (folder / "holders").is_dir() and (holders := sorted(one.name for one in (folder / "holders").iterdir())):
        return f"it is part of {', '.join(holders)}"
    swaps = Path("/proc/swaps")
    if swaps.is_file() and any(line.split()[0] == str(device.resolve()) for line in swaps.read_text().splitlines()[1:]):
        return "it is a swap device"
    try:
        # The kernel gives it to one only: not while it is mounted, or a part of something.
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))
    except OSError as error:
        return f"it cannot be opened exclusively ({error.strerror})"
    return ""


def _signature(device: str, paths: str) -> str:
    """What ``device`` holds by its signatures; empty where there are none but those of earlier runs."""
    program = shutil.which("wipefs", path=paths)
    if program is None:
        raise StorageError("wipefs is not installed, which detects data on a device", "install util-linux")
    done = subprocess.run(
        [program, "-n", "-i", "-O", "TYPE,LABEL", device], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise StorageError(f"wipefs cannot read {device}: {done.stderr.strip()}", "specify another device")
    found = [line.split() for line in done.stdout.splitlines() if line.strip()]
    return ", ".join(words[0] for words in found if words[1:] != [LABEL])


NOTE: Final = ".dsbench-volume.json"
"""File at the root of the file system: how it was made, for the description of a run."""
_IMAGE, _POINT = "image", "fs"
_PATHS: Final = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
"""Ordinary users have no mkfs on theirs."""
_PATIENCE_S: Final = 10.0
_OWN: Final = "mount one yourself and specify a folder on it: private:PRODUCT?directory=FOLDER"
_DEFRAGMENT: Final = {
    "btrfs": ["btrfs", "filesystem", "defragment", "-r"],
    "ext4": ["e4defrag"],
    "xfs": ["xfs_fsr", "-v"],
}


_LARGE_BLOCKS: Final = (6, 12)
"""The first Linux in which blocks of xfs may be larger than a page."""


def check(storage: Storage, base: Path) -> None:
    """``StorageError`` where ``storage`` cannot be reproduced here: the rights, the kernel or a program is missing.

    ``base`` is where its file would lie. Nothing is made.
    """
    if not sys.platform.startswith("linux"):
        raise StorageError("file systems can be created on Linux only", _OWN)
    if os.geteuid() != 0:
        raise StorageError("only root may create and mount a file system", f"run dsbench as root, or {_OWN}")
    package = KINDS[storage.type].package
    needed = {f"mkfs.{storage.type}": package, "mount": "mount", "umount": "mount", "losetup": "mount"}
    needed |= {"btrfs": package} if storage.values.get("subvolume") == "on" else {}
    for name, one in needed.items():
        if shutil.which(name, path=_PATHS) is None:
            raise StorageError(f"{name} is not installed", f"as root: apt-get install {one}")
    if not _in_kernel(storage.type):
        have = ", ".join(name for name in KINDS if _in_kernel(name))
        raise StorageError(f"this kernel does not support {storage.type}", f"use one of {have}" if have else _OWN)
    block, page = bytes_of(storage.values.get("block", "")), os.sysconf("SC_PAGE_SIZE")
    if block > page and _linux() < _LARGE_BLOCKS:
        raise StorageError(f"blocks of {block >> 10} kB, larger than a page, need Linux 6.12 or later",
                           f"use block={page >> 10}k or less")  # fmt: skip
    size = storage.size_bytes
    if size is None:
        return
    if not Path("/dev/loop-control").exists():
        raise StorageError("this system has no loop devices, which a file system in a file needs",
                           f"start the container with --privileged, or {_OWN}")  # fmt: skip
    if (free := shutil.disk_usage(base).free) < size:
        raise StorageError(f"{base} has {free >> 20} MiB free, and the file needs {size >> 20} MiB",
                           "specify a smaller size, or another folder: private:PRODUCT?directory=FOLDER")  # fmt: skip


def _linux() -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])


def _in_kernel(kind: str) -> bool:
    with contextlib.suppress(OSError):
        if kind in Path("/proc/filesystems").read_text().split():
            return True
    modules = Path("/lib/modules", os.uname().release)
    for name in ("modules.builtin", "modules.dep"):  # As depmod writes them: no program is run to look ahead.
        with contextlib.suppress(OSError):
            if re.search(rf"/{kind}\.ko\b", (modules / name).read_text()):
                return True
    return False


@dataclass
class Volume:
    """A mounted file system for the data of one run, or of the runs of one trial."""

    storage: Storage
    folder: Path
    """That of the caller."""
    source: str
    """The loop device, or the one that was named."""

    @classmethod
    def make(cls, storage: Storage, folder: Path, erase: str = "") -> Volume:
        """Makes and mounts ``storage`` in ``folder``; ``erase`` is the device that the user agreed to lose.

        Raises ``StorageError``. In any case ``release`` takes back what is there of it.
        """
        check(storage, folder)
        if storage.device is not None:
            refuse_device(storage.device, erase, _PATHS)
        try:
            volume = cls(storage, folder, storage.device or _loop(folder / _IMAGE, storage.size_bytes or 0))
            made = storage.mkfs(volume.source)
            _do(made)
            volume.point.mkdir()
            volume._mount()
            volume._furnish(made)
        except OSError as error:
            raise StorageError(f"{folder}: {error.strerror}", "check its free space and permissions") from None
        return volume

    @property
    def point(self) -> Path:
        return self.folder / _POINT

    @property
    def data(self) -> Path:
        """Where data go: the root, or a folder of their own where they have attributes of their own."""
        apart = self.storage.values.get("subvolume") == "on" or self.storage.values.get("cow") == "chattr"
        return self.point / "data" if apart else self.point

    def _mount(self) -> None:
        options = ["-o", self.storage.mount_options] if self.storage.mount_options else []
        _do(["mount", "-t", self.storage.type, *options, self.source, str(self.point)])

    def _furnish(self, made: Sequence[str]) -> None:
        said = self.storage.values
        if "age" in said:
            age(self.point / "aged", int(said["age"].removesuffix("%")) / 100, int(said.get("age-seed", "1")))
        if said.get("subvolume") == "on":
            _do(["btrfs", "-q", "subvolume", "create", str(self.data)])
        self.data.mkdir(exist_ok=True)
        if said.get("cow") == "chattr":
            _do(["chattr", "+C", str(self.data)])
        # The server steps down to the user who owns the folder that it was given.
        owner = self.folder.parent.stat()
        os.chown(self.data, owner.st_uid, owner.st_gid)
        seed = said.get("age-seed", "1")
        aged = f"filled to {said['age']}, every second file deleted, seed {seed}" if "age" in said else ""
        note = {
            "made by": " ".join(made[:-1]), "mounted with": self.storage.mount_options, "aged": aged,
            "lies on": self._ground(),
        }  # fmt: skip
        (self.point / NOTE).write_text(json.dumps({name: text for name, text in note.items() if text}))

    def _ground(self) -> str:
        if self.storage.device is not None:
            return self.source
        direct = Path("/sys/block", Path(self.source).name, "loop/dio")
        how = "direct I/O" if direct.is_file() and direct.read_text().strip() == "1" else "the page cache"
        return f"a file of {self.storage.values['size']}, by {how}"

    def remount(self) -> None:
        """Unmounts it and mounts it again: nothing of it is in memory then, as after a restart of the machine."""
        _do(["umount", str(self.point)])
        self._mount()

    def defragment(self) -> None:
        """Has its files defragmented. ``StorageError`` where the type has no program for it."""
        if self.storage.type not in _DEFRAGMENT:
            problem = f"{self.storage.type} cannot be defragmented"
            raise StorageError(problem, f"use one of {', '.join(_DEFRAGMENT)}")
        _do([*_DEFRAGMENT[self.storage.type], str(self.point)])
        _do(["sync", "-f", str(self.point)])


def _loop(image: Path, size: int) -> str:
    """A loop device on the new file ``image``. Its space is taken at once: a full disk shows now, and not as an error
    of the device in the middle of a run. Direct I/O keeps its content from being in memory twice."""
    with image.open("xb") as file:
        file.truncate(size)
    allocate = shutil.which("fallocate")
    if allocate is not None:  # Some file systems cannot: there the space is taken as it is written.
        subprocess.run([allocate, "-l", str(size), str(image)], capture_output=True, check=False)
    command = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
    try:
        return _do(command).strip()
    except StorageError:  # Where the file lies in memory there is no direct I/O.
        return _do([word for word in command if word != "--direct-io=on"]).strip()


def _do(command: Sequence[str]) -> str:
    """Runs a program to its end and gives what it says; ``StorageError`` with its last words where it fails."""
    program = shutil.which(command[0], path=_PATHS)
    if program is None:
        raise StorageError(f"{command[0]} is not installed", "install it, or omit --storage")
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False)  # fmt: skip
    if done.returncode != 0:
        said = "; ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise StorageError(f"{' '.join(command)} failed: {said}", f"see its message; or {_OWN}")
    return done.stdout


def release(below: Path) -> bool:
    """Unmounts all that is mounted below ``below``, and detaches the loop devices whose files lie there.

    False where something was still in use: it goes once its last user does. Harmless where nothing is there.
    """
    clear = True
    for mount in reversed([one for one in mounts() if one.point != below and one.point.is_relative_to(below)]):
        clear &= _unmounted(mount.point)
    for device in _loops(below):
        program = shutil.which("losetup", path=_PATHS) or "losetup"
        subprocess.run([program, "-d", device], capture_output=True, check=False)
    return clear


def _unmounted(point: Path) -> bool:
    """A server that was killed hard leaves children that hold their files for a moment longer."""
    program, deadline = shutil.which("umount", path=_PATHS) or "umount", time.monotonic() + _PATIENCE_S
    while subprocess.run([program, str(point)], capture_output=True, check=False).returncode != 0:
        if time.monotonic() > deadline:
            subprocess.run([program, "-l", str(point)], capture_output=True, check=False)
            return False
        time.sleep(0.1)
    return True


def _loops(below: Path) -> list[str]:
    """Loop devices whose files lie, or lay, below a folder."""
    found = []
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if Path(file.read_text().strip().removesuffix(" (deleted)")).is_relative_to(below):
                found.append(f"/dev/{file.parts[3]}")
    return found


_SMALLEST, _LARGEST = 4 << 10, 4 << 20
"""Bytes of a file; their logarithms are spread evenly."""
_FOLDERS: Final = 64
_STOCK_BYTES: Final = 8 << 20


def age(folder: Path, share: float, seed: int) -> tuple[int, int]:
    """Fills the file system of ``folder``, which is made, up to ``share`` (0-1) and deletes every second file.

    Files have 4 KiB to 4 MiB of random bytes, which no file system can compress, and lie in 64 folders. The same
    ``seed`` gives the same sizes, places and bytes. Gives the numbers of files made and deleted. Raises ``OSError``.
    """
    chance = random.Random(seed)
    stock = memoryview(chance.randbytes(_STOCK_BYTES))
    for number in range(_FOLDERS):
        (folder / f"{number:02}").mkdir(parents=True)
    left = int(_bytes_of(folder) * share)
    made: list[Path] = []
    while left > 0:
        size = min(int(math.exp(chance.uniform(math.log(_SMALLEST), math.log(_LARGEST)))), left)
        at = chance.randrange(_STOCK_BYTES - size)
        path = folder / f"{chance.randrange(_FOLDERS):02}" / f"{len(made)}"
        path.write_bytes(stock[at : at + size])
        made.append(path)
        left -= size
    _on_disk(folder)  # Files that were deleted before they were written would leave no holes.
    for path in made[::2]:
        path.unlink()
    _on_disk(folder)
    return len(made), len(made[::2])


def _bytes_of(folder: Path) -> int:
    room = os.statvfs(folder)
    return room.f_blocks * room.f_frsize


def _on_disk(folder: Path) -> None:
    subprocess.run(["sync", "-f", str(folder)], capture_output=True, check=False)
