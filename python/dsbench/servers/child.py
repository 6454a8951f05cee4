"""A program of a few lines of Python in another process, which sees this package and nothing beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dsbench


def python(program: str, *arguments: str) -> subprocess.Popen[str]:
    """Starts ``program`` in a session of its own, with pipes as its input and output. Raises ``OSError``."""
    # -P: a folder called dsbench where the user stands is none of ours.
    command = [sys.executable, "-P", "-c", program, *arguments]
    path = os.pathsep.join([str(Path(dsbench.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": path}, start_new_session=True, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
