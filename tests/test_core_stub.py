"""The stub of the core says what the module has: every name, and every signature."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_stub_is_that_of_the_module(tmp_path: Path) -> None:
    # A list of all names is made with the module, and how its classes lie in memory concerns no reader.
    allowed = tmp_path / "allowed"
    allowed.write_text("dsbench._core.__all__\n")
    options = ["--ignore-disjoint-bases", "--allowlist", str(allowed)]
    command = [sys.executable, "-m", "mypy.stubtest", *options, "dsbench._core"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
