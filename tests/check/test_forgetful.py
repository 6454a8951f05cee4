"""The file system that forgets: of every way to change a file it keeps what was flushed and nothing else."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator

import pytest

from dsbench.check import forgetting

PAGE = 4096
OLD = b"o" * PAGE


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[forgetting.Forgetful]:
    with forgetting.storage("forgetful", tmp_path_factory.mktemp("disk")) as found:
        assert isinstance(found, forgetting.Forgetful)
        yield found


def page() -> mmap.mmap:
    """What O_DIRECT takes: memory that begins with a page."""
    found = mmap.mmap(-1, PAGE)
    found.write(b"n" * PAGE)
    return found


def mapped(handle: int) -> None:
    with mmap.mmap(handle, PAGE) as memory:
        memory[:] = b"n" * PAGE


WAYS: dict[str, tuple[int, Callable[[int], object], bytes]] = {
    "write": (0, lambda handle: os.pwrite(handle, b"n", 1), b"on" + OLD[2:]),
    "append": (os.O_APPEND, lambda handle: os.write(handle, b"n"), OLD + b"n"),
    "cut": (0, lambda handle: os.ftruncate(handle, 3), b"ooo"),
    "cut when it is opened": (os.O_TRUNC, lambda handle: os.write(handle, b"n"), b"n"),
    "cut and grow": (0, lambda handle: (os.ftruncate(handle, 1), os.ftruncate(handle, 3)), b"o\0\0"),
    "sparse": (0, lambda handle: os.pwrite(handle, b"n", 3 * PAGE), OLD + bytes(2 * PAGE) + b"n"),
    "allocate": (0, lambda handle: os.posix_fallocate(handle, 0, PAGE + 2), OLD + b"\0\0"),
    "past the cache": (os.O_DIRECT, lambda handle: os.pwrite(handle, page(), 0), b"n" * PAGE),
    "map": (0, mapped, b"n" * PAGE),
}


FLUSHED = ("fsync", "fdatasync", "O_DSYNC", "O_SYNC")
# The latter two promise what is written, and neither that sizes which are set and maps persist nor that they do not.
WRITTEN = ("write", "append", "cut when it is opened", "sparse", "past the cache")


@pytest.mark.parametrize(
    ("way", "flush"),
    [(way, flush) for way in WAYS for flush in ("", "lying", *FLUSHED) if way in WRITTEN or not flush.startswith("O_")],
)
def test_what_was_flushed_is_kept_and_nothing_else(way: str, flush: str, disk: forgetting.Forgetful) -> None:
    flags, change, new = WAYS[way]
    file = disk.folder / "file"
    file.write_bytes(OLD)
    disk.ready()
    disk._ask("lie", flush == "lying")
    handle = os.open(file, os.O_RDWR | flags | getattr(os, flush if flush.startswith("O_") else "O_RDWR"))
    change(handle)
    if flush in ("fsync", "fdatasync", "lying"):
        (os.fdatasync if flush == "fdatasync" else os.fsync)(handle)
    assert file.read_bytes() == new, "it is read before it is flushed"
    os.close(handle)
    disk.forget()
    kept = new if flush in FLUSHED else OLD
    assert file.read_bytes() == kept
    assert file.stat().st_size == len(kept)
    assert disk.forget() == 0
    file.unlink()


@pytest.mark.parametrize("flushed", [False, True])
def test_a_file_that_is_renamed_over_another_brings_what_was_flushed_of_it(
    flushed: bool, disk: forgetting.Forgetful
) -> None:
    file, fresh = disk.folder / "file", disk.folder / "fresh"
    file.write_bytes(OLD)
    disk.ready()
    with fresh.open("wb") as handle:
        handle.write(b"new")
        handle.flush()
        if flushed:
            os.fsync(handle.fileno())
        fresh.rename(file)
        assert os.fstat(handle.fileno()).st_size == 3
    assert file.read_bytes() == b"new"
    disk.forget()
    assert file.read_bytes() == (b"new" if flushed else b"")
    assert [one.name for one in disk.folder.iterdir()] == ["file"]
    file.unlink()


def test_an_open_file_is_known_by_itself_and_not_by_a_name_that_went(disk: forgetting.Forgetful) -> None:
    one, other = disk.folder / "one", disk.folder / "other"
    with one.open("wb") as handle:
        handle.write(b"12345")
        handle.flush()
        other.hardlink_to(one)
        one.unlink()
        assert (os.fstat(handle.fileno()).st_size, os.fstat(handle.fileno()).st_nlink) == (5, 1)
        os.fsync(handle.fileno())
        other.unlink()
        assert os.fstat(handle.fileno()).st_size == 5
    disk.forget()
    assert list(disk.folder.iterdir()) == []
