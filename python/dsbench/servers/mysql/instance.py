"""One private server of the MySQL family: its data folder made, its settings checked, started, watched and removed."""

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
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

from dsbench import spec
from dsbench.servers import templates
from dsbench.servers.errors import ServerError
from dsbench.servers.folder import Folder
from dsbench.servers.installation import storage_notes
from dsbench.servers.mysql import binaries, complaints, settings
from dsbench.servers.mysql.binaries import MARIADB, Product
from dsbench.servers.process import Process, User, run, unprivileged

START_TIMEOUT_S = 120.0
STOP_PATIENCE_S = 30.0
"""Time for an orderly end, which writes changed pages, before harder means."""

_SOCKET_PATH_BYTES = 103
"""Longest path of a Unix socket that every system takes (Linux 107, macOS 103)."""
_READY = re.compile(r"ready for connections", re.IGNORECASE)


class Instance:
    """A running private MariaDB or MySQL server."""

    def __init__(self, product: Product, target: spec.Target, base: Path, connections: int) -> None:
        self._settings = settings.checked(target.settings, connections)
        home = Path(self._settings["basedir"]) if "basedir" in self._settings else None
        self._binaries = binaries.find(product, target.version, home)
        self.version = f"{product.name} {self._binaries.version}"
        self.notes: list[str] = []
        self._user = unprivileged(base, "mysql")
        # The caller's variables would lead the programs elsewhere, its language would change what they say.
        foreign = ("MYSQL", "MARIADB")
        self._env = {k: v for k, v in os.environ.items() if not k.startswith(foreign) and k not in ("LANG", "LANGUAGE")}
        self._env["LC_ALL"] = "C"
        self._folders: list[Folder] = []
        self._process: Process | None = None
        atexit.register(self.stop)
        try:
            self._make_folders(base)
            self._start()
        except BaseException:
            self.stop()
            raise
        self._note(target)

    def _make_folders(self, base: Path) -> None:
        try:
            root = self._folder(base)
            self._log = root / "server.log"
            self._secret = root / "accounts.sql"
            self.directory = self._given_away(root / "data")
            # A server that starts throws away what others keep in the folder for temporary files.
            self._temporary = self._given_away(root / "tmp")
            self._socket = self._given_away(self._short(root) / "socket") / "s"
        except OSError as error:
            problem = f"cannot write to {error.filename or base}: {error.strerror}"
            raise ServerError(problem, "name another folder: directory = …") from error
        self._env["TMPDIR"] = str(self._temporary)

    def _start(self) -> None:
        host = settings.network_host(self._settings.get("bind_address", ""))
        port = int(self._settings.get("port", "0")) or _free_port()
        password = secrets.token_urlsafe(24) if host else ""
        options = [*self._options(host, port), *settings.options(self._settings)]
        self._check(options)
        self._initialise()
        if password:
            self._write_accounts(password)
            options.append(f"--init-file={self._secret}")
        self._launch(options)
        self._secret.unlink(missing_ok=True)
        login = f"dsbench:{password}@{host}:{port}" if host else "root@"
        query = {} if host else {"socket": str(self._socket)}
        if engine := self._settings.get("storage_engine"):
            query["storage_engine"] = engine
        scheme = self._binaries.product.key
        self.url = f"{scheme}://{login}/" + (f"?{urlencode(query, quote_via=quote, safe='/')}" if query else "")

    def _options(self, host: str | None, port: int) -> list[str]:
        """What every program of this server is called with."""
        where = {"datadir": self.directory, "tmpdir": self._temporary, "socket": self._socket}
        result = ["--no-defaults", *self._base(), *(f"--{name}={path}" for name, path in where.items())]
        result += [f"--pid-file={self._socket.with_name('pid')}", "--skip-name-resolve"]
        listen = self._settings.get("bind_address")
        result += [f"--bind-address={listen}", f"--port={port}"] if host else ["--skip-networking"]
        if self._binaries.product is MARIADB:
            if self._settings.get("storage_engine", "").lower() == "rocksdb":
                result.append("--plugin-load-add=ha_rocksdb")
        else:
            # The second protocol would take another port; bulk loads travel over the connection.
            result += ["--mysqlx=OFF", "--local-infile=ON"]
        return result

    def _base(self) -> list[str]:
        base = self._binaries.base
        if base is None:
            return []
        messages = next((base / "share").glob("**/english/errmsg.sys"), None)
        return [f"--basedir={base}", *([f"--lc-messages-dir={messages.parent.parent}"] if messages else [])]

    def _folder(self, base: Path) -> Path:
        folder = Folder.create(base, "my")
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

    def _check(self, options: list[str]) -> None:
        """The server reads its settings and says what it thinks of them, without starting."""
        # MySQL overlooks unknown names when it is asked for help, and wrong values of plugins when not.
        ways = [["--verbose", "--help"], *([["--validate-config"]] if self._binaries.product is not MARIADB else [])]
        said = [run([self._binaries.server, *options, *way], self._user, self._env).stdout for way in ways]
        refused = complaints.about_settings("\n".join(said), self._settings)
        if refused:
            raise spec.SpecError(
                "--set", f"{self.version} refuses them: {refused}",
                complaints.remedy(refused, f"use the names and values of my.cnf of {self.version}"),
            )  # fmt: skip

    def _initialise(self) -> None:
        shape = settings.options(settings.of_the_data(self._settings))
        key = [self._binaries.server, self.version, *shape]
        templates.fill(self.directory, key, self._user, lambda: self._install(shape))

    def _install(self, shape: list[str]) -> None:
        options = ["--no-defaults", *self._base(), f"--datadir={self.directory}", *shape]
        installer = self._binaries.installer
        if self._binaries.product is MARIADB:
            if installer is None:
                raise ServerError(f"mariadb-install-db of {self.version} is missing", self._binaries.product.remedy)
            own = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
            program, options = installer, [*options, *own]
        else:
            program, options = self._binaries.server, [*options, "--initialize-insecure"]
        done = run([program, *options], self._user, self._env)
        if done.returncode != 0:
            tail = "\n".join(done.stdout.strip().splitlines()[-20:])
            raise ServerError(
                f"{program.name} of {self.version} failed in {self.directory}:\n{tail}",
                f"see that {_named(self._user)} may enter every folder above it, or name another: directory = …",
            )

    def _write_accounts(self, password: str) -> None:
        """What the server runs when it starts: logins over the network need the password."""
        self._secret.touch(mode=0o600)
        names = ", ".join(f"root@'{host}'" for host in ("127.0.0.1", "::1", "%"))
        self._secret.write_text(
            f"DROP USER IF EXISTS {names};\n"
            f"CREATE USER dsbench@'%' IDENTIFIED BY '{password}';\n"
            "GRANT ALL PRIVILEGES ON *.* TO dsbench@'%' WITH GRANT OPTION;\n"
        )
        if self._user is not None:
            os.chown(self._secret, self._user.uid, self._user.gid)

    def _launch(self, options: list[str]) -> None:
        self._process = Process(
            [self._binaries.server, *options], user=self._user, env=self._env, log=self._log, ending=signal.SIGTERM
        )
        self._folders[0].serves(self._process.pid)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not _READY.search("\n".join(self.log_tail(200))):
            if not self._process.alive or time.monotonic() > deadline:
                why = f"was not ready after {START_TIMEOUT_S:.0f} s" if self._process.alive else "did not start"
                tail = "\n".join(self.log_tail(20))
                raise ServerError(f"{self.version} {why}:\n{tail}", "see its settings, and the memory and space here")
            time.sleep(0.02)
        changed = complaints.changed_values("\n".join(self.log_tail(1000)), self._settings)
        if changed:
            problem = f"{self.version} does not take them as they are: {changed}"
            raise spec.SpecError("--set", problem, "give values that it takes")

    def _note(self, target: spec.Target) -> None:
        self.notes += storage_notes(self.directory)
        asked = {name.lower().replace("-", "_") for name in target.settings}
        for name in ("max_connections", "max_prepared_stmt_count"):
            if name in self._settings and name not in asked:
                self.notes.append(f"{name} was raised to {self._settings[name]} for this load")
        self.notes += complaints.lowered_limits("\n".join(self.log_tail(1000)))
        if self._settings.get("storage_engine", "").lower() == "rocksdb":
            self.notes.append("MyRocks has no foreign keys: none are added, and no transaction checks any")

    def log_tail(self, lines: int = 40) -> list[str]:
        """The last lines of what the server wrote to its standard error."""
        try:
            with self._log.open(errors="replace") as log:
                log.seek(max(0, self._log.stat().st_size - lines * 1024))
                return [line.rstrip("\n") for line in deque(log, maxlen=lines)]
        except OSError:
            return []

    def pids(self) -> list[int]:
        """The server's process and those it started."""
        return [p.pid for p in self._process.family()] if self._process is not None else []

    def stop(self) -> None:
        """An orderly shutdown, then SIGKILL; then the folder goes. Harmless when repeated."""
        if self._process is not None:
            self._process.stop(STOP_PATIENCE_S)
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
    return len(os.fsencode(root / "socket/s")) <= _SOCKET_PATH_BYTES


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _named(user: User | None) -> str:
    return f"the user {user.name}" if user is not None else "this user"
