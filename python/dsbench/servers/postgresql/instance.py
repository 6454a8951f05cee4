"""One PostgreSQL cluster: made, configured, started, watched and removed."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import signal
import socket
import tempfile
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from dsbench import spec
from dsbench.servers import templates
from dsbench.servers.errors import ServerError
from dsbench.servers.folder import Folder
from dsbench.servers.installation import storage_notes
from dsbench.servers.postgresql import settings as configuration
from dsbench.servers.postgresql.binaries import Binaries
from dsbench.servers.postgresql.leftovers import SharedMemory
from dsbench.servers.process import Process, User, run, unprivileged

START_TIMEOUT_S = 60.0
STOP_PATIENCE_S = 30.0
"""Time for the fast shutdown, which writes a checkpoint, before harder means."""

_SOCKET_PATH_BYTES = 103
"""Longest path of a Unix socket that every system takes (Linux 107, macOS 103)."""


class Instance:
    """A running private PostgreSQL server."""

    def __init__(self, binaries: Binaries, base: Path, settings: Mapping[str, str], connections: int) -> None:
        self.version = f"PostgreSQL {binaries.version}"
        self.notes: list[str] = []
        self._binaries = binaries
        self._settings = configuration.checked(settings, connections)
        self._user = unprivileged(base, "postgres")
        # The caller's PG* variables would lead the programs elsewhere, its language would change what they say.
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PG") and k not in ("LANG", "LANGUAGE")}
        self._env = {**kept, "LC_ALL": "C"}
        self._folders: list[Folder] = []
        self._process: Process | None = None
        self._memory: SharedMemory | None = None
        atexit.register(self.stop)
        try:
            self._make_folders(base)
            self._start()
        except BaseException:
            self.stop()
            raise
        self._note(settings)

    def _make_folders(self, base: Path) -> None:
        try:
            root = self._folder(base)
            self._log = root / "server.log"
            self._secret = root / "password"
            self.directory = self._given_away(root / "data")
            self._socket_directory = self._given_away(self._short(root) / "socket")
        except OSError as error:
            problem = f"cannot write to {error.filename or base}: {error.strerror}"
            raise ServerError(problem, "name another folder: directory = …") from error

    def _start(self) -> None:
        host = configuration.network_host(self._settings.get("listen_addresses", ""))
        port = int(self._settings.get("port", "0")) or _free_port()
        password = secrets.token_urlsafe(24) if host else ""
        self._initialise(password)
        self._configure(port)
        self._launch()
        if host:
            self.url = f"postgresql://postgres:{password}@{host}:{port}/postgres"
        else:
            place = quote(str(self._socket_directory), safe="/")
            self.url = f"postgresql://postgres@/postgres?host={place}&port={port}"

    def _folder(self, base: Path) -> Path:
        folder = Folder.create(base, "pg")
        self._folders.append(folder)
        return folder.path

    def _given_away(self, path: Path) -> Path:
        """A folder that only the server's user (and the superuser) can enter."""
        path.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(path, self._user.uid, self._user.gid)
        return path

    def _short(self, root: Path) -> Path:
        """``root``, or another folder of our own when its path is too long for a socket."""
        if _fits_socket(root):
            return root
        temporary = Path(tempfile.gettempdir())
        return self._folder(temporary if _fits_socket(temporary / root.name) else Path("/tmp"))

    def _initialise(self, password: str) -> None:
        options = ["--username=postgres", "--encoding=UTF8", "--locale=C", "--auth-local=trust"]
        # Locale C: sorting must not depend on the language of the machine. Host logins need the password.
        options.append(f"--auth-host={'scram-sha-256' if password else 'reject'}")
        if password:
            self._secret.touch(mode=0o600)
            self._secret.write_text(password)
            if self._user is not None:
                os.chown(self._secret, self._user.uid, self._user.gid)
            self._initdb([*options, f"--pwfile={self._secret}"])
            with (self.directory / "pg_hba.conf").open("a") as hba:
                hba.write("host all all all scram-sha-256\n")
        else:
            key = [self._binaries.folder, self.version, *options]
            templates.fill(self.directory, key, self._user, lambda: self._initdb(options))

    def _initdb(self, options: list[str]) -> None:
        initdb = self._binaries.program("initdb")
        done = run([initdb, "-D", self.directory, *options], self._user, self._env)
        self._secret.unlink(missing_ok=True)
        if done.returncode != 0:
            raise ServerError(
                f"initdb of {self.version} failed in {self.directory}:\n{done.stdout.strip()}",
                f"see that {_named(self._user)} may enter every folder above it, or name another: directory = …",
            )

    def _configure(self, port: int) -> None:
        own = {"listen_addresses": "", **self._settings, "port": str(port)}
        own["unix_socket_directories"] = str(self._socket_directory)
        with (self.directory / "postgresql.conf").open("a") as conf:
            conf.write(configuration.conf(own))
        # The server reads its configuration and says what it thinks of it, without starting.
        said = run([self._binaries.program("postgres"), "-D", self.directory, "-C", "port"], self._user, self._env)
        if said.returncode != 0:
            raise spec.SpecError(
                "--set", f"{self.version} refuses them: {_complaint(said.stdout)}",
                f"use the names and values of postgresql.conf of PostgreSQL {self._binaries.version}",
            )  # fmt: skip

    def _launch(self) -> None:
        self._process = Process(
            [self._binaries.program("postgres"), "-D", self.directory],
            user=self._user, env=self._env, log=self._log, ending=signal.SIGINT,
        )  # fmt: skip
        self._folders[0].serves(self._process.pid)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._ready():
            if not self._process.alive or time.monotonic() > deadline:
                why = f"was not ready after {START_TIMEOUT_S:.0f} s" if self._process.alive else "did not start"
                tail = "\n".join(self.log_tail(20))
                raise ServerError(f"{self.version} {why}:\n{tail}", "see its settings, and the memory and space here")
            time.sleep(0.02)
        self._memory = SharedMemory.held(self._process.pid, self.pids())

    def _ready(self) -> bool:
        """Line 8 of ``postmaster.pid`` tells, without a session that would be counted."""
        try:
            lines = (self.directory / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[7].strip() == "ready"

    def _note(self, asked: Mapping[str, str]) -> None:
        self.notes += storage_notes(self.directory)
        if "max_connections" in self._settings and "max_connections" not in {name.lower() for name in asked}:
            self.notes.append(f"max_connections was raised to {self._settings['max_connections']} for this load")

    def log_tail(self, lines: int = 40) -> list[str]:
        """The last lines of what the server wrote to its standard error."""
        try:
            with self._log.open(errors="replace") as log:
                log.seek(max(0, self._log.stat().st_size - lines * 1024))
                return [line.rstrip("\n") for line in deque(log, maxlen=lines)]
        except OSError:
            return []

    def pids(self) -> list[int]:
        """The postmaster and its children, sessions among them."""
        return [p.pid for p in self._process.family()] if self._process is not None else []

    def stop(self) -> None:
        """Fast shutdown, then an immediate one, then SIGKILL; then the folder goes. Harmless when repeated."""
        if self._process is not None:
            self._process.stop(STOP_PATIENCE_S, signal.SIGQUIT)
        if self._memory is not None:
            self._memory.remove()
        for folder in self._folders:
            if not folder.remove():
                self.notes.append(f"{folder.path} could not be removed")
        self._folders.clear()
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _fits_socket(root: Path) -> bool:
    return len(os.fsencode(root / "socket/.s.PGSQL.65535")) <= _SOCKET_PATH_BYTES


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _named(user: User | None) -> str:
    return f"the user {user.name}" if user is not None else "this user"


def _complaint(said: str) -> str:
    """What the server says is wrong, without times, process ids and the path of a file that is going away."""
    messages = re.findall(r"(?:LOG|FATAL|ERROR|HINT|DETAIL):\s+(.*)", said)
    specific = [m for m in messages if not re.search(r"configuration file .* contains errors", m)] or [said.strip()]
    return "; ".join(re.sub(r' in file "[^"]*" line \d+', "", m) for m in specific)
