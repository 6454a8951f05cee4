"""Counters of a real MariaDB server, of InnoDB and of MyRocks; and of MySQL."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from dsbench import servers, spec
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.monitors import Lagging, Sampler, monitors_for
from dsbench.measure.monitors.mysql import Mysql

_INNODB = {
    "blocks_hit", "blocks_read", "blocks_written", "doublewrite_pages", "data_syncs", "wal_writes", "statements",
    "calls", "commit_statements", "rollback_statements", "engine_commits", "engine_rollbacks", "rows_inserted",
    "rows_updated", "rows_deleted", "rows_read", "temporary_tables_on_disk", "row_lock_waits", "deadlocks",
}  # fmt: skip
_BYTES = {"data_read_bytes", "data_written_bytes", "wal_bytes"}
_GAUGES = {"dirty_bytes": "bytes", "purge_backlog": "transactions", "checkpoint_age": "bytes", "checkpoint_max_age": "bytes"}

Open = Callable[[], TargetDatabase]


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.start(spec.Target(url="private:mariadb", settings={"storage_engine": "RocksDB"}), 8) as running:
        yield running


@pytest.fixture
def open_target(server: servers.Server) -> Iterator[Open]:
    """Opens sessions of the server; they are closed at the end."""
    opened: list[TargetDatabase] = []

    def new() -> TargetDatabase:
        opened.append(TargetDatabase(server.url))
        return opened[-1]

    yield new
    for target in opened:
        target.close()


def _gain(rows: list[dict[str, object]], metric: str) -> float:
    values = [float(str(row["value"])) for row in rows if row["metric"] == metric]
    return values[-1] - values[0]


def _units(target: TargetDatabase) -> dict[str, str]:
    monitor = Mysql(target)
    assert monitor.notes == []
    assert not isinstance(monitor, Lagging)
    return {metric: unit for metric, unit, _ in monitor.sample()}


def test_names_and_units_are_those_of_the_archive(open_target: Open) -> None:
    units = _units(open_target())
    expected = {**dict.fromkeys(_INNODB, "count total"), **dict.fromkeys(_BYTES, "bytes total"), **_GAUGES}
    assert expected.items() <= units.items()
    assert units["row_lock_time"] == "s total"
    of_rocksdb = {"wal_syncs", "snapshot_conflicts", "write_stall_time", "compaction_written_bytes"}
    assert units.keys() - expected.keys() - {"row_lock_time"} == of_rocksdb | {"binlog_bytes", "binlog_group_commits"}


@pytest.mark.parametrize("engine", ["InnoDB", "RocksDB"])
def test_a_cycle_counts_all_that_its_sessions_did(open_target: Open, engine: str) -> None:
    load, admin = open_target(), open_target()
    load.fetch("create database if not exists test")
    load.fetch(f"create or replace table test.t (n int, b text) engine={engine}")
    load.fetch("create or replace procedure test.p() begin do 1; end")
    beside = Sampler([Mysql(admin)])
    beside.start(time.monotonic_ns())
    load.fetch("insert into test.t select seq, repeat(md5(seq), 10) from test.seq_1_to_5000")
    load.fetch("update test.t set n = n + 1 where n <= 100")
    for _ in range(7):
        load.fetch("call test.p()")
    for end, rows_deleted in (("rollback", 1), ("commit", 3)):
        for sql in ("begin", f"delete from test.t limit {rows_deleted}", end):
            load.fetch(sql)
    rows = beside.stop()
    assert beside.notes == []
    assert _gain(rows, "rows_inserted") == 5000
    assert _gain(rows, "rows_updated") == 100
    assert _gain(rows, "rows_deleted") == 4
    assert _gain(rows, "calls") == 7
    assert _gain(rows, "commit_statements") == _gain(rows, "rollback_statements") == 1
    assert _gain(rows, "engine_commits") >= 3
    # 5000 rows of 320 bytes in the log, and some more.
    assert 5000 * 320 < _gain(rows, "wal_bytes") < 8_000_000


class Gone:
    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        raise ConnectionError("the server is gone")


def test_a_server_that_is_gone_is_noted_not_raised() -> None:
    monitors = monitors_for("mysql", (), Gone())
    server = next(m for m in monitors if m.name == "server")
    assert server.sample() == []
    assert any("the server is gone" in note for note in server.notes)


def test_mysql_has_the_same_counters(mysql_home: str) -> None:
    with servers.start(spec.Target(url="private:mysql", settings={"basedir": mysql_home}), 8) as server:
        target = TargetDatabase(server.url)
        units = _units(target)
        assert units.keys() == _INNODB | _BYTES | (_GAUGES.keys() - {"checkpoint_max_age"}) | {"row_lock_time", "wal_syncs"}
        target.fetch("create user curious")
        curious = TargetDatabase(server.url.replace("root@", "curious@"))
        monitor = Mysql(curious)
        assert _INNODB - {"deadlocks"} <= {metric for metric, _, _ in monitor.sample()}
        assert len(monitor.notes) == 1
        assert "PROCESS" in monitor.notes[0]
        for session in (target, curious):
            session.close()
