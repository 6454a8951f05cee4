"""One private server of the MySQL family: what is special about it among private servers."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from dsbench import spec
from dsbench.servers import templates
from dsbench.servers.errors import ServerError
from dsbench.servers.limits import Group
from dsbench.servers.mysql import binaries
from dsbench.servers.mysql.binaries import MARIADB, MySQLBinaries, Product
from dsbench.servers.process import User, network_host, run
from dsbench.servers.server import OwnProcess
from dsbench.servers.settings import LOG, SECOND, SPACE, check_port, raise_max_connections, wrong
from dsbench.spec.target import parameters_joined
from dsbench.spec.tuning import may_be

_ARENAS = "MALLOC_ARENA_MAX"
_LOGS = ("ib_logfile*", "#innodb_redo")
"""What an installer makes of InnoDB's log."""
_WARM = "ib_buffer_pool"
"""The file in which a server that stops notes what its buffer pool holds."""
_READY = re.compile(r": ready for connections", re.IGNORECASE)
"""As the server says it, and not Galera, which is ready before the server has run its init file."""


def find(product: Product, target: spec.Target) -> MySQLBinaries:
    """The programs that ``target`` asks for. ``spec.SpecError`` or ``ServerError`` where they are not here."""
    home = checked(target.settings, 1).get("basedir")
    return binaries.find(product, target.version, Path(home) if home is not None else None)


class MySQLInstance(OwnProcess):
    """A running private MariaDB or MySQL server."""

    START_TIMEOUT_S = 120.0

    def __init__(
        self, product: Product, target: spec.Target, base: Path, connections: int, group: Group | None = None
    ) -> None:
        self._settings = checked(target.settings, connections)
        self._binaries = find(product, target)
        self.version = f"{product.name} {self._binaries.version}"
        self._host = network_host(self._settings.get("bind_address", ""))
        self._password = secrets.token_urlsafe(24)
        # Another language would change what the programs say.
        env = {"LC_ALL": "C"} | self._allocator(group)
        super().__init__(base, "my", "mysql", ("MYSQL", "MARIADB", "LANG"), env, group)
        self._note(target)

    def _forget(self) -> None:
        """The list of pages that the server would read again when it starts."""
        (self.directory / _WARM).unlink(missing_ok=True)

    def _rest(self) -> None:
        """Names its login anew."""
        if self._host:
            self._write_accounts(self._password)

    def _serve_again(self, command: Sequence[str | Path] | None = None) -> None:
        try:
            super()._serve_again(command)
        finally:
            self._secret.unlink(missing_ok=True)

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
        if spaces := [name for name in self._settings if name == SECOND or name.startswith(SPACE)]:
            raise wrong(f"{', '.join(spaces)}: only PostgreSQL has them", "omit it; log_directory moves the log")
        self._make_apart(self._settings)
        return self._given_away(root / "data")

    def _start(self) -> None:
        host, password = self._host, self._password
        _refuse(self._binaries, self._options(port=0), self._settings, self._user, self._env)
        if not self._taken_up:
            self._initialise()
            if LOG in self.apart:
                made = [file for name in _LOGS for file in self.directory.glob(name)]
                self._move(made, self.apart[LOG])
        if host:
            self._write_accounts(password)
        port = self._launch(host, self._settings.get("port", ""))
        self._secret.unlink(missing_ok=True)
        if changed := changed_values("\n".join(self.log_tail(1000)), self._settings):
            problem = f"{self.version} changes these values: {changed}"
            raise spec.SpecError("--set", problem, "specify values that it accepts")
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
        result = ["--no-defaults", *_base(self._binaries), *(f"--{name}={path}" for name, path in where.items())]
        if log := self.apart.get(LOG):
            rocks = self._settings.get("storage_engine", "").lower() == "rocksdb"
            result += [f"--innodb-log-group-home-dir={log}", *([f"--rocksdb-wal-dir={log}"] if rocks else [])]
        result += [f"--pid-file={self._socket.with_name('pid')}", "--skip-name-resolve"]
        listen = self._settings.get("bind_address")
        result += [f"--bind-address={listen}", f"--port={port}"] if self._host else ["--skip-networking"]
        return [*result, *_asked(self._binaries.product, self._settings)]

    def _initialise(self) -> None:
        shape = options(of_the_data(self._settings))
        key = [self._binaries.server, self.version, *shape]
        templates.fill(self.directory, key, self._user, lambda: self._install(shape))
        # MySQL's name of itself, which it makes anew: copies would not replicate from each other.
        (self.directory / "auto.cnf").unlink(missing_ok=True)

    def _install(self, shape: list[str]) -> None:
        options = ["--no-defaults", *_base(self._binaries), f"--datadir={self.directory}", *shape]
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
        self._write_secret(self._secret, self._accounts(password))

    def _accounts(self, password: str) -> str:
        names = ", ".join(f"root@'{host}'" for host in ("127.0.0.1", "::1", "%"))
        return (
            f"DROP USER IF EXISTS {names};\n"
            f"CREATE USER dsbench@'%' IDENTIFIED BY '{password}';\n"
            "GRANT ALL PRIVILEGES ON *.* TO dsbench@'%' WITH GRANT OPTION;\n"
        )

    def _ready(self) -> bool:
        return _READY.search("\n".join(self.log_tail(200))) is not None

    def _note(self, target: spec.Target) -> None:
        asked = {name.lower().replace("-", "_") for name in target.settings}
        for name in ("max_connections", "max_prepared_stmt_count"):
            if name in self._settings and name not in asked:
                self.notes.append(f"{name} was raised to {self._settings[name]} for this load")
        self.notes += lowered_limits("\n".join(self.log_tail(1000)))
        if self._settings.get("storage_engine", "").lower() == "rocksdb":
            self.notes.append("MyRocks has no foreign keys: none are added, and no transaction checks any")
        if arenas := self._env.get(_ARENAS):
            self.notes.append(f"the server's allocator has {_ARENAS}={arenas}")


def refuse(product: Product, target: spec.Target, connections: int) -> None:
    """``spec.SpecError`` or ``ServerError`` where ``target`` cannot be started for so many connections."""
    settings, found = checked(target.settings, connections), find(product, target)
    given = ["--no-defaults", *_base(found), *_asked(product, settings)]
    _refuse(found, given, settings, None, {"LC_ALL": "C"})


def _base(found: MySQLBinaries) -> list[str]:
    if found.base is None:
        return []
    messages = next((found.base / "share").glob("**/english/errmsg.sys"), None)
    return [f"--basedir={found.base}", *([f"--lc-messages-dir={messages.parent.parent}"] if messages else [])]


def _asked(product: Product, settings: Mapping[str, str]) -> list[str]:
    """The options that ``settings`` ask for, after those that dsbench needs to take them."""
    if product is not MARIADB:
        # The second protocol would take another port; bulk loads travel over the connection.
        return ["--mysqlx=OFF", "--local-infile=ON", *options(settings)]
    rocks = settings.get("storage_engine", "").lower() == "rocksdb"
    return [*(["--plugin-load-add=ha_rocksdb"] if rocks else []), *options(settings)]


def _refuse(
    found: MySQLBinaries, given: Sequence[str], settings: Mapping[str, str], user: User | None, env: Mapping[str, str]
) -> None:
    """``SpecError`` where the server does not take ``settings``: it reads them and says so, without starting."""
    # MySQL overlooks unknown names when it is asked for help, and wrong values of plugins when not.
    ways = [["--verbose", "--help"], *([["--validate-config"]] if found.product is not MARIADB else [])]
    said = [run([found.server, *given, *way], user, env).stdout for way in ways]
    if refused := about_settings("\n".join(said), settings):
        version = f"{found.product.name} {found.version}"
        raise spec.SpecError("--set", f"{version} rejects the settings: {refused}",
                             remedy(refused, f"use names and values of my.cnf for {version}"))  # fmt: skip


_ERROR = re.compile(r"\[ERROR\](?: \[[^\]]*\])* (?:\S*(?:mysqld|mariadbd): )?(.*)")
_ADJUSTED = re.compile(r"option '([^']+)': (.* adjusted to .*)")
_LOWERED = re.compile(r"(?:Changed limits|Buffered warning): (?:Changed limits: )?(.*requested.*)")


def about_settings(said: str, settings: Mapping[str, str]) -> str:
    """What the server does not take of ``settings``; empty when it takes them all.

    ``said`` is what it prints when it is asked for help: errors about options and plugins.
    """
    errors = [words for match in _ERROR.finditer(said) if (words := match[1].rstrip(". ")) != "Aborting"]
    return "; ".join(dict.fromkeys([*errors, *filter(None, [changed_values(said, settings)])]))


def changed_values(said: str, settings: Mapping[str, str]) -> str:
    """Values of ``settings`` in place of which the server takes others, because they are out of range."""
    found = [(m[1].replace("-", "_"), m[2].strip()) for m in _ADJUSTED.finditer(said)]
    return "; ".join(dict.fromkeys(f"{name}: {words}" for name, words in found if name in settings))


def lowered_limits(log: str) -> list[str]:
    """Limits that the server lowered, since the system does not let it open as many files."""
    found = dict.fromkeys(match[1].strip() for match in _LOWERED.finditer(log))
    return [f"the server reduced a limit, as it may not open enough files: {words}" for words in found]


def remedy(refused: str, otherwise: str) -> str:
    """What to do about it."""
    if "rocksdb" in refused.lower() and "open shared library" in refused.lower():
        return "install MyRocks: dsbench servers install mariadb"
    return otherwise


DEFAULT_CONNECTIONS = 151
DEFAULT_STATEMENTS = 16_382
STATEMENTS_OF_A_CONNECTION = 16
"""Prepared statements that a connection of the load may hold, with room to spare."""

DSBENCH = ("basedir", "storage_engine", "bind_address", "port", LOG)
"""Settings that dsbench reads itself; the server gets them from it, where it needs them."""

_OWN = (
    "datadir", "socket", "pid_file", "tmpdir", "user", "log_error", "init_file", "initialize", "initialize_insecure",
    "bootstrap", "skip_networking", "defaults_file", "defaults_extra_file", "no_defaults", "daemonize", "chroot",
    "default_storage_engine", "skip_grant_tables", "console", "help", "verbose", "validate_config", "lc_messages",
    "language",
)  # fmt: skip
"""Also as MariaDB and MySQL understand a name: after ``loose_`` and the like, and cut short."""
_SWITCHES = ("log_bin",)
"""Settings whose word is a file's name: as switches they are written with and without ``skip``."""


def checked(settings: Mapping[str, str], connections: int) -> dict[str, str]:
    """``settings`` by name with underscores, with the limits raised that the load needs.

    Raises ``SpecError`` for what the server could not refuse in a message that names it; whether a
    setting exists and its value is possible is for the server to say.
    """
    result = {name.lower().replace("-", "_"): value for name, value in settings.items()}
    for name, value in result.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", name):
            raise wrong(f"{name!r} is not a valid name of a setting", "use the names of my.cnf")
        if name not in DSBENCH and (own := next((one for one in (*_OWN, *DSBENCH) if may_be("mysql", name, one)), "")):
            meant = "" if name == own else f": the server may interpret it as {own}"
            remedy = f"write {own}" if own in DSBENCH else "omit it"
            raise wrong(f"{name} is set by dsbench itself{meant}", remedy)
        if not value.isprintable():
            raise wrong(f"{name} has a value of several lines", "specify it in one line")
    if not re.fullmatch(r"\w*", result.get("storage_engine", ""), re.ASCII):
        raise wrong(f"storage_engine is {result['storage_engine']!r}", "use InnoDB or RocksDB")
    if "port" in result:
        check_port("port", result["port"])
        if "bind_address" not in result:
            remedy = "specify bind_address as well: without it there is only a Unix socket"
            raise wrong("port without bind_address", remedy)
    _raise_limits(result, connections)
    return result


def _raise_limits(settings: dict[str, str], connections: int) -> None:
    needed = raise_max_connections(settings, connections, DEFAULT_CONNECTIONS)
    statements = needed * STATEMENTS_OF_A_CONNECTION
    if statements > DEFAULT_STATEMENTS:
        settings.setdefault("max_prepared_stmt_count", str(min(statements, 1_048_576)))


def options(settings: Mapping[str, str]) -> list[str]:
    """What the server's program is called with; without those that are dsbench's."""
    return [word for name, value in settings.items() if name not in DSBENCH for word in _option(name, value)]


def of_the_data(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that shape a data folder when it is made."""
    shaping = ("innodb_", "lower_case_table_names")
    return {name: value for name, value in settings.items() if name.startswith(shaping)}


def _option(name: str, value: str) -> list[str]:
    option = name.replace("_", "-")
    if name in _SWITCHES and value.lower() in ("on", "off"):
        return [f"--{option}" if value.lower() == "on" else f"--skip-{option}"]
    if name.startswith("skip_") and value.lower() in ("on", "off"):
        return [f"--{option}"] if value.lower() == "on" else []
    return [f"--{option}={value}"]
