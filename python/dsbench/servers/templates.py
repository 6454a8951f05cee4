"""Data folders made once and copied, for whoever starts many private servers and measures none of them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from dsbench.servers.errors import ServerError
from dsbench.servers.process import User

VARIABLE = "DSBENCH_TEMPLATES"
"""Names the folder of the templates. Without it every data folder is made anew: a copy is still on its way to the
disk when the server starts, and would be written in the middle of what a run measures."""


def fill(directory: Path, key: Sequence[object], user: User | None, make: Callable[[], None]) -> None:
    """Fills the empty ``directory`` by ``make``, or with a copy of what that left before under the same ``key``.

    ``key`` is everything that shapes the data: programs, version, settings. The copy belongs to ``user``, as
    the original does. Raises what ``make`` raises, and ``ServerError`` where a template cannot be copied.
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        make()
        return
    words = repr([user, *(str(part) for part in key)])
    template = Path(folder) / hashlib.sha256(words.encode()).hexdigest()[:20]
    if not template.is_dir():
        make()
        _keep(directory, template)
    elif said := _copy(template, directory):
        remedy = f"check the free space and permissions of both, or unset {VARIABLE}"
        raise ServerError(f"the template {template} cannot be copied to {directory}: {said}", remedy)


def _keep(directory: Path, template: Path) -> None:
    """Makes a template of ``directory``: whole or not at all, whoever else makes it or is killed meanwhile."""
    with suppress(OSError):  # Another was faster, or there is no space: that one serves, or the next is made, too.
        template.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=template.parent))
        try:
            if not _copy(directory, unfinished):
                unfinished.rename(template)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _copy(source: Path, target: Path) -> str:
    """Copies all in ``source`` with owners and rights; gives what is wrong. ``cp`` takes a sixth of Python's time."""
    command = ["cp", "-a", f"{source}/.", str(target)]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stderr.strip()
