"""The stub of the core says what the module has: every name, and every signature."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dsbench
from dsbench import _core


def test_the_stub_is_that_of_the_module(tmp_path: Path) -> None:
    # In a package with nothing else, as mypy would read all of dsbench and what that imports.
    package = tmp_path / "dsbench"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(Path(dsbench.__file__).with_name("_core.pyi"), package)
    (package / Path(_core.__file__).name).symlink_to(_core.__file__)
    # A list of all names is made with the module, and how its classes lie in memory concerns no reader.
    allowed = tmp_path / "allowed"
    allowed.write_text("dsbench._core.__all__\n")
    options = ["--ignore-disjoint-bases", "--allowlist", str(allowed)]
    command = [sys.executable, "-m", "mypy.stubtest", *options, "dsbench._core"]
    alone = {**os.environ, "PYTHONPATH": str(tmp_path), "MYPYPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
