"""What the tests of runs share."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.started import Begin, program


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts runs in an empty folder, whose archives go to ``tmp_path / "out"``; ended with the test, come what may."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = program("run", *arguments, "--out", "out")
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
