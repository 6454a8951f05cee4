"""The log and tablespaces of a private server in folders of the user's: where they lie, and what is left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dsbench import servers, spec
from dsbench.archive import Archive
from dsbench.archive.conditions import State
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.servers.folder import Folder
from dsbench.spec import SpecError, build
from fixtures.thorough import mostly_thorough
from fixtures.waiting import until

Ask = Callable[[str, str], str]


@pytest.fixture
def disks() -> Iterator[dict[str, Path]]:
    """Folders of the user's, each with a file of his. Each session of pytest closes pytest's to other users."""
    with tempfile.TemporaryDirectory(prefix="disks-") as name:
        Path(name).chmod(0o755)
        found = {one: Path(name) / one for one in ("log", "fast", "slow")}
        for path in found.values():
            path.mkdir(mode=0o755)
            (path / "mine").write_text("mine")
        yield found


def _only_mine(disks: dict[str, Path]) -> bool:
    return all([item.name for item in path.iterdir()] == ["mine"] for path in disks.values())


def test_log_and_tablespaces_lie_where_they_are_wished_and_go_with_the_server(base: Path, psql: Ask, disks: dict[str, Path]) -> None:
    settings = {"log_directory": str(disks["log"]), "tablespace.fast": str(disks["fast"]), "fsync": "off"}
    target = spec.Target(url="private:postgresql", directory=base, settings=settings)
    left = Folder.create(disks["fast"], "pg")
    left._lock.close()  # As of a program that was killed.
    with servers.start(target, 4) as server:
        assert not left.path.exists()
        assert (server.directory / "pg_wal").resolve().is_relative_to(disks["log"].resolve())
        assert list((server.directory / "pg_wal").glob("0000*"))
        place = psql(server.url, "select pg_tablespace_location(oid) from pg_tablespace where spcname = 'fast'")
        assert Path(place).is_relative_to(disks["fast"].resolve())
        psql(server.url, "create table there (n integer) tablespace fast")
        with pytest.raises(servers.ServerError, match="cannot be kept"):
            server.keep()
    assert _only_mine(disks)


def test_each_commit_lies_in_both_logs(base: Path, psql: Ask, disks: dict[str, Path]) -> None:
    target = spec.Target(url="private:postgresql", directory=base, settings={"second_log": str(disks["log"])})
    with servers.start(target, 4) as server:
        state = "select application_name || ' ' || sync_state from pg_stat_replication"
        # It is "potential" until the server has chosen it.
        assert until(lambda: psql(server.url, state) == "pg_receivewal sync")
        psql(server.url, "create table there (n integer)")
        for _ in range(3):
            psql(server.url, "insert into there select generate_series(1, 1000)")
            # What was flushed before this statement began lies in the copy; the server may have written more since.
            flushed = "pg_walfile_name_offset(pg_current_wal_flush_lsn()) as x (name, at)"
            name, offset = psql(server.url, f"select name || ' ' || at from {flushed}").split()
        (copy,) = disks["log"].glob(f"dsbench-pg-*/files/{name}*")
        length = int(offset)
        own = (server.directory / "pg_wal" / name).read_bytes()[:length]
        assert length > 0
        assert copy.read_bytes()[:length] == own
        assert len(server.pids()) > 1
    assert _only_mine(disks)


def test_what_the_server_needs_no_more_leaves_the_second_log(base: Path, psql: Ask, disks: dict[str, Path]) -> None:
    target = spec.Target(url="private:postgresql", directory=base, settings={"second_log": str(disks["log"])})
    with servers.start(target, 4) as server:
        first = psql(server.url, "select pg_walfile_name(pg_current_wal_lsn())")
        copies = disks["log"]
        psql(server.url, "create table there (n integer)")
        for _ in range(3):
            psql(server.url, "insert into there values (1)")
            psql(server.url, "select pg_switch_wal()")
        psql(server.url, "checkpoint")
        assert until(lambda: not list(copies.glob(f"dsbench-pg-*/files/{first}*")))
        assert list(copies.glob("dsbench-pg-*/files/*.partial"))


def test_a_second_log_that_ends_is_named(base: Path, disks: dict[str, Path]) -> None:
    target = spec.Target(url="private:postgresql", directory=base, settings={"second_log": str(disks["log"])})
    with servers.start(target, 4) as server:
        assert server.ended() == []
        (writer,) = [pid for pid in server.pids() if psutil.Process(pid).name() == "pg_receivewal"]
        psutil.Process(writer).kill()
        assert until(lambda: bool(server.ended()))
        assert "second log ended" in str(server.ended()[0])
    assert _only_mine(disks)


@pytest.mark.parametrize(
    "product",
    mostly_thorough(["mariadb", pytest.param("mysql@8.0", marks=pytest.mark.needs_mysql, id="mysql")], "mariadb"),
)
def test_the_log_of_innodb_moves(product: str, base: Path, disks: dict[str, Path]) -> None:
    target = spec.Target(url=f"private:{product}?log_directory={disks['log']}", directory=base)
    with servers.start(target, 4) as server:
        there = TargetDatabase(server.url)
        try:
            (row,) = there.fetch("select @@innodb_log_group_home_dir as place")
            place = Path(str(row["place"]))
            assert place.is_relative_to(disks["log"].resolve())
            assert [item for item in place.iterdir() if item.name.startswith(("ib_logfile", "#innodb_redo"))]
            assert not list(server.directory.glob("ib_logfile*"))
        finally:
            there.close()
    assert _only_mine(disks)


def test_relations_lie_in_the_tablespaces_that_the_workload_names(tmp_path: Path, disks: dict[str, Path]) -> None:
    """The check of the run reads the catalogue: a relation elsewhere would make it void."""
    settings = {"tablespace.fast": str(disks["fast"]), "tablespace.slow": str(disks["slow"]), "fsync": "off"}
    given = {"spaces": "account:fast,history:slow", "fillfactor": "account:50,teller:10,branch:10", "transactions": "200"}
    asked = build({"target": {"url": "private:postgresql", "settings": settings}, "workload": "tp1", "scales": [1],
                   "cycles": 1, "duration": 0.2, "clients": 2, "seed": 7, "workload_settings": given})  # fmt: skip
    outcome = execute(asked, tmp_path, Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ())
    (checks,) = Archive.open(outcome.archive).run.checks.values()
    (laid,) = [check for check in checks if "lie as asked" in check.name]
    assert laid.state is State.HOLDS
    assert "account: fast, fillfactor=50" in laid.detail
    assert _only_mine(disks)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("private:postgresql?log_directory=/no/such", "not a folder"),
        ("private:postgresql?tablespace.pg_x=/tmp", "not a valid name of a tablespace"),
        ("private:mariadb?tablespace.x=/tmp", "only PostgreSQL"),
        ("private:mariadb?second_log=/tmp", "only PostgreSQL"),
        ("private:postgresql?second_log=/no/such", "not a folder"),
        ("private:postgresql?second_log=/tmp&synchronous_standby_names=a", "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused(url: str, words: str, base: Path) -> None:
    with pytest.raises(SpecError, match=words):
        servers.start(spec.Target(url=url, directory=base), 4)
    assert list(base.iterdir()) == []


def test_such_data_are_not_kept(base: Path, disks: dict[str, Path]) -> None:
    target = spec.Target(url=f"private:postgresql?log_directory={disks['log']}", directory=base)
    with pytest.raises(SpecError, match="several folders"):
        servers.start(target, 4, keep=True)
