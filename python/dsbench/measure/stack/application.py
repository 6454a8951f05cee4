"""dsbench itself, and what it runs on."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import dsbench
from dsbench.measure.stack.described import Items, present


def items() -> Items:
    """Version, the commit when it runs from a checkout, Python."""
    return present(
        {
            "dsbench": dsbench.__version__,
            "commit": commit(Path(dsbench.__file__).parent),
            "Python": f"{platform.python_implementation()} {platform.python_version()}",
        }
    )


def commit(package: Path) -> str:
    """The commit of the checkout that holds ``package``; with ``-dirty`` when files were changed since."""
    # An installed package may lie inside a checkout of something else: that one's commit would mislead.
    home = next((p for p in package.parents if (p / ".git").exists()), None)
    git = shutil.which("git")
    if home is None or git is None or package not in (home / "python/dsbench", home / "dsbench"):
        return ""
    command = [git, "-C", str(home), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
