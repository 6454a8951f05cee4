"""One private Firebird server: its root made, its security database, started, watched and removed."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

from dsbench.servers.errors import ServerError
from dsbench.servers.firebird import settings as configuration
from dsbench.servers.firebird.binaries import Server, known_settings
from dsbench.servers.firebird.log import Log
from dsbench.servers.folder import Folder
from dsbench.servers.installation import storage_notes
from dsbench.servers.process import Process, User, run, unprivileged

START_TIMEOUT_S = 60.0
STOP_PATIENCE_S = 30.0
"""Time for an orderly end, which writes changed pages, before harder means."""

_PARTS = ("plugins", "intl", "tzdata", "lib", "UDF", "firebird.msg", "plugins.conf")
"""What a root takes over from the installed one, where it is there."""

_SHARED_LOG = "/var/log/firebird/firebird{0}.log"


class Instance:
    """A running private Firebird server: reached by TCP on its own port, with a password made for it."""

    def __init__(self, binaries: Server, base: Path, settings: Mapping[str, str]) -> None:
        self.version = binaries.name
        self.notes: list[str] = []
        self._binaries = binaries
        self._settings = configuration.checked(settings, known_settings(binaries.root), self.version)
        self._user = unprivileged(base, "firebird")
        self._folder: Folder | None = None
        self._process: Process | None = None
        atexit.register(self.stop)
        try:
            self._make_root(base)
            self._start()
        except BaseException:
            self.stop()
            raise
        self.notes += storage_notes(self.directory)

    def _make_root(self, base: Path) -> None:
        try:
            self._folder = Folder.create(base, "fb")
            self._root = root = self._folder.path
            for name in _PARTS:
                if (self._binaries.root / name).exists():
                    (root / name).symlink_to(self._binaries.root / name)
            for name in ("lock", "tmp", "security"):
                self._given_away(root / name)
            self.directory = self._given_away(root / "data")
            (root / "databases.conf").write_text("")
        except OSError as error:
            problem = f"cannot write to {error.filename or base}: {error.strerror}"
            raise ServerError(problem, "name another folder: directory = …") from error
        short = ".".join(self._binaries.version.split(".")[:2])
        self._out = root / "server.log"
        self._log = Log(Path(_SHARED_LOG.format(short)), root / "firebird.log", self._out)
        # The caller's variables would lead the programs elsewhere, or log them in as somebody.
        self._env = {k: v for k, v in os.environ.items() if not k.startswith(("FIREBIRD", "ISC_"))}
        self._env |= {"FIREBIRD": str(root), "FIREBIRD_LOCK": str(root / "lock"), "FIREBIRD_TMP": str(root / "tmp")}

    def _start(self) -> None:
        bind = self._settings.get("RemoteBindAddress", "127.0.0.1")
        port = int(self._settings.get("RemoteServicePort", "0")) or _free_port()
        self._configure(bind, port)
        # Twenty characters: what Srp of version 3 takes account of.
        password = secrets.token_urlsafe(15)
        self._secure(password)
        self._launch(configuration.network_host(bind), port)
        place = f"{configuration.network_host(bind)}:{port}/{quote(str(self.directory / 'run.fdb'))}"
        query = urlencode(self._settings.url)
        self.url = f"firebird://sysdba:{password}@{place}" + (f"?{query}" if query else "")

    def _given_away(self, path: Path) -> Path:
        """A folder that only the server's user (and the superuser) can enter."""
        path.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(path, self._user.uid, self._user.gid)
        return path

    def _configure(self, bind: str, port: int) -> None:
        own = {
            "ServerMode": "Super",
            "TempDirectories": str(self._root / "tmp"),
            # The client decides whether to encrypt: by default it does.
            "WireCrypt": "Enabled",
        }
        asked = {name.lower() for name in self._settings.conf}
        lines = {name: value for name, value in own.items() if name.lower() not in asked} | self._settings.conf
        lines |= {"RemoteBindAddress": bind, "RemoteServicePort": str(port), "IpcName": f"DSBENCH{port}"}
        lines |= {"SecurityDatabase": str(self._root / "security/security.fdb"), "DatabaseAccess": "Full"}
        srp = "Srp" if self._binaries.version.startswith("3.") else "Srp256, Srp"
        lines |= {"AuthServer": srp, "UserManager": "Srp"}
        path = self._root / "firebird.conf"
        path.write_text(configuration.conf(_once(lines)))
        path.chmod(0o644)

    def _secure(self, password: str) -> None:
        """Makes the security database and its one user, by the engine in the process of isql.

        The password travels in a file that only the server's user can read, and that goes at once.
        """
        database, script = self._root / "security/security.fdb", self._root / "security/secret.sql"
        furnish = self._binaries.security_script
        script.touch(mode=0o600)
        script.write_text(
            f"create database '{database}';\ncommit;\n"
            + (f"in {furnish};\ncommit;\n" if furnish is not None else "")
            + f"create user sysdba password '{password}' using plugin Srp;\ncommit;\n"
        )
        if self._user is not None:
            os.chown(script, self._user.uid, self._user.gid)
        try:
            done = run([self._binaries.isql, "-q", "-b", "-user", "sysdba", "-i", script], self._user, self._env)
        finally:
            script.unlink(missing_ok=True)
        if done.returncode != 0:
            said = done.stdout.strip().replace(password, "***")
            raise ServerError(
                f"isql of {self.version} could not make the security database in {self._root}:\n{said}",
                f"see that {_named(self._user)} may enter every folder above it, or name another: directory = …",
            )

    def _launch(self, host: str, port: int) -> None:
        # Before it starts: afterwards one could not tell whose server answers there.
        if _listens(host, port):
            raise ServerError(f"{host}:{port} is taken by another program", "leave RemoteServicePort out: any is free")
        # The root is in the environment, too; in the command line whoever looks for this server finds it.
        command: list[str | Path] = [self._binaries.program, "-e", self._root]
        self._process = Process(command, user=self._user, env=self._env, log=self._out, ending=signal.SIGTERM)
        assert self._folder is not None
        self._folder.serves(self._process.pid)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not _listens(host, port) or not self._process.alive:
            if not self._process.alive or time.monotonic() > deadline:
                why = f"was not ready after {START_TIMEOUT_S:.0f} s" if self._process.alive else "did not start"
                tail = "\n".join(self.log_tail(20))
                raise ServerError(f"{self.version} {why} on {host}:{port}:\n{tail}", "see its settings and its port")
            time.sleep(0.02)

    def log_tail(self, lines: int = 40) -> list[str]:
        """The last lines of what Firebird logged since the start."""
        return self._log.tail(lines)

    def pids(self) -> list[int]:
        """The server's process and, in mode Classic, one for each session."""
        return [p.pid for p in self._process.family()] if self._process is not None else []

    def stop(self) -> None:
        """An orderly shutdown, then SIGKILL; then the folder goes. Harmless when repeated."""
        if self._process is not None:
            self._process.stop(STOP_PATIENCE_S)
        if self._folder is not None and not self._folder.remove():
            self.notes.append(f"{self._folder.path} could not be removed")
        self._folder = None
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _once(lines: Mapping[str, str]) -> dict[str, str]:
    """Each setting once, whatever its case; the last one counts."""
    last = {name.lower(): (name, value) for name, value in lines.items()}
    return dict(last.values())


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=5):
            return True
    except OSError:
        return False


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _named(user: User | None) -> str:
    return f"the user {user.name}" if user is not None else "this user"
