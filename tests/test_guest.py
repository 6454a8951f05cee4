"""The guest with many CPUs: what it runs, what comes out of it, that nothing is left, and the smoke that is run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts/many-cpus"
KERNEL = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dsbench-guest/kernel/unpacked"


def call(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *words], capture_output=True, text=True, env={**os.environ, **environment})


@pytest.mark.thorough
@pytest.mark.skipif(
    not KERNEL.exists() or shutil.which("qemu-system-x86_64") is None,
    reason="scripts/many-cpus gets QEMU and a kernel when it is first called",
)
def test_a_command_runs_in_a_guest_and_leaves_what_it_wrote_for_us_alone(tmp_path: Path) -> None:
    words = "nproc; ls -d /sys/devices/system/node/node*; echo lost >$0/lost; echo kept >$GUEST_RESULTS/kept; exit 7"
    guest, kept, temporary = ("--cpus", "4", "--memory", "1024"), tmp_path / "results", tmp_path / "temporary"
    temporary.mkdir()
    done = call(*guest, "--", "sh", "-c", words, str(SCRIPT.parent), GUEST_RESULTS=str(kept), TMPDIR=str(temporary))
    assert done.returncode == 7, done.stderr
    assert done.stdout.split() == ["4", "/sys/devices/system/node/node0", "/sys/devices/system/node/node1"], done.stderr
    assert (kept / "kept").read_text() == "kept\n"
    assert not (SCRIPT.parent / "lost").exists()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--cpus", "4"), ("--cores", "4", "true")])
def test_a_guest_without_a_command_or_with_an_unknown_option_is_refused(words: tuple[str, ...]) -> None:
    done = call(*words)
    assert done.returncode == 2
    assert "many-cpus" in done.stderr


def test_a_part_of_the_smoke_that_lasts_too_long_fails_and_says_where_it_was() -> None:
    words = ("--clients", "1", "--duration", "60", "--limit", "1", "mock: free")
    done = subprocess.run([sys.executable, SCRIPT.with_name("smoke"), *words], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "mock: free: FAILED" in done.stdout
    assert "in check_run" in done.stdout
    assert "it lasted longer than --limit" in done.stdout
