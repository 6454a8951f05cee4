"""Reads from a standby: where it is, and that it has what its primary has before clients ask it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.servers import Server
from dsbench.servers.replication import Replicated
from dsbench.spec import Target
from dsbench.spec.outages import STANDBY, refuse_reads
from dsbench.spec.target import with_hosts, with_parameter

_LOOK_S: Final = 0.1
_POSTGRESQL: Final = "postgres"
"""Of its schemes, and its dialect."""
_STILL_S: Final = 600.0
"""How long a standby may apply one transaction, which is all that its position tells."""

Watch = Callable[[int, int], None]


def url_for_reads(target: Target, server: Server | None, reads: str, *, moves: bool = False) -> str:
    """The URL that ``--reads`` means for ``target``, which ``server`` is where dsbench started it.

    ``moves``: a standby may become the primary, and its readers stay as long as there is no other. Raises ``SpecError``
    where there is no standby.
    """
    refuse_reads(target, reads, hands_over=False)
    url = server.url if server is not None else target.url
    if reads != STANDBY:
        return with_hosts(url, reads)
    if isinstance(server, Replicated):
        if not moves or not url.startswith(_POSTGRESQL):
            return next(iter(server.following.values()))
        url = _primary_last(url)
    return with_parameter(url, "target_session_attrs", "prefer-standby" if moves else STANDBY)


def _primary_last(url: str) -> str:
    """Sessions try the hosts in turn, and the first one is the primary."""
    known = Target(url=url).parameters
    for name in ("host", "port"):
        first, *others = known[name].split(",")
        url = with_parameter(url, name, ",".join([*others, first]))
    return url


def refuse_stranger(target: TargetDatabase) -> None:
    """``RunError`` where the server to read from is no standby of ``target``, as far as that shows before anything is
    made; ``CoreError`` where it cannot be reached."""
    if (reading := target.reading) is None:
        return
    reading.state()
    _tells(target, reading)
    if target.dialect.name == _POSTGRESQL:
        asked = "SELECT system_identifier::text AS id FROM pg_catalog.pg_control_system()"
        # A copy that takes writes, be it a former standby, has the identifier of its original.
        follows = _one(reading, "SELECT pg_catalog.pg_is_in_recovery()::text AS follows").startswith("t")
        if not follows or _one(target, asked) != _one(reading, asked):
            raise RunError("--reads: that server is no standby of TARGET", "name a standby of it", usage=True)


def catch_up(target: TargetDatabase, reading: TargetDatabase, watch: Watch, patience_s: float) -> None:
    """Waits until ``reading``, which clients read from, has all that ``target`` has now.

    Raises ``RunError`` where it does not have the same database, or does not go on to apply; ``CoreError`` where one of
    them cannot be asked for ``patience_s``.
    """
    tells = _tells(target, reading)
    wanted, place = tells.position(target), target.state()
    told, told_at, heard_at = "", time.monotonic(), time.monotonic()
    had_at: float | None = None
    while True:
        now = time.monotonic()
        try:
            has_all = tells.has(reading, wanted)
            if has_all and reading.state() == place:
                return
            applied, heard_at = tells.applied(reading), now
        except CoreError:  # It may be coming back.
            if now - heard_at > patience_s:
                raise
            has_all, applied = False, told
        if applied != told:
            told, told_at = applied, now
        had_at = (had_at or now) if has_all else None
        if had_at is not None and now - had_at > patience_s:
            words = "--reads: the server to read from does not have the database of TARGET"
            raise RunError(words, "name a standby of TARGET")
        if now - told_at > max(_STILL_S, patience_s):
            words = f"--reads: the standby has applied nothing for {_STILL_S:.0f} s, and lacks what the primary has"
            raise RunError(words, "see pg_stat_replication, or SHOW REPLICA STATUS")
        watch(0, 0)
        time.sleep(_LOOK_S)


@dataclass(frozen=True)
class _Telling:
    """How servers of a product tell how far they are."""

    position: Callable[[TargetDatabase], str]
    """Of the primary."""
    applied: Callable[[TargetDatabase], str]
    """Of a standby; it changes as long as it applies."""
    has: Callable[[TargetDatabase, str], bool]
    """Whether a standby has all up to a position."""


def _tells(target: TargetDatabase, reading: TargetDatabase) -> _Telling:
    if target.dialect.name == _POSTGRESQL:
        applied = ("SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() "
                   "ELSE pg_catalog.pg_current_wal_lsn() END")  # fmt: skip
        return _Telling(
            lambda one: _one(one, "SELECT pg_catalog.pg_current_wal_lsn()::text AS at"),
            lambda one: _one(one, f"{applied}::text AS at"),
            lambda one, at: _one(one, f"{applied} >= '{at}'::pg_catalog.pg_lsn AS has").startswith("t"),
        )
    if _galera(target) and _galera(reading):
        return _Telling(_committed, _committed, lambda one, at: int(_committed(one)) >= int(at))
    if "mariadb" in _one(target, "SELECT version() AS at").lower():
        return _by_gtid(target, "log_bin", "gtid_binlog_pos", "gtid_slave_pos", "MASTER_GTID_WAIT('{}', 0)")
    executed, waits = "gtid_executed", "WAIT_FOR_EXECUTED_GTID_SET('{}', 1)"
    return _by_gtid(target, "gtid_mode", executed, executed, waits)


def _by_gtid(target: TargetDatabase, switch: str, written: str, applied: str, waits: str) -> _Telling:
    if _one(target, f"SELECT @@global.{switch} AS at") not in ("1", "ON"):
        words = "--reads: the primary writes no GTIDs, by which dsbench sees that the replica has all rows"
        raise RunError(words, "set log_bin, and for MySQL gtid_mode=ON", usage=True)
    return _Telling(
        lambda one: _one(one, f"SELECT @@global.{written} AS at"),
        lambda one: _one(one, f"SELECT @@global.{applied} AS at"),
        lambda one, at: _one(one, f"SELECT {waits.format(at)} = 0 AS has") == "1",
    )


def _galera(target: TargetDatabase) -> bool:
    try:
        return _status(target, "wsrep_ready") == "ON"
    except CoreError as error:
        if error.kind == "disconnected":
            raise
        return False


def _committed(one: TargetDatabase) -> str:
    return _status(one, "wsrep_last_committed")


def _status(target: TargetDatabase, name: str) -> str:
    rows = target.fetch(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return next((list(row.values())[1] or "" for row in rows), "")


def _one(target: TargetDatabase, sql: str) -> str:
    (row,) = target.fetch(sql)
    return next(iter(row.values())) or ""
