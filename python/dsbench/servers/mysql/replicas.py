"""A private MariaDB server with replicas: each a server of its own on this machine, one of which can take over."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from dsbench import spec
from dsbench.dataclass import dataclass
from dsbench.servers.errors import ServerError
from dsbench.servers.limits import Group
from dsbench.servers.mysql.asked import CLIENT, LOOPBACK, AskedMember, MariaDBGroup, program
from dsbench.servers.mysql.binaries import MARIADB, MySQLBinaries
from dsbench.servers.mysql.instance import find
from dsbench.servers.replication import Member, asked_for
from dsbench.servers.settings import elsewhere, wrong

REPLICAS: Final = "replicas"
_LEVELS: Final = ("off", "on")
_BACKUP: Final = "mariadb-backup"
_SETTINGS: Final = {
    "log_bin": "binlog", "relay_log": "relay", "log_slave_updates": "on", "binlog_format": "row",
    "gtid_strict_mode": "on", "skip_slave_start": "on",
}  # fmt: skip
_WAIT: Final = {"rpl_semi_sync_master_wait_point": "after_sync", "rpl_semi_sync_master_timeout": "86400000"}
"""A commit is acknowledged by a replica before other sessions see it, and is never let go without."""
_PATIENCE_S: Final = 120
"""For a replica to receive all of the log, and to apply it."""
_RETRY_S: Final = 1
_GTID: Final = re.compile(r"\d+-\d+-(\d+)")
_OF_BACKUP: Final = ("mariadb_backup_binlog_info", "xtrabackup_binlog_info")
"""Files in which a copy says where in the log it was made."""


@dataclass(frozen=True)
class Replication:
    """How many replicas a server has, and whether its commits wait for one."""

    replicas: int
    waits: bool


def parted(settings: Mapping[str, str]) -> tuple[dict[str, str], Replication | None]:
    """Of ``settings`` those of the servers, and the replication; ``None`` without a replica. ``SpecError`` for what
    cannot be."""
    rest, number, sync = asked_for(settings, REPLICAS, _LEVELS)
    if not number:
        return rest, None
    for name in (each.lower().replace("-", "_") for each in rest):
        if name in ("server_id", "port", "read_only", "bind_address", "skip_networking", *elsewhere(settings)):
            raise wrong(f"{name} and {REPLICAS} exclude each other", "omit one of them")
        if name in _SETTINGS or name in _WAIT or name.startswith("rpl_semi_sync"):
            raise wrong(f"{name} is set by dsbench for {REPLICAS}", "omit it")
    waits = sync == "on"
    more = {**_SETTINGS, **(_WAIT if waits else {})}
    # A replica reaches its primary over the network only.
    return {"bind_address": LOOPBACK, **more, **rest}, Replication(number, waits)


def check_programs(found: MySQLBinaries) -> None:
    """``ServerError`` where a program is missing that makes or asks replicas."""
    if missing := [name for name in (CLIENT, _BACKUP) if program(found, name) is None]:
        remedy = "install them: apt-get install mariadb-client mariadb-backup; or add their folder to PATH"
        raise ServerError(f"{REPLICAS} needs {' and '.join(missing)}, which cannot be found", remedy)


class _Member(AskedMember):
    """One of the servers. It is a replica of another one, or the primary."""

    UNLOGGED = "SET SESSION sql_log_bin=0"

    _upstream: _Member | None = None
    _replication: Replication
    _number: int
    """Its server_id."""
    _waits = False
    """Whether its commits wait for a replica now."""
    _copied_at: str | None = None
    """Up to where it has the log of its primary, where its data is a copy."""

    def _options(self, port: int) -> list[str]:
        read_only = ["--read-only=ON"] if self._upstream is not None else []
        waits = f"--rpl-semi-sync-master-enabled={'ON' if self._waits else 'OFF'}"
        acknowledges = f"--rpl-semi-sync-slave-enabled={'ON' if self._replication.waits else 'OFF'}"
        return [*super()._options(port), f"--server-id={self._number}", *read_only, waits, acknowledges]

    def _state(self, name: str) -> str:
        """A word of what it says of itself as a replica. ``ServerError`` where it is none."""
        found = re.search(rf"^ *{name}: (.*)$", self.sql("SHOW SLAVE STATUS\\G", names=True), re.MULTILINE)
        if found is None:
            raise ServerError(f"a replica of {self.version} says no {name} of itself", "see its log")
        return found[1].strip()

    def follow(self, leader: Member) -> None:
        assert isinstance(leader, _Member)
        self._upstream, self._waits = leader, False
        if self.process.alive:
            self.sql("SET GLOBAL read_only=ON; STOP SLAVE;")
            self._take_up(leader)

    def _take_up(self, leader: _Member, begin: str = "") -> None:
        """Reads the log of ``leader`` on from where it is."""
        self.sql(
            f"{begin}CHANGE MASTER TO MASTER_HOST='{LOOPBACK}', MASTER_PORT={leader.port}, MASTER_USER='dsbench', "
            f"MASTER_PASSWORD='{leader._password}', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY={_RETRY_S};"
            "START SLAVE;"
        )

    def copy(self, leader: Member) -> None:
        assert isinstance(leader, _Member)
        backup = program(self._binaries, _BACKUP)
        assert backup is not None
        made = self._given_away(self._folders[0].path / "copy")
        tool: list[str | Path] = [backup, "--no-defaults", f"--target-dir={made}"]
        self._use([*tool, "--backup", "--user=root", f"--socket={leader._socket}", f"--datadir={leader.directory}"])
        self._use([*tool, "--prepare"])
        said = next((made / name for name in _OF_BACKUP if (made / name).exists()), None)
        words = said.read_text().split() if said is not None else []
        self._copied_at = words[2] if len(words) > 2 else ""
        for entry in self.directory.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        self._use([*tool, "--move-back", f"--datadir={self.directory}"])
        shutil.rmtree(made)
        self._upstream, self._waits = leader, False

    def begin_again(self) -> None:
        super().begin_again()
        if self._upstream is not None:
            copied, self._copied_at = self._copied_at, None
            # It goes on where it was the primary, or where it was copied.
            at = "@@gtid_binlog_pos" if copied is None else f"'{copied}'"
            self._take_up(self._upstream, f"STOP SLAVE; SET GLOBAL gtid_slave_pos = {at}; ")

    def follows(self, leader: Member) -> bool:
        assert isinstance(leader, _Member)
        running = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'SLAVE_RUNNING'"
        try:
            position = leader.sql("SELECT @@gtid_binlog_pos")
            return self.sql(f"SELECT MASTER_GTID_WAIT('{position}', 0); {running}").split() == ["0", "ON"]
        except ServerError:  # it has ended
            return False

    def received(self) -> int:
        with suppress(ServerError):
            if found := _GTID.search(self._state("Gtid_IO_Pos")):
                return int(found[1])
        return 0

    def applied(self) -> str:
        with suppress(ServerError):
            return self.sql("SELECT @@gtid_slave_pos")
        return ""

    def promote(self, *, others: bool) -> None:
        self.sql("STOP SLAVE IO_THREAD")
        position, give_up = self._state("Gtid_IO_Pos"), time.monotonic() + _PATIENCE_S
        while self.sql(f"SELECT MASTER_GTID_WAIT('{position}', 1)") != "0":
            if self._state("Slave_SQL_Running") != "Yes":
                words = f"a replica of {self.version} stopped to apply: {self._state('Last_SQL_Error')}"
                raise ServerError(words, "see its log")
            if time.monotonic() > give_up:
                words = f"a replica of {self.version} did not apply what it had received within {_PATIENCE_S} s"
                raise ServerError(words, "lower --clients, or set slave_parallel_threads")
        self._upstream = None
        self.sql("STOP SLAVE; RESET SLAVE ALL;")
        # Not before: what it applied would have waited for others.
        self.wait_for(others=others)
        self.sql("SET GLOBAL read_only=OFF;")

    def wait_for(self, *, others: bool) -> None:
        self._waits = others and self._replication.waits
        self.sql(f"SET GLOBAL rpl_semi_sync_master_enabled={'ON' if self._waits else 'OFF'}")
        self._keep_command()

    def end(self, *, kill: bool) -> None:
        if not kill:
            # A signal would not wait for those that have not read all of its log.
            self.sql("SHUTDOWN WAIT FOR ALL SLAVES")
            give_up = time.monotonic() + _PATIENCE_S
            while self.process.alive:
                if time.monotonic() > give_up:
                    words = f"replicas of {self.version} did not receive its log within {_PATIENCE_S} s"
                    raise ServerError(words, "lower --clients")
                time.sleep(0.01)
        super().end(kill=kill)


class _Replica(_Member):
    def __init__(
        self, primary: _Member, number: int, target: spec.Target, base: Path, connections: int,
        replication: Replication, group: Group | None,
    ) -> None:  # fmt: skip
        self._upstream, self._replication, self._number = primary, replication, number
        super().__init__(MARIADB, target, base, connections, group)

    def _start(self) -> None:
        assert self._upstream is not None
        self._password = self._upstream._password
        super()._start()
        self._take_up(self._upstream)


class ReplicatedMariaDB(MariaDBGroup, _Member):
    """A primary and its replicas."""

    SETTING, NAME = REPLICAS, "replica"

    def __init__(
        self, target: spec.Target, base: Path, connections: int, replication: Replication,
        grouped: Callable[[], Group | None],
    ) -> None:  # fmt: skip
        check_programs(find(MARIADB, target))
        self._replication, self._number = replication, 1
        self._grouped, self._target, self._connections, self._base = grouped, target, connections, base
        self._lead()
        super().__init__(MARIADB, target, base, connections, grouped())

    def _start(self) -> None:
        super()._start()
        made = self._replication
        for number in range(2, made.replicas + 2):
            group = self._grouped()
            self._others.append(_Replica(self, number, self._target, self._base, self._connections, made, group))
        self._wait()
        self._name_all()
        self._note_others("semi-synchronous" if made.waits else "asynchronous")
