"""One private server of the MySQL family: what is special about it among private servers."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from dsbench import spec
from dsbench.servers import templates
from dsbench.servers.errors import ServerError
from dsbench.servers.limits import Group
from dsbench.servers.mysql import binaries, complaints, settings
from dsbench.servers.mysql.binaries import MARIADB, Product
from dsbench.servers.ports import network_host
from dsbench.servers.process import run
from dsbench.servers.server import OwnProcess
from dsbench.spec.target import parameters_joined

_ARENAS = "MALLOC_ARENA_MAX"
_READY = re.compile(r"ready for connections", re.IGNORECASE)


def find(product: Product, target: spec.Target) -> binaries.Binaries:
    """The programs that ``target`` asks for. ``spec.SpecError`` or ``ServerError`` where they are not here."""
    home = settings.checked(target.settings, 1).get("basedir")
    return binaries.find(product, target.version, Path(home) if home is not None else None)


class Instance(OwnProcess):
    """A running private MariaDB or MySQL server."""

    START_TIMEOUT_S = 120.0

    def __init__(
        self, product: Product, target: spec.Target, base: Path, connections: int, group: Group | None = None
    ) -> None:
        self._settings = settings.checked(target.settings, connections)
        self._binaries = find(product, target)
        self.version = f"{product.name} {self._binaries.version}"
        self._host = network_host(self._settings.get("bind_address", ""))
        # Another language would change what the programs say.
        env = {"LC_ALL": "C"} | self._allocator(group)
        super().__init__(base, "my", "mysql", ("MYSQL", "MARIADB", "LANG"), env, group)
        self._note(target)

    def _allocator(self, group: Group | None) -> dict[str, str]:
        """MyRocks under a limit of its memory: one arena of glibc.

        Blocks of its cache come from the arena of the thread that reads them, and room that they leave there serves no
        other thread: by default each of the threads, 16 with two CPUs, may keep as much as the whole cache takes.
        """
        limited = group is not None and group.limits.memory is not None
        rocks = self._settings.get("storage_engine", "").lower() == "rocksdb"
        return {_ARENAS: os.environ.get(_ARENAS, "1")} if limited and rocks else {}

    def _furnish(self, root: Path) -> Path:
        self._secret = root / "accounts.sql"
        # A server that starts throws away what others keep in the folder for temporary files.
        self._temporary = self._given_away(root / "tmp")
        self._socket = self._socket_folder(root, "s") / "s"
        self._env["TMPDIR"] = str(self._temporary)
        return self._given_away(root / "data")

    def _start(self) -> None:
        host, password = self._host, secrets.token_urlsafe(24)
        self._check()
        if not self._taken_up:
            self._initialise()
        if host:
            self._write_accounts(password)
        port = self._launch(host, self._settings.get("port", ""))
        self._secret.unlink(missing_ok=True)
        if changed := complaints.changed_values("\n".join(self.log_tail(1000)), self._settings):
            problem = f"{self.version} does not take them as they are: {changed}"
            raise spec.SpecError("--set", problem, "give values that it takes")
        login = f"dsbench:{password}@{host}:{port}" if host else "root@"
        query = {} if host else {"socket": str(self._socket)}
        if engine := self._settings.get("storage_engine"):
            query["storage_engine"] = engine
        scheme = self._binaries.product.key
        self.url = f"{scheme}://{login}/{parameters_joined(query)}"

    def _command(self, port: int) -> list[str | Path]:
        accounts = [f"--init-file={self._secret}"] if self._host else []
        return [self._binaries.server, *self._options(port), *accounts]

    def _options(self, port: int) -> list[str]:
        """What the server is called with, be it to run or to be asked."""
        where = {"datadir": self.directory, "tmpdir": self._temporary, "socket": self._socket}
        result = ["--no-defaults", *self._base(), *(f"--{name}={path}" for name, path in where.items())]
        result += [f"--pid-file={self._socket.with_name('pid')}", "--skip-name-resolve"]
        listen = self._settings.get("bind_address")
        result += [f"--bind-address={listen}", f"--port={port}"] if self._host else ["--skip-networking"]
        if self._binaries.product is MARIADB:
            if self._settings.get("storage_engine", "").lower() == "rocksdb":
                result.append("--plugin-load-add=ha_rocksdb")
        else:
            # The second protocol would take another port; bulk loads travel over the connection.
            result += ["--mysqlx=OFF", "--local-infile=ON"]
        return [*result, *settings.options(self._settings)]

    def _base(self) -> list[str]:
        base = self._binaries.base
        if base is None:
            return []
        messages = next((base / "share").glob("**/english/errmsg.sys"), None)
        return [f"--basedir={base}", *([f"--lc-messages-dir={messages.parent.parent}"] if messages else [])]

    def _check(self) -> None:
        """The server reads its settings and says what it thinks of them, without starting."""
        # MySQL overlooks unknown names when it is asked for help, and wrong values of plugins when not.
        ways = [["--verbose", "--help"], *([["--validate-config"]] if self._binaries.product is not MARIADB else [])]
        asking: list[str | Path] = [self._binaries.server, *self._options(port=0)]
        said = [run([*asking, *way], self._user, self._env).stdout for way in ways]
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
        self._use([program, *options])

    def _write_accounts(self, password: str) -> None:
        """What the server runs when it starts: logins over the network need the password."""
        names = ", ".join(f"root@'{host}'" for host in ("127.0.0.1", "::1", "%"))
        self._write_secret(
            self._secret,
            f"DROP USER IF EXISTS {names};\n"
            f"CREATE USER dsbench@'%' IDENTIFIED BY '{password}';\n"
            "GRANT ALL PRIVILEGES ON *.* TO dsbench@'%' WITH GRANT OPTION;\n",
        )

    def _ready(self) -> bool:
        return _READY.search("\n".join(self.log_tail(200))) is not None

    def _note(self, target: spec.Target) -> None:
        asked = {name.lower().replace("-", "_") for name in target.settings}
        for name in ("max_connections", "max_prepared_stmt_count"):
            if name in self._settings and name not in asked:
                self.notes.append(f"{name} was raised to {self._settings[name]} for this load")
        self.notes += complaints.lowered_limits("\n".join(self.log_tail(1000)))
        if self._settings.get("storage_engine", "").lower() == "rocksdb":
            self.notes.append("MyRocks has no foreign keys: none are added, and no transaction checks any")
        if arenas := self._env.get(_ARENAS):
            self.notes.append(f"the server's allocator has {_ARENAS}={arenas}")
