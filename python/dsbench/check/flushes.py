"""How long a small write takes until it is flushed, against what the device itself needs for it.

A flush that is faster than the device's own write did not reach the device: a cache in between answered. What the
device itself keeps in a volatile cache of its own cannot be told by times.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import time
from collections.abc import Callable
from math import isfinite, nan
from pathlib import Path
from typing import Final

import numpy as np

from dsbench import devices, servers
from dsbench.dataclass import dataclass
from dsbench.measure import stack
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.spec import Target

_BYTES: Final = 4096
_WRITES: Final = 200
_LONGEST_S: Final = 3.0
_PLAUSIBLE_NS: Final = 8_000
"""The fastest storage devices need some 10 µs for a write of 4 KiB; less is memory."""
_FASTER: Final = 0.5
"""A flush that takes less than this share of the device's own write did not wait for it."""


@dataclass(frozen=True)
class Flushes:
    """Some writes of 4 KiB in one folder, of both ways in turn; in ns, nan where it could not be done."""

    file_system: str
    device: str
    """Empty where there is none to see."""
    flushed_ns: float
    """Median of a write and fdatasync."""
    direct_ns: float
    """Median of a write with O_DIRECT and O_DSYNC, which goes past the system's cache."""
    direct_least_ns: float = nan
    """A tenth of these are faster: what the device can do, however busy it is meanwhile."""

    @property
    def suspicion(self) -> str:
        """Why a flush cannot be one; empty where nothing speaks against it."""
        took = f"a write of 4 KiB and its flush take {self.flushed_ns / 1e3:.3g} µs"
        if self.file_system in devices.VOLATILE:
            return f"{self.file_system} is in memory: nothing is ever flushed"
        if isfinite(self.flushed_ns) and self.flushed_ns < _PLAUSIBLE_NS:
            return f"{took}: no storage device is that fast"
        if self.flushed_ns < self.direct_least_ns * _FASTER:
            own = self.direct_least_ns / 1e3
            return f"{took}, the device's own write {own:.3g} µs at its fastest: the flush does not wait for it"
        return ""


def flushes_of(target: Target) -> Flushes | None:
    """Those of the storage that holds the data of ``target``; ``None`` where that is elsewhere or closed to us."""
    folder = None
    if target.private is not None:
        folder = servers.base_directory(target)
    else:
        with contextlib.suppress(CoreError), contextlib.closing(TargetDatabase(target.url)) as asked:
            folder = stack.data_directory(asked.dialect.name, asked, target)
    if folder is None:
        return None
    try:
        return flushes(folder)
    except OSError:
        return None


def flushes(folder: Path) -> Flushes:
    """Writes some hundred times 4 KiB into a file in ``folder``, which goes again. Raises ``OSError``."""
    mount, device = devices.mount_of(folder), devices.device_of(folder)
    handle, name = tempfile.mkstemp(prefix="dsbench-flush-", dir=folder)
    page = mmap.mmap(-1, _BYTES)  # O_DIRECT wants memory that begins with a page.
    page.write(os.urandom(_BYTES))
    try:
        # What is flushed is data alone: the blocks of the file are there before.
        os.pwrite(handle, bytes(_BYTES * _WRITES), 0)
        os.fsync(handle)

        def flushed(at: int) -> None:
            os.pwrite(handle, page, at)
            _flush(handle)

        took, direct = _in_turn(flushed, name, page)
    finally:
        os.close(handle)
        Path(name).unlink()
    known = len(direct) > 0
    return Flushes(
        mount.type if mount else "", device.name if device else "", float(np.median(took)),
        float(np.median(direct)) if known else nan, float(np.quantile(direct, 0.1)) if known else nan,
    )  # fmt: skip


def _flush(handle: int) -> None:
    getattr(os, "fdatasync", os.fsync)(handle)  # macOS has fsync alone.


def _in_turn(flushed: Callable[[int], None], name: str, page: mmap.mmap) -> tuple[list[int], list[int]]:
    """Times of writes that are flushed, and of those past the cache: in turn, as others may use the device as well."""
    took: list[int] = []
    direct: list[int] = []
    past = -1
    with contextlib.suppress(OSError, AttributeError):  # Some file systems and systems have no such way.
        past = os.open(name, os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
    try:
        ends = time.monotonic() + _LONGEST_S
        for at in range(0, _WRITES * _BYTES, _BYTES):
            took.append(_ns(flushed, at))
            if past >= 0:
                direct.append(_ns(lambda place: os.pwrite(past, page, place), at))
            if time.monotonic() > ends:
                break
    finally:
        if past >= 0:
            os.close(past)
    return took, direct


def _ns(write: Callable[[int], object], at: int) -> int:
    began = time.perf_counter_ns()
    write(at)
    return time.perf_counter_ns() - began
