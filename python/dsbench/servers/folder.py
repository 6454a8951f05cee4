"""Folders of private servers: each carries a mark, is locked by the program that owns it, and goes with it.

A program that is killed cannot tidy up. What it leaves is told apart by the lock on the mark, which the
operating system lets go when the owner dies: unlike a process id it is never given to somebody else, and
it holds across containers that share a directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

try:
    import fcntl
except ImportError:  # Windows has no flock: there only the owner's process id tells.
    fcntl = None  # type: ignore[assignment]

PREFIX = "dsbench-"
MARK = ".dsbench-private.json"


@dataclass(frozen=True)
class Folder:
    """A folder of this program's own, made below a base and removed whole."""

    path: Path
    _lock: IO[str] = field(repr=False)

    @classmethod
    def create(cls, base: Path, name: str) -> Folder:
        """A new folder ``dsbench-<name>-XXXX`` in ``base``, marked and locked. Raises ``OSError``."""
        path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{name}-", dir=base))
        try:
            # Others may pass through (a server of another user has its data inside) but not list.
            path.chmod(0o711)
            return cls(path, _marked(path))
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise

    def serves(self, pid: int) -> None:
        """Notes the process that works in this folder, so that it can be found when this program was killed."""
        self._lock.seek(0)
        self._lock.truncate()
        json.dump({"owner": os.getpid(), "server": pid}, self._lock)
        self._lock.flush()

    def remove(self) -> bool:
        """Removes the folder and all in it; false when something would not go. Harmless when it is gone."""
        gone = _removed(self.path)
        self._lock.close()
        return gone


def _marked(path: Path) -> IO[str]:
    # Locked before it gets its name: whoever sees a mark sees it locked while its owner lives.
    nascent = path / (MARK + ".new")
    lock = nascent.open("w")
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        json.dump({"owner": os.getpid()}, lock)
        lock.flush()
        nascent.rename(path / MARK)
    except BaseException:
        lock.close()
        raise
    return lock


def stale(base: Path) -> list[Path]:
    """Marked folders in ``base`` that belong to this user and whose owner is dead."""
    return [path for path in _marked_in(base) if _owner_is_dead(path)]


def clean(base: Path) -> list[Path]:
    """Removes the stale folders of ``base``, a server that still works in one included; gives those removed."""
    removed = []
    for path in stale(base):
        _stop_left_server(path)
        if _removed(path):
            removed.append(path)
    return removed


def _marked_in(base: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for path in sorted(base.glob(f"{PREFIX}*")):
            # A folder that another user prepared is not ours to judge, whatever mark it carries.
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink() and (path / MARK).is_file() and _ours(path):
                    yield path


def _ours(path: Path) -> bool:
    return not hasattr(os, "geteuid") or path.stat().st_uid == os.geteuid()


def _owner_is_dead(path: Path) -> bool:
    if fcntl is None:
        owner = _mark(path).get("owner")
        return isinstance(owner, int) and not psutil.pid_exists(owner)
    try:
        with (path / MARK).open() as mark:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by its owner; or no locks here: then nothing is certain
        return False
    return True


def _mark(path: Path) -> dict[str, Any]:
    try:
        mark = json.loads((path / MARK).read_text())
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


def _stop_left_server(path: Path) -> None:
    """Ends the server of a dead owner, when the process of that id really works in this folder."""
    pid = _mark(path).get("server")
    if not isinstance(pid, int):
        return
    with contextlib.suppress(psutil.Error):
        server = psutil.Process(pid)
        if any(str(path) in argument for argument in server.cmdline()):
            family = [server, *server.children(recursive=True)]
            server.terminate()
            _, alive = psutil.wait_procs(family, timeout=10)
            for process in alive:
                process.kill()


def _removed(path: Path) -> bool:
    # A server that was killed hard leaves children that write for a moment longer.
    for _ in range(50):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return True
        time.sleep(0.1)
    return False
