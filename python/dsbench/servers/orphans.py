"""Programs that the kernel ends when this one dies, by whatever signal (Linux; setpriv of util-linux)."""

from __future__ import annotations

import functools
import shutil
import subprocess


def can_die_with_us() -> bool:
    """Whether a program can be started so that the kernel ends it with this one."""
    return _setpriv() is not None


def dying_with_us(signal: str) -> list[str]:
    """Words before a command, by which it gets ``signal``, such as KILL, when the *thread* that started it ends.

    Empty where the machine cannot do so.
    """
    path = _setpriv()
    return [path, "--pdeathsig", signal, "--"] if path else []


@functools.cache
def _setpriv() -> str | None:
    path = shutil.which("setpriv")
    if path is None:
        return None
    says = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
    return path if "--pdeathsig" in says.stdout + says.stderr else None
