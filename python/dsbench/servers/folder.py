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
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from typing import IO, Any

import psutil

from dsbench import devices
from dsbench.dataclass import dataclass
from dsbench.servers import limits
from dsbench.servers.errors import ServerError
from dsbench.servers.storage import volume

try:
    import fcntl
except ImportError:  # Windows has no flock: there only the owner's process id tells.
    fcntl = None  # type: ignore[assignment]

PREFIX = "dsbench-"
MARK = ".dsbench-private.json"
KEPT = ".dsbench-kept.json"
"""Beside the mark where the data are left to later runs: it names their version."""
_NESTED = 3
"""Folders between one of ours and the deepest one within: ``fs``, ``data`` and that of a study."""
_DATA = ("data", "run.*")
"""Of a folder that is kept: all else is made anew by the run that takes it up."""


@dataclass(frozen=True)
class Folder:
    """A folder of this program's own, made below a base and removed whole."""

    path: Path
    _lock: IO[str] = field(repr=False)
    _facts: dict[str, Any] = field(repr=False, default_factory=dict)

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

    @classmethod
    def adopt(cls, path: Path, version: str) -> Folder:
        """The kept folder ``path`` with nothing but its data; ``ServerError`` while a run has it, or of another
        ``version``. Raises ``OSError``."""
        lock = _locked(path)
        try:
            if _series(before := kept_as(path)) != _series(version):
                problem = f"{path} was kept by {before}, and this is {version}"
                raise ServerError(problem, "specify its version in TARGET, such as private:postgresql@15")
            _stop_left_server(path)
            for item in path.iterdir():
                if item.name not in (MARK, KEPT) and not any(item.match(data) for data in _DATA):
                    shutil.rmtree(item) if _folder(item) else item.unlink()
            lock.truncate(0)
            json.dump({"owner": os.getpid()}, lock)
            lock.flush()
        except BaseException:
            lock.close()
            raise
        return cls(path, lock)

    def keep(self, version: str) -> None:
        """Leaves the data to a later run: ``remove`` only lets the folder go from now on."""
        nascent = self.path / (KEPT + ".new")
        nascent.write_text(json.dumps({"version": version}))
        nascent.replace(self.path / KEPT)

    def serves(self, pid: int) -> None:
        """Notes the process that works in this folder, so that it can be found when this program was killed."""
        self._note(server=pid)

    def holds(self, groups: Iterable[Path]) -> None:
        """Notes the control groups around its processes, likewise. They need not be there yet."""
        self._note(groups=[str(path) for path in groups])

    def _note(self, **facts: Any) -> None:
        self._facts.update(facts)
        self._lock.seek(0)
        self._lock.truncate()
        json.dump({"owner": os.getpid(), **self._facts}, self._lock)
        self._lock.flush()

    def remove(self) -> bool:
        """Removes the folder and all in it; false when something would not go. Harmless when it is gone.

        What is kept stays.
        """
        gone = is_kept(self.path) or _removed(self.path)
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


def _locked(path: Path) -> IO[str]:
    """The mark of ``path``, locked; ``ServerError`` while its owner lives."""
    lock = (path / MARK).open("r+")
    try:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise ServerError(f"a run is using {path}", "wait until it has ended") from None
    return lock


def _series(version: str) -> str:
    """Versions of a product whose servers take each other's data: ``PostgreSQL 18``, ``MariaDB 10.11``."""
    return ".".join(version.split(".")[: 1 if version.startswith("PostgreSQL") else 2])


def kept_in(base: Path, product: str) -> Path | None:
    """The folder in ``base`` that was kept of ``product``, such as ``mariadb``."""
    return next((path for path in _marked_in(base) if kept_as(path).partition(" ")[0].lower() == product), None)


def is_kept(path: Path) -> bool:
    """Whether ``path`` is a folder whose data were left to later runs."""
    return (path / KEPT).exists()


def above(base: Path) -> Path:
    """Where a private server makes its folder: ``base``, or what holds it where it is such a folder itself."""
    return base.parent if is_kept(base) else base


def kept_as(path: Path) -> str:
    """Product and version of a kept folder, such as ``PostgreSQL 15.3``; empty where it is none."""
    return str(_said(path / KEPT).get("version", ""))


def drop(path: Path) -> bool:
    """Removes a folder that was kept; false when something would not go. ``ServerError`` while a run works in it."""
    with _locked(path):
        _stop_left_server(path)
        return _removed(path)


def stale(base: Path) -> list[Path]:
    """Marked folders in ``base`` that belong to this user and whose owner is dead."""
    return [path for path in _marked_in(base) if not is_kept(path) and _owner_is_dead(path)]


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
    return _said(path / MARK)


def _said(file: Path) -> dict[str, Any]:
    try:
        said = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _stop_left_server(path: Path) -> None:
    """Ends the server of a dead owner, when the process of that id really works in this folder, and its groups.

    Those of folders of ours within, too: a file system that was made for a server holds the server's own folder.
    """
    # Errors are passed over: a file system whose keeper was killed cannot be read.
    for folder, names, files in os.walk(path):
        inner = Path(folder)
        if len(inner.relative_to(path).parts) > _NESTED:
            names.clear()
        if inner != path and inner.name.startswith(PREFIX) and MARK in files:
            _stop_marked(inner)
    _stop_marked(path)


def _stop_marked(path: Path) -> None:
    mark = _mark(path)
    pid, groups = mark.get("server"), mark.get("groups")
    if isinstance(pid, int):
        _stop(pid, path)
    if isinstance(groups, list):
        limits.remove(Path(str(group)) for group in groups)


def _stop(pid: int, path: Path) -> None:
    with contextlib.suppress(psutil.Error):
        server = psutil.Process(pid)
        if any(str(path) in argument for argument in server.cmdline()):
            family = [server, *server.children(recursive=True)]
            server.terminate()
            _, alive = psutil.wait_procs(family, timeout=10)
            for process in alive:
                process.kill()


def _folder(item: Path) -> bool:
    return item.is_dir() and not item.is_symlink()


def _removed(path: Path) -> bool:
    devices.detach_forgetful(path)
    volume.release(path)
    # A server that was killed hard leaves children that write for a moment longer.
    for _ in range(50):
        # The mark goes last: by it a later run knows what was left where this program is killed in between.
        with contextlib.suppress(OSError):
            for item in path.iterdir():
                if item.name != MARK:
                    shutil.rmtree(item, ignore_errors=True) if _folder(item) else item.unlink()
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return True
        time.sleep(0.1)
    return False
