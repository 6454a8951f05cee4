"""What MariaDB says of itself, with InnoDB and with MyRocks; and MySQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dsbench import servers, spec
from dsbench.measure import stack
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.stack.described import Described, Switch
from dsbench.measure.stack.rdbms import mysql

_SETTINGS = {
    "innodb_buffer_pool_size": "64M", "innodb_flush_log_at_trx_commit": "2", "innodb_doublewrite": "off",
    "log_bin": "on", "sync_binlog": "1", "innodb_page_size": "8k", "lock_wait_timeout": "86400",
    "init_connect": "set @password = 'hush'", "report_password": "hush", "innodb_log_file_size": "32M",
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.start(spec.Target(url="private:mariadb", settings=_SETTINGS), 8) as running:
        yield running


@pytest.fixture(scope="module")
def queries(server: servers.Server) -> Iterator[TargetDatabase]:
    session = TargetDatabase(server.url)
    yield session
    session.close()


@pytest.fixture(scope="module")
def described(server: servers.Server, queries: TargetDatabase) -> Described:
    return stack.describe("mysql", server.directory, queries)


def _switches(switches: list[Switch]) -> dict[str, tuple[str, bool]]:
    return {s["switch"]: (s["value"], s["safe"]) for s in switches}


def _items(described: Described) -> dict[str, str]:
    return {name: value for layer in described.layers for name, value in layer["items"].items()}


def test_every_layer_of_the_stack_is_there_in_order(described: Described) -> None:
    assert [layer["layer"] for layer in described.layers] == [
        "core", "storage backend", "operating system", "file system", "RDBMS", "API", "driver", "application",
    ]  # fmt: skip
    items = _items(described)
    assert items["interface"] == "MySQL client/server protocol, version 10"
    assert items["transport"] == "Unix socket"
    assert (items["storage engine"], items["page size"], items["redo log"]) == ("innodb", "8 KiB", "32 MiB")
    assert "foreign keys" not in items


def test_settings_are_those_that_differ_without_secrets_and_places(described: Described) -> None:
    settings = described.settings
    assert settings["innodb_buffer_pool_size"] == str(64 << 20)
    assert settings["innodb_flush_log_at_trx_commit"] == "2"
    assert settings["init_connect"] == "***"
    assert "hush" not in str(described)
    assert "lock_wait_timeout" not in settings  # set to what it is by default
    assert not {"datadir", "tmpdir", "socket", "pid_file", "port", "skip_networking", "sql_mode"} & settings.keys()


def test_marks_are_bytes(described: Described) -> None:
    assert described.marks["innodb_buffer_pool_size"] == 64 << 20
    assert described.marks["RAM"] > 1 << 28


def test_the_version_is_the_servers_own(described: Described, server: servers.Server) -> None:
    assert described.server_version.startswith(server.version)


def test_a_switch_that_gives_up_safety_is_told(described: Described) -> None:
    switches = _switches(described.durability)
    assert switches["innodb_flush_log_at_trx_commit"] == ("2", False)
    assert switches["innodb_doublewrite"] == ("OFF", False)
    assert switches["sync_binlog"] == ("1", True)
    assert switches["innodb_flush_method"][1]
    assert "storage engine" not in switches
    assert all(s["meaning"] for s in described.durability)


def test_every_value_of_a_switch_has_its_meaning(queries: TargetDatabase) -> None:
    def safe(engine: str = "innodb", **known: str) -> bool:
        (found, *_) = mysql.switches(queries, known, engine)
        return found["safe"]

    assert safe(innodb_flush_log_at_trx_commit="1")
    assert safe(innodb_flush_log_at_trx_commit="3")
    assert not safe(innodb_flush_log_at_trx_commit="0")
    assert not safe(innodb_doublewrite="DETECT_ONLY")
    assert not safe(innodb_flush_method="O_DIRECT_NO_FSYNC")
    assert not safe("rocksdb", rocksdb_flush_log_at_trx_commit="2")
    assert not safe("rocksdb", rocksdb_write_disable_wal="ON")
    assert not safe(log_bin="ON", sync_binlog="0")
    assert not safe("aria")
    assert mysql.switches(queries, {"log_bin": "OFF", "sync_binlog": "0"}, "innodb") == []


def test_the_data_directory_is_told_when_the_server_is_here(server: servers.Server, queries: TargetDatabase) -> None:
    assert stack.data_directory("mysql", queries, spec.Target(url=server.url)) == server.directory
    assert mysql.process(queries) in server.pids()


class Remote:
    """The same server, as if it were another one."""

    def __init__(self, queries: TargetDatabase, **changed: str) -> None:
        self.queries, self.changed = queries, changed

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        rows = self.queries.fetch(sql)
        return [{**row, "Value": self.changed.get(row.get("Variable_name") or "", row.get("Value"))} for row in rows]


@pytest.mark.parametrize("changed", [{"hostname": "far"}, {"Uptime": "123456789"}])
def test_a_server_elsewhere_is_not_described_by_this_machine(queries: TargetDatabase, changed: dict[str, str]) -> None:
    remote = Remote(queries, **changed)
    directory = stack.data_directory("mysql", remote, spec.Target(url="mysql://far/"))
    assert directory is None
    described = stack.describe("mysql", directory, remote)
    assert "RAM" not in described.marks
    assert "another machine" in _items(described)["server"]


class Silent:
    """A server that answers nothing."""

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        raise PermissionError(sql)


def test_what_a_server_does_not_tell_is_left_out() -> None:
    described = stack.describe("mysql", None, Silent())
    assert described.durability == []
    assert described.settings == {}


def test_myrocks_is_described_by_its_own_settings() -> None:
    target = spec.Target(url="private:mariadb", settings={"storage_engine": "RocksDB", "bind_address": "127.0.0.1"})
    with servers.start(target, 8) as server:
        session = TargetDatabase(server.url)
        described = stack.describe("mysql", server.directory, session)
        session.close()
    items = _items(described)
    assert (items["storage engine"], items["foreign keys"]) == ("rocksdb", "none: MyRocks has none")
    assert items["transport"] == "TCP"
    assert items["compression"]
    assert described.marks["rocksdb_block_cache_size"] == 512 << 20
    assert "innodb_buffer_pool_size" not in described.marks
    assert _switches(described.durability)["rocksdb_flush_log_at_trx_commit"] == ("1", True)


def test_mysql_is_described_the_same_way(mysql_home: str) -> None:
    settings = {"basedir": mysql_home, "bind_address": "127.0.0.1", "innodb_flush_log_at_trx_commit": "0"}
    with servers.start(spec.Target(url="private:mysql", settings=settings), 8) as server:
        session = TargetDatabase(server.url)
        described = stack.describe("mysql", server.directory, session)
        assert mysql.process(session) in server.pids()
        session.close()
    assert described.server_version.startswith(server.version)
    assert _items(described)["transport"] == "TCP with TLS"
    assert described.settings["innodb_flush_log_at_trx_commit"] == "0"
    switches = _switches(described.durability)
    assert switches["innodb_flush_log_at_trx_commit"] == ("0", False)
    assert switches["sync_binlog"] == ("1", True)
