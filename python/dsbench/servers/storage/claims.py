"""Whether a device that the user named may be written: never one that is in use or holds anything."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

from dsbench.spec.storage import LABEL


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
        remedy = f"if that is meant say so: --erase {device}. A run that is resumed cannot: start anew"
        raise StorageError(f"a run on {device} overwrites all of it{other}", remedy)
    try:
        kind = Path(device).stat()
    except OSError as error:
        raise StorageError(f"{device}: {error.strerror}", "name a block device, such as /dev/sdb1") from None
    if not stat.S_ISBLK(kind.st_mode):
        raise StorageError(f"{device} is no block device", "name one, such as /dev/sdb1")
    if use := _use(Path(device)):
        raise StorageError(f"{device} is in use: {use}", "name another device; what uses this one is not touched")
    if signature := _signature(device, paths):
        raise StorageError(f"{device} holds data: {signature}",
                           f"name another; or see what it is, and if it may go: wipefs -a {device}")  # fmt: skip


def _use(device: Path) -> str:
    """Who uses ``device``, in words; empty where nobody does."""
    folder = Path("/sys/class/block") / device.resolve().name
    if any((part / "partition").exists() for part in folder.glob(f"{folder.name}*")):
        return "it has partitions"
    if (folder / "holders").is_dir() and (holders := sorted(one.name for one in (folder / "holders").iterdir())):
        return f"it is a part of {', '.join(holders)}"
    swaps = Path("/proc/swaps")
    if swaps.is_file() and any(line.split()[0] == str(device.resolve()) for line in swaps.read_text().splitlines()[1:]):
        return "the system swaps to it"
    try:
        # The kernel gives it to one only: not while it is mounted, or a part of something.
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))
    except OSError as error:
        return f"it cannot be had alone ({error.strerror})"
    return ""


def _signature(device: str, paths: str) -> str:
    """What ``device`` holds by its signatures; empty where there are none but those of earlier runs."""
    program = shutil.which("wipefs", path=paths)
    if program is None:
        raise StorageError("wipefs is not installed, which tells whether a device holds data", "install util-linux")
    done = subprocess.run(
        [program, "-n", "-i", "-O", "TYPE,LABEL", device], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise StorageError(f"wipefs cannot read {device}: {done.stderr.strip()}", "name another device")
    found = [line.split() for line in done.stdout.splitlines() if line.strip()]
    return ", ".join(words[0] for words in found if words[1:] != [LABEL])
