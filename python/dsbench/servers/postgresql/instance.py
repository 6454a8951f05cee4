"""One PostgreSQL cluster: what is special about it among private servers."""

from __future__ import annotations

import contextlib
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from dsbench import spec
from dsbench.dataclass import dataclass
from dsbench.servers import templates
from dsbench.servers.errors import ServerError
from dsbench.servers.limits import Group
from dsbench.servers.pages import LetGo
from dsbench.servers.postgresql import pooler, second
from dsbench.servers.postgresql.binaries import PostgresBinaries
from dsbench.servers.process import Process, User, network_host, run
from dsbench.servers.server import OwnProcess
from dsbench.servers.settings import LOG, SECOND, SPACE, check_port, elsewhere, raise_max_connections, wrong

_SYNCHRONOUS = "synchronous_standby_names"
_OWN = "\n# Settings of dsbench\n"


class PostgresInstance(OwnProcess):
    """A running private PostgreSQL server."""

    ENDING = (signal.SIGINT, signal.SIGQUIT)
    """Fast shutdown, which writes a checkpoint, then an immediate one."""

    def __init__(
        self, binaries: PostgresBinaries, base: Path, settings: Mapping[str, str], connections: int,
        group: Group | None = None,
    ) -> None:  # fmt: skip
        self.version = f"PostgreSQL {binaries.version}"
        self._binaries = binaries
        self._places, self._settings, pooling = parted(settings, connections)
        self._memory: SharedMemory | None = None
        self._second: second.SecondLog | None = None
        self._pooling = pooling
        self.pooler = pooling.version if pooling is not None else ""
        self._pooler: pooler.Pooler | None = None
        # Another language would change what the programs say.
        super().__init__(base, "pg", "postgres", ("PG", "LANG"), {"LC_ALL": "C"}, group)
        if "max_connections" in self._settings and "max_connections" not in {name.lower() for name in settings}:
            self.notes.append(f"max_connections was raised to {self._settings['max_connections']} for this load")

    def _furnish(self, root: Path) -> Path:
        self._secret = root / "password"
        self._socket_directory = self._socket_folder(root, "pooler/.s.PGSQL.65535")
        self._make_apart({name: str(path) for name, path in self._places.items()})
        return self._given_away(root / "data")

    def _start(self) -> None:
        host = network_host(self._settings.get("listen_addresses", ""))
        password = secrets.token_urlsafe(24) if host else ""
        if not self._taken_up:
            self._initialise(password)
            self._place_apart()
        port = self._launch(host, self._settings.get("port", ""))
        assert self._process is not None
        if SECOND in self.apart:
            self._write_twice(port)
        self._memory = SharedMemory.held(self._process.pid, self.pids())
        if host:
            self.url = f"postgresql://postgres:{password}@{host}:{port}/postgres"
        else:
            place = quote(str(self._pool(port)), safe="/")
            self.url = f"postgresql://postgres@/postgres?host={place}&port={port}"

    def _initialise(self, password: str) -> None:
        options = ["--username=postgres", "--encoding=UTF8", "--locale=C", "--auth-local=trust"]
        # Locale C: sorting must not depend on the language of the machine. Host logins need the password.
        options.append(f"--auth-host={'scram-sha-256' if password else 'reject'}")
        if password:
            self._write_secret(self._secret, password)
            self._initdb([*options, f"--pwfile={self._secret}"])
            with (self.directory / "pg_hba.conf").open("a") as hba:
                hba.write("host all all all scram-sha-256\n")
        else:
            key = [self._binaries.folder, self.version, *options]
            templates.fill(self.directory, key, self._user, lambda: self._initdb(options))

    def _place_apart(self) -> None:
        """Moves the log, and makes the tablespaces, where settings name folders for them."""
        for setting, path in self.apart.items():
            if setting == SECOND:
                continue
            if setting == LOG:
                log = self.directory / "pg_wal"
                self._move([log], path)
                log.symlink_to(path / log.name)
            else:
                place = str(path).replace("'", "''")
                self._tell(f"CREATE TABLESPACE {setting.removeprefix(SPACE)} LOCATION '{place}'")

    def _write_twice(self, port: int) -> None:
        """Starts the second copy of the log, which the server sends everything that it writes to its own."""
        program = self._binaries.program(second.PROGRAM)
        where = ["-h", str(self._socket_directory), "-p", str(port), "-U", "postgres", "-w", "--slot", second.SLOT]
        self._use([program, *where, "--create-slot", "--if-not-exists"])
        command: list[str | Path] = [program, *where, "--synchronous", "--no-loop", "-D", self.apart[SECOND]]

        def start(out: Path) -> Process:
            return Process(command, user=self._user, env=self._env, log=out, ending=second.ENDING, group=self._group)

        out = self.directory.parent / "second.log"
        self._second = second.SecondLog(start, self.apart[SECOND], self.directory / "pg_wal", out)

    def _pool(self, port: int) -> Path:
        """The folder of the socket for clients: the pooler's, which is started, or that of the server."""
        if self._pooling is None:
            return self._socket_directory

        def start(command: list[str | Path], out: Path) -> Process:
            return Process(command, user=self._user, env=self._env, log=out, ending=pooler.ENDING, group=self._group)

        folder = self._given_away(self._socket_directory / "pooler")
        self._pooler = pooler.Pooler(self._pooling, start, folder)
        return self._pooler.serve(self._socket_directory, port, self._write_secret)

    def restart(self) -> LetGo:
        """As that of every server, without a second copy of the log: that begins before the server it copies."""
        if self._second is not None:
            raise ServerError(f"a server with {SECOND} is not started again", f"omit {SECOND}")
        if self._pooler is not None:
            self._pooler.stop()
        gone = super().restart()
        assert self._process is not None
        self._pool(self._launched[1])
        self._memory = SharedMemory.held(self._process.pid, self.pids())
        return gone

    def start_again(self, *, kill: bool, within_s: float = 0.0) -> None:
        """As that of every server, without a second copy of the log. A pooler before it goes on."""
        if self._second is not None:
            raise ServerError(f"a server with {SECOND} is not started again", f"omit {SECOND}")
        super().start_again(kill=kill, within_s=within_s)
        assert self._process is not None
        self._memory = SharedMemory.held(self._process.pid, super().pids())

    def pids(self) -> list[int]:
        """Also those of the pooler, and of what writes the second copy of the log."""
        return super().pids() + [pid for one in (self._pooler, self._second) if one is not None for pid in one.pids()]

    def ended(self) -> list[ServerError]:
        """Also the pooler, and what writes the second copy of the log."""
        beside = [one.ended() for one in (self._pooler, self._second) if one is not None]
        return super().ended() + [found for found in beside if found is not None]

    def _tell(self, sql: str) -> None:
        """Runs a statement before the server starts. ``ServerError`` with what it says where it fails."""
        file = self.directory.parent / "statement.sql"
        self._write_secret(file, sql + "\n")
        server: list[str | Path] = [self._binaries.program("postgres"), "--single", "-D", self.directory, "postgres"]
        with file.open() as given:
            said = run(server, self._user, self._env, given).stdout
        file.unlink()
        if "ERROR:" in said or "FATAL:" in said:
            raise ServerError(f"{self.version}: {sql}: {_complaint(said)}", "specify other folders for the tablespaces")

    def _initdb(self, options: list[str]) -> None:
        try:
            self._use([self._binaries.program("initdb"), "-D", self.directory, *options])
        finally:
            self._secret.unlink(missing_ok=True)

    def _command(self, port: int) -> list[str | Path]:
        own = self._write_settings(port)
        refuse(self._binaries, own, self._user, self._env)
        return [self._binaries.program("postgres"), "-D", self.directory]

    def _write_settings(self, port: int) -> dict[str, str]:
        """Writes those of this run to ``postgresql.conf``, and gives them."""
        own = {"listen_addresses": "", **self._settings, "port": str(port)}
        if SECOND in self._places:
            own[_SYNCHRONOUS] = second.PROGRAM
        own["unix_socket_directories"] = str(self._socket_directory)
        path = self.directory / "postgresql.conf"
        # Of a cluster that was kept only what initdb wrote stays: settings are those of this run.
        path.write_text(path.read_text().partition(_OWN)[0] + _OWN + conf(own))
        return own

    def _ready(self) -> bool:
        """Line 8 of ``postmaster.pid`` tells, without a session that would be counted."""
        try:
            lines = (self.directory / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        own = self._process is not None and lines[:1] == [str(self._process.pid)]
        return own and len(lines) >= 8 and lines[7].strip() == "ready"

    @property
    def socket_directory(self) -> Path:
        """Where its own socket lies, whatever is before it."""
        return self._socket_directory

    @property
    def port(self) -> int:
        """The number in the name of its socket."""
        return self._launched[1]

    def stop(self) -> None:
        """Also removes what a killed server left in shared memory."""
        if self._pooler is not None:
            self._pooler.stop()
        if self._second is not None:
            if self._process is not None:
                self._process.stop(self.PATIENCE_S, *self.ENDING[1:])
            self._second.stop()
        known = [self._memory] if self._memory is not None else []
        if self.is_running and self._process is not None:  # It may have begun again, and not have been ready in time.
            known.append(SharedMemory.held(self._process.pid, super().pids()))
        super().stop()
        for memory in known:
            memory.remove()


def refuse(binaries: PostgresBinaries, settings: Mapping[str, str], user: User | None, env: Mapping[str, str]) -> None:
    """``SpecError`` where the server does not take ``settings``: it reads them and says so, without starting."""
    given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    # No configuration file is read, and any folder will do. With -C as its first option it also answers root.
    ask = ["-C", "port", "-D", "/", "-c", "config_file=/dev/null", *given]
    said = run([binaries.program("postgres"), *ask], user, env)
    if said.returncode != 0:
        product = f"PostgreSQL {binaries.version}"
        problem = f"{product} rejects the settings: {_complaint(said.stdout)}"
        raise spec.SpecError("--set", problem, f"use names and values of postgresql.conf for {product}")


def _complaint(said: str) -> str:
    """What the server says is wrong, without times and process ids."""
    return "; ".join(re.findall(r"(?:FATAL|ERROR|HINT|DETAIL):\s+(.*)", said) or [said.strip()])


DEFAULT_CONNECTIONS = 100

_OWN_SETTINGS = {
    "data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "unix_socket_directories",
    "unix_socket_permissions", "unix_socket_group", "logging_collector", "log_destination",
}  # fmt: skip
_DIRECTIVES = {"include", "include_dir", "include_if_exists"}


def parted(
    settings: Mapping[str, str], connections: int
) -> tuple[dict[str, Path], dict[str, str], pooler.Pooling | None]:
    """Of ``settings`` the folders ``elsewhere``, those of the server, ``checked``, and the pooler before it."""
    settings, pooled = pooler.parted(settings)
    pooling = pooler.planned(pooled, connections) if pooled is not None else None
    connections = pooling.sessions(connections) if pooling is not None else connections
    places = elsewhere(settings)
    own = checked({name: value for name, value in settings.items() if name.lower() not in places}, connections)
    if SECOND in places and _SYNCHRONOUS in own:
        raise wrong(f"{_SYNCHRONOUS} and {SECOND} exclude each other", "omit one of them")
    if pooling is not None and own.get("listen_addresses"):
        raise wrong(f"{pooler.SETTING} and listen_addresses exclude each other", "omit one of them")
    return places, own, pooling


def checked(settings: Mapping[str, str], connections: int) -> dict[str, str]:
    """``settings`` by name in lower case, with ``max_connections`` raised where the load needs it.

    Raises ``SpecError`` for what the server could not refuse in a message that names it; whether a
    setting exists and its value is possible is for the server to say.
    """
    result = {name.lower(): value for name, value in settings.items()}
    for name, value in result.items():
        if not re.fullmatch(r"[a-z_][a-z0-9_$]*(\.[a-z_][a-z0-9_$]*)*", name) or name in _DIRECTIVES:
            raise wrong(f"{name!r} is not a valid name of a setting", "use the names of postgresql.conf")
        if name in _OWN_SETTINGS:
            raise wrong(f"{name} is set by dsbench itself", "omit it")
        if name == "port":
            check_port(name, value)
        if "\n" in value or "\r" in value:
            raise wrong(f"{name} has a value of several lines", "specify it in one line")
    raise_max_connections(result, connections, DEFAULT_CONNECTIONS)
    return result


def conf(settings: Mapping[str, str]) -> str:
    """Lines for the end of ``postgresql.conf``."""
    lines = [f"{name} = '{_quoted(value)}'" for name, value in settings.items()]
    return "\n".join(["", "# set by dsbench", *lines, ""])


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


_LIST = (0x9A503D32).to_bytes(4, sys.byteorder)
"""What the list of its segments of shared memory begins with (``PG_DYNSHMEM_CONTROL_MAGIC``)."""


@dataclass(frozen=True)
class SharedMemory:
    """Segments held by a server: files of POSIX shared memory, and ids of System V segments."""

    server: int
    """Process id of the postmaster, which the kernel notes as creator of its System V segment."""
    files: frozenset[Path]
    segments: frozenset[int]

    @classmethod
    def held(cls, server: int, family: Iterable[int]) -> SharedMemory:
        """What the processes ``family`` of the postmaster ``server`` map now; nothing where the system does not say."""
        maps = ""
        for pid in family:
            with contextlib.suppress(OSError):
                maps += Path(f"/proc/{pid}/maps").read_text()
        files = re.findall(r" (/dev/shm/PostgreSQL\.\d+)$", maps, re.MULTILINE)
        segments = re.findall(r" (\d+) +/SYSV[0-9a-f]{8} ", maps)
        return cls(server, frozenset(Path(f) for f in files), frozenset(int(s) for s in segments))

    def remove(self) -> None:
        """Removes what is still there, with what the server made since. It must have ended."""
        for file in self.files | self._listed():
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        for segment in self.segments & self._made():
            with contextlib.suppress(OSError):
                subprocess.run(["ipcrm", "-m", str(segment)], capture_output=True, check=False)

    def _listed(self) -> set[Path]:
        """Files whose numbers are in the list that the server keeps of its segments, in one of them (dsm.c)."""
        numbers = set[int]()
        for file in self.files:
            with contextlib.suppress(OSError):
                if (content := file.read_bytes()).startswith(_LIST):
                    # Which words are numbers depends on the version; one that is none is the name of no file.
                    numbers.update(memoryview(content[: len(content) // 4 * 4]).cast("I"))
        names = {f"PostgreSQL.{number}" for number in numbers if number}
        return {file for file in Path("/dev/shm").glob("PostgreSQL.*") if file.name in names}

    def _made(self) -> set[int]:
        """Segments that the server made, by the kernel's word; an id may have been given to somebody else since.

        Children that have not ended yet keep theirs: the kernel frees it with the last of them.
        """
        try:
            rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()]
        except OSError:
            return set()
        creator, segment = rows[0].index("cpid"), rows[0].index("shmid")
        return {int(row[segment]) for row in rows[1:] if int(row[creator]) == self.server}
