"""A private PostgreSQL server with standbys: each a server of its own on this machine, one of which can take over."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from dsbench.dataclass import dataclass
from dsbench.servers.errors import ServerError
from dsbench.servers.folder import PREFIX
from dsbench.servers.limits import Group
from dsbench.servers.postgresql import pooler
from dsbench.servers.postgresql.binaries import PostgresBinaries
from dsbench.servers.postgresql.instance import PostgresInstance, SharedMemory
from dsbench.servers.process import run
from dsbench.servers.replication import Member, Replicated, asked_for
from dsbench.servers.settings import elsewhere, wrong

STANDBYS: Final = "standbys"
_LEVELS: Final = {"off": "", "on": "on", "remote_apply": "remote_apply"}
"""Of ``sync``: the value of ``synchronous_commit`` for commits that wait for a standby."""
_SIGNAL: Final = "standby.signal"
_WAITING: Final = "synchronous_standby_names"
_KEPT_LOG: Final = "1GB"
"""Of its log, so that a standby that was away goes on without a new copy."""
_RETRY: Final = "200ms"
_PROGRAMS: Final = ("pg_basebackup", "pg_ctl", "psql")
_FOLLOWS: Final = "select count(*) from pg_stat_replication where state = 'streaming' and application_name ="
_RECEIVED: Final = "select pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint"


@dataclass(frozen=True)
class Replication:
    """How many standbys a server has, and what its commits wait for."""

    standbys: int
    sync: str
    """Of ``_LEVELS``."""

    @property
    def settings(self) -> dict[str, str]:
        """Those that all its members have."""
        level = {"synchronous_commit": _LEVELS[self.sync]} if self.sync != "off" else {}
        sizes = {"max_wal_senders": str(2 * self.standbys + 4), "wal_keep_size": _KEPT_LOG}
        return {"wal_level": "replica", "hot_standby": "on", "wal_retrieve_retry_interval": _RETRY, **sizes, **level}

    @property
    def waiting(self) -> str:
        """For whom commits of the primary wait."""
        return "*" if self.sync != "off" else ""


def parted(settings: Mapping[str, str]) -> tuple[dict[str, str], Replication | None]:
    """Of ``settings`` those of the servers, and the replication; ``None`` without a standby. ``SpecError`` for what
    cannot be."""
    rest, number, sync = asked_for(settings, STANDBYS, _LEVELS)
    if not number:
        return rest, None
    found = Replication(number, sync)
    for name in (each.lower() for each in rest):
        if name in (_WAITING, "listen_addresses", "port", "primary_conninfo", pooler.SETTING, *elsewhere(settings)):
            raise wrong(f"{name} and {STANDBYS} exclude each other", "omit one of them")
        if name in found.settings:
            raise wrong(f"{name} is set by dsbench for {STANDBYS}", "omit it")
    return {**found.settings, **rest}, found


def check_programs(binaries: PostgresBinaries) -> None:
    """``ServerError`` where a program is missing that makes or asks standbys."""
    missing = [name for name in _PROGRAMS if not binaries.program(name).exists()]
    if missing:
        words = f"{STANDBYS} needs {', '.join(missing)}, which {binaries.folder} does not contain"
        raise ServerError(words, "install the client programs of PostgreSQL, or use another version")


class _Member(PostgresInstance, Member):
    """One of the servers. It is a standby of another one, or the primary."""

    _upstream: PostgresInstance | None = None
    _replication: Replication

    def _initialise(self, password: str) -> None:
        if self._upstream is None:
            super()._initialise(password)
        else:
            self._copy(self._upstream)

    def copy(self, leader: Member) -> None:
        assert isinstance(leader, _Member)
        self._copy(leader)

    def _copy(self, primary: PostgresInstance) -> None:
        for entry in self.directory.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        where = ["-h", str(primary.socket_directory), "-p", str(primary.port), "-U", "postgres", "-w"]
        self._use([self._binaries.program("pg_basebackup"), *where, "-D", self.directory, "-c", "fast", "-X", "stream"])
        self._follow_it(primary)

    def follow(self, leader: Member) -> None:
        assert isinstance(leader, _Member)
        self._follow_it(leader)
        if self.process.alive:
            self._reload()

    def _follow_it(self, primary: PostgresInstance) -> None:
        self._upstream = primary
        host = str(primary.socket_directory).replace("\\", "\\\\").replace("'", "\\'")
        named = f"user=postgres application_name={self._named}"
        self._settings["primary_conninfo"] = f"host='{host}' port={primary.port} {named}"
        self._settings[_WAITING] = ""
        marker = self.directory / _SIGNAL
        marker.touch(mode=0o600)
        self._give(marker)

    @property
    def _named(self) -> str:
        """What its primary calls it."""
        return self.directory.parent.name.removeprefix(PREFIX)

    def _reload(self) -> None:
        """Has it read its settings again, where it runs."""
        self._write_settings(self._launched[1])
        if self.process.alive:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGHUP)

    def received(self) -> int:
        return self._ask(_RECEIVED)

    def follows(self, leader: Member) -> bool:
        assert isinstance(leader, _Member)
        return leader._ask(f"{_FOLLOWS} '{self._named}'") == 1

    def _ask(self, query: str) -> int:
        where = ["-h", str(self.socket_directory), "-p", str(self.port), "-U", "postgres", "-w"]
        said = run([self._binaries.program("psql"), *where, "-XAtc", query], self._user, self._env)
        return int(said.stdout) if said.returncode == 0 and said.stdout.strip().isdecimal() else 0

    def promote(self, *, others: bool) -> None:
        self.wait_for(others=others)
        self._use([self._binaries.program("pg_ctl"), "promote", "-D", self.directory, "-w"])
        self._upstream = None

    def end(self, *, kill: bool) -> None:
        super().end(kill=kill)
        if kill and self._memory is not None:  # Its folder may be replaced, and with it the note of what it held.
            self._memory.remove()

    def begin_again(self) -> None:
        # What it launches with is in its file of settings.
        super().begin_again()
        self._memory = SharedMemory.held(self.process.pid, PostgresInstance.pids(self))

    def wait_for(self, *, others: bool) -> None:
        self._settings[_WAITING] = self._replication.waiting if others else ""
        self._reload()


class _Standby(_Member):
    def __init__(
        self, primary: PostgresInstance, binaries: PostgresBinaries, base: Path, settings: Mapping[str, str],
        connections: int, replication: Replication, group: Group | None,
    ) -> None:  # fmt: skip
        self._upstream, self._replication = primary, replication
        super().__init__(binaries, base, settings, connections, group)


class ReplicatedPostgres(Replicated, _Member):
    """A primary and its standbys."""

    SETTING, NAME = STANDBYS, "standby"

    def __init__(
        self, binaries: PostgresBinaries, base: Path, settings: Mapping[str, str], connections: int,
        replication: Replication, grouped: Callable[[], Group | None],
    ) -> None:  # fmt: skip
        self._replication = replication
        self._grouped, self._asked, self._connections, self._base = grouped, dict(settings), connections, base
        self._lead()
        super().__init__(binaries, base, settings, connections, grouped())

    @property
    def following(self) -> dict[str, str]:
        others = [one for one in self._members if one is not self._leader and isinstance(one, _Member)]
        places = {one._named: f"host={quote(str(one.socket_directory), safe='/')}&port={one.port}" for one in others}
        return {name: f"postgresql://postgres@/postgres?{place}" for name, place in places.items()}

    def _start(self) -> None:
        super()._start()
        made = self._replication
        members: list[_Member] = [self]
        for _ in range(made.standbys):
            members.append(
                _Standby(self, self._binaries, self._base, self._asked, self._connections, made, self._grouped())
            )
            self._others.append(members[-1])
        self._wait()
        hosts, ports = zip(*((str(one.socket_directory), str(one.port)) for one in members), strict=True)
        place = ",".join(quote(host, safe="/") for host in hosts)
        wanted = "target_session_attrs=read-write"
        self.url = f"postgresql://postgres@/postgres?host={place}&port={','.join(ports)}&{wanted}"
        how = {"off": "asynchronous", "on": "synchronous", "remote_apply": "synchronous, applied"}
        self._note_others(how[made.sync])
