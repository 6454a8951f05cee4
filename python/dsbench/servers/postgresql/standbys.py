"""A private PostgreSQL server with standbys: each a server of its own on this machine, one of which can take over."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from dsbench.dataclass import dataclass
from dsbench.servers.errors import ServerError
from dsbench.servers.limits import Group
from dsbench.servers.pages import LetGo
from dsbench.servers.postgresql import pooler
from dsbench.servers.postgresql.binaries import PostgresBinaries
from dsbench.servers.postgresql.instance import PostgresInstance, SharedMemory
from dsbench.servers.process import run
from dsbench.servers.settings import elsewhere, wrong

STANDBYS: Final = "standbys"
SYNC: Final = "sync"
_LEVELS: Final = {"off": "", "on": "on", "remote_apply": "remote_apply"}
"""Of ``sync``: the value of ``synchronous_commit`` for commits that wait for a standby."""
_MOST: Final = 8
_SIGNAL: Final = "standby.signal"
_WAITING: Final = "synchronous_standby_names"
_KEPT_LOG: Final = "1GB"
"""Of its log, so that a standby that was away goes on without a new copy."""
_RETRY: Final = "200ms"
_FOLLOWS_S: Final = 60.0
_LOOK_S: Final = 0.1
_PROGRAMS: Final = ("pg_basebackup", "pg_ctl", "psql")
_FOLLOWERS: Final = "select count(*) from pg_stat_replication where state = 'streaming'"
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
    given = {name.lower(): value for name, value in settings.items()}
    rest = {name: value for name, value in settings.items() if name.lower() not in (STANDBYS, SYNC)}
    number, sync = given.get(STANDBYS, "0"), given.get(SYNC, "off")
    if not number.isdecimal() or int(number[:3]) > _MOST:
        raise wrong(f"{STANDBYS} is {number!r}", f"use a number from 1 to {_MOST}, or omit it")
    if sync not in _LEVELS:
        raise wrong(f"{SYNC} is {sync!r}", f"use {', '.join(_LEVELS)}")
    if not int(number):
        if SYNC in given:
            raise wrong(f"{SYNC} has no effect without {STANDBYS}", f"add {STANDBYS}=1, or omit {SYNC}")
        return rest, None
    found = Replication(int(number), sync)
    for name in given:
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


class _Member(PostgresInstance):
    """One of the servers. It is a standby of another one, or the primary."""

    _upstream: PostgresInstance | None = None

    def _initialise(self, password: str) -> None:
        if self._upstream is None:
            super()._initialise(password)
        else:
            self.copy(self._upstream)

    def copy(self, primary: PostgresInstance) -> None:
        """Makes its data a copy of those of ``primary``, in place of what was there."""
        for entry in self.directory.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        where = ["-h", str(primary.socket_directory), "-p", str(primary.port), "-U", "postgres", "-w"]
        self._use([self._binaries.program("pg_basebackup"), *where, "-D", self.directory, "-c", "fast", "-X", "stream"])
        self.follow(primary)

    def follow(self, primary: PostgresInstance) -> None:
        """It is a standby of ``primary`` when it starts, or reads its settings again."""
        self._upstream = primary
        host = str(primary.socket_directory).replace("\\", "\\\\").replace("'", "\\'")
        named = f"user=postgres application_name={self.directory.parent.name}"
        self._settings["primary_conninfo"] = f"host='{host}' port={primary.port} {named}"
        self._settings[_WAITING] = ""
        marker = self.directory / _SIGNAL
        marker.touch(mode=0o600)
        self._give(marker)

    def reload(self) -> None:
        """Has it read its settings again, where it runs."""
        assert self._process is not None
        self._write_settings(self._launched[1])
        if self._process.alive:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGHUP)

    def received(self) -> int:
        """Bytes of the log that a standby has received; 0 where it does not tell."""
        return self._ask(_RECEIVED)

    def followers(self) -> int:
        """Standbys that follow it, all of its log sent."""
        return self._ask(_FOLLOWERS)

    def _ask(self, query: str) -> int:
        where = ["-h", str(self.socket_directory), "-p", str(self.port), "-U", "postgres", "-w"]
        said = run([self._binaries.program("psql"), *where, "-XAtc", query], self._user, self._env)
        return int(said.stdout) if said.returncode == 0 and said.stdout.strip().isdecimal() else 0

    def promote(self) -> None:
        """Makes a standby the primary; returns when it takes writes."""
        self._use([self._binaries.program("pg_ctl"), "promote", "-D", self.directory, "-w"])
        self._upstream = None

    def end(self, *, kill: bool) -> None:
        """Stops it in order, or kills it."""
        assert self._process is not None
        if kill:
            self._process.kill()
            if self._memory is not None:  # Its folder may be replaced, and with it the note of what it held.
                self._memory.remove()
        else:
            self._process.stop(self.PATIENCE_S, *self.ENDING[1:])

    def begin_again(self) -> None:
        """Starts it with its settings as they are now."""
        self._serve_again()
        assert self._process is not None
        self._memory = SharedMemory.held(self._process.pid, PostgresInstance.pids(self))

    def wait_for(self, names: str) -> None:
        """For which standbys commits wait."""
        self._settings[_WAITING] = names
        self.reload()


class _Standby(_Member):
    def __init__(
        self, primary: PostgresInstance, binaries: PostgresBinaries, base: Path, settings: Mapping[str, str],
        connections: int, group: Group | None,
    ) -> None:  # fmt: skip
        self._upstream = primary
        super().__init__(binaries, base, settings, connections, group)


class ReplicatedPostgres(_Member):
    """A primary and its standbys. What is done to a server is done to the one that is the primary now."""

    restarts = False

    def __init__(
        self, binaries: PostgresBinaries, base: Path, settings: Mapping[str, str], connections: int,
        replication: Replication, grouped: Callable[[], Group | None],
    ) -> None:  # fmt: skip
        self._replication = replication
        self._standbys: list[_Standby] = []
        self._leader: _Member = self
        self._away: list[tuple[_Member, bool]] = []
        """Those that were the primary, and whether they were killed."""
        self._grouped, self._asked, self._connections, self._base = grouped, dict(settings), connections, base
        super().__init__(binaries, base, settings, connections, grouped())

    def _start(self) -> None:
        super()._start()
        made = self._replication
        for _ in range(made.standbys):
            self._standbys.append(
                _Standby(self, self._binaries, self._base, self._asked, self._connections, self._grouped())
            )
        self._wait(lambda: None)
        hosts, ports = zip(*((str(one.socket_directory), str(one.port)) for one in self._members), strict=True)
        place = ",".join(quote(host, safe="/") for host in hosts)
        wanted = "target_session_attrs=read-write"
        self.url = f"postgresql://postgres@/postgres?host={place}&port={','.join(ports)}&{wanted}"
        how = {"off": "asynchronous", "on": "synchronous", "remote_apply": "synchronous, applied"}[made.sync]
        words = f"{made.standbys} {how} standby{'s' * (made.standbys > 1)} on this machine"
        self.notes.append(f"{words}: CPU time and transfers of the server include theirs")

    @property
    def _members(self) -> list[_Member]:
        return [self, *self._standbys]

    def switch_over(self) -> None:
        """Stops the primary in order, once its standbys have all of its log, and promotes one of them."""
        self._hand_over(kill=False)

    def fail_over(self) -> None:
        """Kills the primary and promotes the standby that has most of its log."""
        self._hand_over(kill=True)

    def _hand_over(self, *, kill: bool) -> None:
        old, away = self._leader, [one for one, _ in self._away]
        left = [one for one in self._members if one is not old and one not in away]
        if not left:
            raise ServerError("no standby is left to take over", f"write {STANDBYS}={len(away) + 1}")
        old.end(kill=kill)
        self._away.append((old, kill))
        new = max(left, key=_Member.received) if len(left) > 1 else left[0]
        others = [one for one in left if one is not new]
        # As a manager does: whoever is gone must not be waited for.
        new.wait_for(self._replication.waiting if others else "")
        new.promote()
        self._leader = new
        for one in others:
            one.follow(new)
            one.reload()

    def settle(self, check: Callable[[], None] = lambda: None) -> None:
        """Has each server that was the primary come back as a standby, after a failover with a new copy. ``check``
        raises where nobody waits for it."""
        while self._away:
            old, wiped = self._away[0]
            if not wiped:
                old.follow(self._leader)
                old.begin_again()
            if wiped or not self._streams(len(self._members) - len(self._away), check):
                # Its log has gone another way.
                old.end(kill=True)
                old.copy(self._leader)
                old.begin_again()
            self._away.pop(0)
        self._wait(check)

    def _wait(self, check: Callable[[], None]) -> None:
        """Until all standbys have the log as it is written; commits wait for them from then on."""
        if not self._streams(self._replication.standbys, check):
            tail = "\n".join(line for one in self._standbys for line in one.log_tail(10))
            raise ServerError(f"a standby of {self.version} does not follow:\n{tail}", "repeat the run")
        self._leader.wait_for(self._replication.waiting)

    def _streams(self, number: int, check: Callable[[], None]) -> bool:
        """Whether so many standbys follow the primary, within a time."""
        give_up = time.monotonic() + _FOLLOWS_S
        while self._leader.followers() < number:
            check()
            if time.monotonic() > give_up:
                return False
            time.sleep(_LOOK_S)
        return True

    def start_again(self, *, kill: bool, within_s: float = 0.0) -> None:
        if self._leader is self:
            super().start_again(kill=kill, within_s=within_s)
        else:
            self._leader.start_again(kill=kill, within_s=within_s)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        with super().suspended() if self._leader is self else self._leader.suspended():
            yield

    def restart(self) -> LetGo:
        raise ServerError("a server with standbys is not started again cold", f"omit {STANDBYS}")

    def keep(self) -> None:
        raise ServerError("data with standbys lies in several places and cannot be kept", f"omit {STANDBYS}")

    def pids(self) -> list[int]:
        """Those of all members."""
        return [*super().pids(), *(pid for one in self._standbys for pid in one.pids())]

    def ended(self) -> list[ServerError]:
        return [*super().ended(), *(found for one in self._standbys for found in one.ended())]

    def stop(self) -> None:
        """The primary first, where it waits for no standby."""
        for one in [self._leader, *(one for one in self._standbys if one is not self._leader)]:
            if one is not self:
                one.stop()
        super().stop()

