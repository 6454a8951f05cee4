"""The private MariaDB server, with the real one; and MySQL."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dsbench import servers, spec
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.servers.mysql import binaries
from dsbench.servers.mysql.asked import AskedMember
from dsbench.servers.mysql.galera import _Other
from fixtures.private import check_no_superuser, check_refused, command, working_in

Make = Callable[..., spec.Target]


@pytest.fixture
def target(base: Path) -> Make:
    """A private MariaDB in ``base`` with the settings given."""

    def make(**settings: str) -> spec.Target:
        return spec.Target(url="private:mariadb", directory=base, settings=settings)

    return make


def _ask(url: str, sql: str) -> str | None:
    """The only cell of an answer."""
    target = TargetDatabase(url)
    try:
        (row,) = target.fetch(sql)
        (cell,) = row.values()
        return cell
    finally:
        target.close()


def test_it_answers_and_leaves_nothing(target: Make, base: Path) -> None:
    with servers.start(target(), 16) as server:
        assert _ask(server.url, "select 6 * 7") == "42"
        assert _ask(server.url, "select @@datadir") == f"{server.directory}/"
        assert _ask(server.url, "select @@tmpdir") != "/tmp"
        assert _ask(server.url, "select @@max_connections") == "151"
        assert _ask(server.url, "select @@skip_networking") == "1"
        assert (_ask(server.url, "select version()") or "").startswith(server.version.removeprefix("MariaDB "))
        assert "ready for connections" in "\n".join(server.log_tail(3))
        assert server.url.startswith("mariadb://root@/?socket=")
        pids = server.pids()
        assert pids
        assert server.directory.is_relative_to(base)
        assert not server.directory.is_relative_to("/dev/shm")
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert server.pids() == []
    server.stop()


def test_a_cluster_is_ready_when_its_logins_are(target: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = AskedMember._accounts
    # Galera says that it is ready before the server runs the file that makes them.
    monkeypatch.setattr(AskedMember, "_accounts", lambda self, password: f"DO SLEEP(2);\n{made(self, password)}")
    with servers.start(target(galera="3"), 4) as server:
        assert _ask(server.url, "select count(*) from mysql.user where user = 'dsbench'") == "1"


@pytest.mark.thorough
def test_a_cluster_that_cannot_be_made_says_which_node_ended(target: Make, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = _Other._start

    def alone(self: _Other) -> None:
        assert self._first._process is not None
        self._first._process.kill()
        start(self)

    monkeypatch.setattr(_Other, "_start", alone)
    with pytest.raises(servers.ServerError, match=r"1 of 3 nodes of MariaDB .* ended:\n(.*\n)*.*: ready for connections"):
        servers.start(target(galera="3"), 4)
    assert list(base.iterdir()) == []


def test_settings_are_applied(target: Make) -> None:
    settings = {
        "innodb_buffer_pool_size": "64M", "innodb-flush-log-at-trx-commit": "2", "innodb_page_size": "4k",
        "log_bin": "on", "Lock_Wait_Timeout": "77", "init_connect": "set @a = 'it''s'", "skip_log_bin": "off",
    }  # fmt: skip
    with servers.start(target(**settings), 4) as server:
        assert _ask(server.url, "select @@innodb_buffer_pool_size") == str(64 << 20)
        assert _ask(server.url, "select @@innodb_flush_log_at_trx_commit") == "2"
        assert _ask(server.url, "select @@innodb_page_size") == "4096"
        assert _ask(server.url, "select @@log_bin") == "1"
        assert _ask(server.url, "select @@global.lock_wait_timeout") == "77"
        assert _ask(server.url, "select @@init_connect") == settings["init_connect"]


def test_the_storage_engine_is_that_of_the_tables(target: Make) -> None:
    with servers.start(target(storage_engine="RocksDB", rocksdb_block_cache_size="32M"), 4) as server:
        assert "storage_engine=RocksDB" in server.url
        assert _ask(server.url, "select @@rocksdb_block_cache_size") == str(32 << 20)
        place = TargetDatabase(server.url)
        place.create("mark")
        engines = "select distinct engine as e from information_schema.tables where table_schema = 'dsbench'"
        assert place.fetch(engines) == [{"e": "ROCKSDB"}]
        place.close()
        assert any("foreign keys" in note for note in server.notes)
    with servers.start(target(), 4) as server:
        assert _ask(server.url, "select count(*) from information_schema.engines where engine = 'ROCKSDB'") == "0"


def test_room_is_made_for_the_connections_of_the_load(target: Make) -> None:
    with servers.start(target(), 1100) as server:
        assert _ask(server.url, "select @@max_connections") == "1110"
        assert int(_ask(server.url, "select @@max_prepared_stmt_count") or 0) > 16_382
        assert any("max_connections" in note for note in server.notes)
    with servers.start(target(max_connections="160"), 150) as server:
        assert _ask(server.url, "select @@max_connections") == "160"
        assert not any("max_connections" in note for note in server.notes)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"innodb_bufer_pool_size": "64M"}, "unknown variable 'innodb-bufer-pool-size=64M'"),
        ({"innodb_flush_method": "never"}, "Error while setting value 'never' to 'innodb-flush-method'"),
        ({"innodb_flush_log_at_trx_commit": "9"}, "unsigned value 9 adjusted to"),
        ({"rocksdb_block_cache_size": "32M"}, "unknown variable 'rocksdb-block-cache-size=32M'"),
        ({"a b": "1"}, "'a b' is not a valid name"),
        ({"init_connect": "do 1;\ndo 2"}, "several lines"),
        ({"datadir": "/tmp"}, "set by dsbench"),
        ({"default-storage-engine": "Aria"}, "set by dsbench"),
        ({"storage_engine": "Inno DB"}, "storage_engine is 'Inno DB'"),
        ({"bind_address": "127.0.0.1", "port": "http"}, "port is 'http'"),
        ({"port": "3307"}, "port without bind_address"),
        ({"max_connections": "8"}, "is too low for the 16 connections"),
        ({"basedir": "/usr/share"}, "contains no MariaDB server"),
    ],
)
def test_a_wrong_setting_is_named_and_leaves_nothing(
    target: Make, base: Path, settings: dict[str, str], named: str
) -> None:
    check_refused(target(**settings), base, named)


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(target: Make, base: Path) -> None:
    with pytest.raises(servers.ServerError, match="did not start") as caught:
        servers.start(target(log_bin="/nowhere/at/all/log"), 4)
    assert "ERROR" in caught.value.problem
    assert working_in(base) == []
    assert list(base.iterdir()) == []


def test_a_version_that_is_not_here_is_refused(base: Path) -> None:
    with pytest.raises(spec.SpecError, match=r"no MariaDB 5\.1") as caught:
        servers.start(spec.Target(url="private:mariadb", directory=base, version="5.1"), 4)
    assert caught.value.option == "TARGET.version"


def test_a_version_can_be_asked_for_by_its_first_numbers(base: Path) -> None:
    newest = binaries.found(binaries.MARIADB)[0]
    wish = ".".join(newest.version.split(".")[:2])
    with servers.start(spec.Target(url="private:mariadb", directory=base, version=wish), 4) as server:
        assert server.version == f"MariaDB {newest.version}"


def test_what_is_installed_is_listed() -> None:
    products = {i.product: i for i in servers.installations()}
    assert products["mariadb"].version.startswith("MariaDB ")
    assert products["mariadb"].path is not None
    assert products["mysql"].version or products["mysql"].remedy


def test_two_servers_at_once_do_not_meet(target: Make) -> None:
    with servers.start(target(), 4) as one, servers.start(target(), 4) as other:
        assert one.url != other.url
        TargetDatabase(one.url).create("only here")
        assert TargetDatabase(other.url).state() == ("absent", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser steps down")
def test_the_superuser_steps_down_and_closes_the_door(target: Make) -> None:
    with servers.start(target(), 4) as server:
        check_no_superuser(server.pids())
        assert stat.S_IMODE(server.directory.stat().st_mode) == 0o700
        socket = server.directory.parent / "socket"
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
        assert socket.stat().st_uid == server.directory.stat().st_uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser steps down")
def test_the_superuser_steps_down_to_the_owner_of_the_folder(target: Make, base: Path) -> None:
    os.chown(base, 65534, 65534)
    with servers.start(target(), 4) as server:
        assert server.directory.stat().st_uid == 65534
    os.chown(base, 0, 0)


def _over_the_network(target: spec.Target) -> None:
    with servers.start(target, 4) as server:
        assert _ask(server.url, "select 1") == "1"
        assert "@127.0.0.1:" in server.url
        password = server.url.split(":")[2].split("@")[0]
        assert len(password) >= 20
        place = server.url.partition("@")[2]
        for login in ("dsbench:guess", "dsbench", "root", "nobody"):
            with pytest.raises(CoreError) as caught:
                _ask(f"mysql://{login}@{place}", "select 1")
            assert caught.value.kind == "setup"
        files = [p for p in server.directory.parent.rglob("*") if p.is_file() and password.encode() in p.read_bytes()]
        assert files == []
        arguments = [a for pid in server.pids() for a in command(psutil.Process(pid))]
        assert not any(password in a for a in arguments)


def test_over_the_network_a_password_is_needed(target: Make) -> None:
    _over_the_network(target(bind_address="127.0.0.1"))


def test_a_long_path_gets_a_short_socket(base: Path) -> None:
    deep = base / ("d" * 90)
    deep.mkdir()
    with servers.start(spec.Target(url="private:mariadb", directory=deep), 4) as server:
        assert server.directory.is_relative_to(deep)
        socket = Path(_ask(server.url, "select @@socket") or "")
        assert not socket.is_relative_to(deep)
    assert not socket.exists()
    assert not socket.parent.parent.exists()
    deep.rmdir()


def test_mysql_is_started_the_same_way(base: Path, mysql_home: str) -> None:
    def target(**settings: str) -> spec.Target:
        return spec.Target(url="private:mysql", directory=base, settings={"basedir": mysql_home, **settings})

    with servers.start(target(innodb_page_size="8k", log_bin="off"), 4) as server:
        assert (_ask(server.url, "select version()") or "").startswith(server.version.removeprefix("MySQL "))
        assert _ask(server.url, "select @@innodb_page_size") == "8192"
        assert _ask(server.url, "select @@log_bin") == "0"
        assert _ask(server.url, "select @@local_infile") == "1"
    _over_the_network(target(bind_address="127.0.0.1"))
    wrong = [({"innodb_bufer_size": "1"}, "innodb-bufer-size=1"), ({"innodb_flush_method": "never"}, "'never'")]
    for settings, named in wrong:
        with pytest.raises(spec.SpecError, match=named):
            servers.start(target(**settings), 4)
    with pytest.raises(spec.SpecError, match="adjusted to"):
        servers.start(target(innodb_flush_log_at_trx_commit="9"), 4)
