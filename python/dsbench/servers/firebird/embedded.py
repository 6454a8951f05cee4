"""Firebird's engine in this process: a folder with one database, and a root for the engine itself.

The engine reads ``firebird.conf`` once, and a process can load one engine only. So the root is made for
the process, not for the run, and goes with the process.
"""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from dsbench import spec
from dsbench.dataclass import dataclass
from dsbench.servers.errors import ServerError
from dsbench.servers.firebird import instance
from dsbench.servers.firebird.binaries import Engine, known_settings
from dsbench.servers.folder import Folder
from dsbench.servers.process import Log
from dsbench.servers.server import Server
from dsbench.spec.target import parameters_joined

_MATH = ("/usr/lib/*/libtommath.so.1", "/lib/*/libtommath.so.1", "/usr/lib*/libtommath.so.1")


@dataclass(frozen=True)
class _Root:
    """The engine's files with a configuration of their own."""

    engine: Engine
    conf: Mapping[str, str]
    folder: Folder


_ROOT: list[_Root] = []
"""The one root of this process, once there is one."""
_LOCK = threading.Lock()


class Embedded(Server):
    """A folder that holds the database ``run.fdb``."""

    restarts = False
    # Its cache of pages is one for all sessions of this process, and lives as long as one of them.

    def __init__(self, engine: Engine, base: Path, settings: Mapping[str, str]) -> None:
        self.version = engine.name
        self._checked = instance.checked(settings, known_settings(engine.root), self.version)
        self._root = _root(engine, self._checked.conf)
        super().__init__(base, "fb")

    def _furnish(self, root: Path) -> Path:
        return root

    def _start(self) -> None:
        self._log = Log(self._root / "firebird.log")
        query = {**self._checked.url, "client_library": str(self._root / "lib/libfbclient.so.2")}
        path = quote(str(self.directory / "run.fdb"))
        self.url = f"firebird://{path}{parameters_joined(query)}"


def _root(engine: Engine, conf: Mapping[str, str]) -> Path:
    """The root of this process; ``SpecError`` when it was made for something else."""
    with _LOCK:
        if not _ROOT:
            _ROOT.append(_Root(engine, dict(conf), _made(engine, conf)))
            atexit.register(_ROOT[0].folder.remove)
        made = _ROOT[0]
    if made.engine != engine:
        raise spec.SpecError(
            "TARGET.version", f"this process has already loaded {made.engine.name}, and cannot load a second engine",
            f"run dsbench again for {engine.name}",
        )  # fmt: skip
    if dict(made.conf) != dict(conf):
        raise spec.SpecError(
            "--set", "the engine in this process has another configuration, and reads firebird.conf only once",
            "run dsbench again for other settings",
        )  # fmt: skip
    return made.folder.path


def _made(engine: Engine, conf: Mapping[str, str]) -> Folder:
    math = next((path for pattern in _MATH for path in sorted(glob.glob(pattern))), None)  # noqa: PTH207
    if math is None:
        raise ServerError(f"{engine.name} needs the library libtommath", "install it: apt install libtommath1")
    try:
        folder = Folder.create(Path(tempfile.gettempdir()).resolve(), "fb-engine")
    except OSError as error:
        raise ServerError(f"cannot write to {tempfile.gettempdir()}: {error.strerror}", "set TMPDIR") from error
    try:
        _furnish(folder.path, engine.root, Path(math), conf)
    except BaseException as error:
        folder.remove()
        if isinstance(error, OSError):
            raise ServerError(f"cannot copy {engine.name}: {error}", "check the free up space there, or set "
                                                                     "TMPDIR") from error
        raise
    return folder


def _furnish(root: Path, runtime: Path, math: Path, conf: Mapping[str, str]) -> None:
    # Copies, not links: the library finds its root, and the plugins their libraries, by their real paths.
    shutil.copytree(runtime, root, dirs_exist_ok=True)
    lib = root / "lib"
    lib.mkdir(exist_ok=True)
    for library in root.glob("lib*.so*"):
        library.rename(lib / library.name)
    for name in ("libtommath.so.0", "libtommath.so.1"):
        (lib / name).symlink_to(math)
    for name in ("lock", "tmp"):
        (root / name).mkdir(mode=0o700)
    own = {"TempDirectories": str(root / "tmp")} if "tempdirectories" not in {name.lower() for name in conf} else {}
    (root / "firebird.conf").write_text(instance.conf({**own, **conf}))
    # The engine knows no setting for these; it asks the environment when it is loaded.
    os.environ["FIREBIRD_LOCK"] = str(root / "lock")
    os.environ["FIREBIRD_TMP"] = str(root / "tmp")
