"""A run beside a program that takes the CPUs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dsbench
from dsbench.archive import Archive
from dsbench.check import doctor
from dsbench.read.evaluation import evaluate
from dsbench.read.shown import read
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.warnings import WarningsResult

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells of other programs"),
    pytest.mark.serial,
]

# Hashing needs no lock of Python's. It ends with whoever began it.
HOG = """
import hashlib, os, pathlib, sys, threading
pathlib.Path("/proc/self/comm").write_text("cpu-hog")
def burn():
    while True:
        hashlib.pbkdf2_hmac("sha256", b"--password", b"secret", 200_000)
for _ in range(2 * os.cpu_count()):
    threading.Thread(target=burn, daemon=True).start()
print("burning", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hog() -> Iterator[int]:
    """The pid of a program that burns CPU time, with an argument that is nobody's business."""
    command = [sys.executable, "-c", HOG, "--password=pw7f3a91"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"burning\n"
        yield process.pid
        process.kill()


def test_the_program_is_named_before_the_run_and_after_it(hog: int, tmp_path: Path) -> None:
    archive = dsbench.run("private:sqlite", scales=(1,), cycles=2, duration=1.0, clients=1, out=tmp_path)
    evaluation = evaluate(Archive.open(archive.path))
    (doubt,) = [doubt for doubt in evaluation.of(WarningsResult).doubts if doubt.code == "other-programs"]
    assert "of 2 CPUs during cycles 1–2: " in doubt.message.replace(f"of {os.cpu_count()} CPUs", "of 2 CPUs")
    assert re.search(r": cpu-hog \d", doubt.message), "its number has no meaning once it has ended"
    log = (archive.path / "results.log").read_text()
    assert "warning: other programs use " in log
    assert f"cpu-hog (pid {hog})" in log
    assert archive.run.status == "complete"
    shown = read(archive.path, "machine").text
    assert all(re.search(r"cpu-hog \d", line) for line in shown.splitlines() if line.startswith("scale 1, cycle"))
    assert "scale 1, cycle 2: " in shown
    for use in evaluation.of(MachineResult).machine[1]:
        assert use.use.run_ns > 0, "SQLite works within dsbench"
        assert use.use.server_ns is None
        assert os.getpid() not in [program.pid for program in use.programs]
    everything = b"".join(path.read_bytes() for path in archive.path.iterdir() if path.is_file())
    assert b"pw7f3a91" not in everything


def test_the_doctor_names_it(hog: int) -> None:
    busy = [finding for finding in doctor.findings() if finding.name == "other programs"]
    assert not any(finding.ok for finding in busy)
    assert f"cpu-hog (pid {hog})" in busy[0].found
    assert busy[0].remedy
