"""Flushes that cannot have reached a device are told."""

from __future__ import annotations

from math import isfinite, nan
from pathlib import Path

import pytest

from dsbench.check import Flushes, flushes


@pytest.mark.parametrize(
    ("file_system", "flushed_us", "direct_us", "words"),
    [
        ("ext4", 900.0, 800.0, ""),
        ("ext4", 500.0, 900.0, ""),
        ("ext4", 300.0, 900.0, "the flush does not wait for it"),
        ("ext4", 3.0, 4.0, "no storage device is that fast"),
        ("ext4", 900.0, nan, ""),
        ("tmpfs", 900.0, nan, "is in memory"),
    ],
)
def test_a_flush_that_is_too_fast_is_suspicious(
    file_system: str, flushed_us: float, direct_us: float, words: str
) -> None:
    found = Flushes(file_system, "", flushed_us * 1e3, direct_us * 1e3, direct_us * 1e3).suspicion
    assert words in found
    assert bool(found) == bool(words)


def test_writes_are_timed_here_and_leave_nothing(tmp_path: Path) -> None:
    found = flushes(tmp_path)
    assert found.flushed_ns > 0
    assert found.direct_ns > 0 or not isfinite(found.direct_ns)
    assert list(tmp_path.iterdir()) == []
