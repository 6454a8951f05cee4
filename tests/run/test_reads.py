"""Groups that only read connect to a standby, and the archive says which server had each transaction."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.moments import Moment, Silent
from dsbench.measure.run import Outcome, execute
from dsbench.read.evaluation import evaluate
from dsbench.read.naming import pacing
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.outage import OutageResult
from dsbench.read.subjects.replication import ReplicationResult
from dsbench.read.subjects.served import ServedBy, ServedResult
from dsbench.servers.postgresql.instance import PostgresInstance
from dsbench.spec import Target, build
from dsbench.spec.files import with_file
from dsbench.spec.target import with_hosts
from fixtures.program import Program
from fixtures.psql import Psql
from fixtures.stalled import unless_stalled
from fixtures.waiting import until

SHOP = """
[schema]
tables = "CREATE TABLE item (id int NOT NULL PRIMARY KEY, sold int NOT NULL);"
[tables.item]
rows = 500
[tables.item.columns]
id = { sequence = 1 }
sold = { constant = 0 }
[groups.write]
[groups.read]
role = "read"
clients = 3
[transactions.write]
sql = '''
\\set id random(1, 500)
UPDATE item SET sold = sold + 1 WHERE id = :id;
'''
[transactions.read]
sql = '''
\\set id random(1, 500)
SELECT sold FROM item WHERE id = :id;
'''
[conditions."sold = written"]
sql = "SELECT sum(sold) FROM item"
equals = ":committed_write"
"""


def shop(folder: Path) -> dict[str, object]:
    (folder / "shop.toml").write_text(SHOP)
    return with_file({"workload": str(folder / "shop.toml")})


def run(target: str, out: Path, **more: object) -> Outcome:
    asked = {"scales": (1,), "cycles": 1, "duration": 2.0, "clients": 2, "reads": "standby", "seed": 1, **more}
    return execute(build({"target": {"url": target}, **asked}), out, Silent())


def served(outcome: Outcome) -> tuple[ServedBy, ...]:
    assert (outcome.status, outcome.error, outcome.void_scales) == ("complete", None, ()), outcome.error
    archive = Archive.open(outcome.archive)
    committed = Counter[str]()
    for row in archive.table("cycles").to_pylist():
        committed[row["group"]] += row["committed"]
    found: tuple[ServedBy, ...] = evaluate(archive).of(ServedResult).served[1]
    for group in {one.group for one in found}:
        some = [one for one in found if one.group == group]
        assert sum(one.committed for one in some) == committed[group] > 0
        assert sum(one.share for one in some) == pytest.approx(1)
    assert {one.group for one in found} == set(committed)
    return found


@pytest.mark.parametrize("target", ["private:postgresql?standbys=1", "private:mariadb?replicas=1", "private:mariadb?galera=3"])
def test_writers_are_served_by_the_primary_and_readers_by_the_standby(target: str, tmp_path: Path) -> None:
    outcome = run(target, tmp_path, **shop(tmp_path))
    reads, writes = sorted(served(outcome), key=lambda one: one.group)
    assert (reads.group, writes.group) == ("read", "write")
    assert reads.server != writes.server
    assert reads.rate_tps == pytest.approx(reads.committed / 2, rel=0.01)
    evaluation = evaluate(Archive.open(outcome.archive))
    words = [str(block) for block in find_subject("served").tell(evaluation)]
    assert any(reads.server in word and writes.server in word for word in words)
    assert pacing(evaluation.run) == "closed loop, reads from a standby"


def test_a_workload_that_only_reads_leaves_the_primary_alone(tmp_path: Path) -> None:
    (one,) = served(run("private:postgresql?standbys=1", tmp_path, workload="select"))
    assert one.group == "all"
    assert one.share == 1


def test_writers_find_the_new_primary_and_readers_stay_or_find_a_standby(tmp_path: Path) -> None:
    more = {"event": "2s:switchover", "duration": 7.0, "cycles": 3, "rate": 200, **shop(tmp_path)}
    found = served(run("private:postgresql?standbys=1", tmp_path, **more))
    by_group = {group: {one.server for one in found if one.group == group} for group in ("read", "write")}
    assert len(by_group["write"]) == 2, "each was the primary"
    assert by_group["read"] == by_group["write"], "each was the standby"


def test_readers_of_a_replica_stay_there_while_its_primary_starts_again(tmp_path: Path) -> None:
    more = {"event": "1s:restart", "duration": 6.0, "rate": 200, **shop(tmp_path)}
    found = served(run("private:mariadb?replicas=1", tmp_path, **more))
    by_group = {group: {one.server for one in found if one.group == group} for group in ("read", "write")}
    assert (len(by_group["read"]), len(by_group["write"])) == (1, 1)
    assert by_group["read"] != by_group["write"]


def test_a_standby_of_ones_own_is_named_by_its_host(tmp_path: Path) -> None:
    with servers.start(Target(url="private:postgresql?standbys=1"), 20) as server:
        primary, standby = (Target(url=server.url).parameters[name].split(",") for name in ("host", "port"))
        (sockets, other), (port, port_of_other) = primary, standby
        own = f"postgresql://postgres@{sockets.replace('/', '%2F')}:{port}/postgres"
        there = f"{other.replace('/', '%2F')}:{port_of_other}"
        assert Target(url=with_hosts(own, there)).host == other
        (one,) = served(run(own, tmp_path, workload="select", reads=there))
        assert one.server.endswith(port_of_other)
        # One with a password is initialised by itself; others are copies of one template.
        with servers.start(Target(url="private:postgresql?listen_addresses=localhost"), 20) as stranger:
            assert isinstance(stranger, PostgresInstance)
            elsewhere = f"{str(stranger.socket_directory).replace('/', '%2F')}:{stranger.port}"
            with pytest.raises(RunError, match="that server is no standby of TARGET"):
                run(own, tmp_path, workload="select", reads=elsewhere)
        with pytest.raises(RunError, match=port_of_other):
            run(own, tmp_path, workload="select", reads=f"{sockets.replace('/', '%2F')}:{port_of_other}")


def _of_mysql(home: str, number: int) -> Target:
    asked = {"basedir": home, "bind_address": "127.0.0.1", "server_id": str(number), "gtid_mode": "ON",
             "enforce_gtid_consistency": "ON"}  # fmt: skip
    return Target(url="private:mysql", settings=asked)


def test_a_replica_of_mysql_serves_readers_and_says_how_far_it_is(mysql_home: str, tmp_path: Path) -> None:
    with (
        servers.start(_of_mysql(mysql_home, 1), 20) as server,
        servers.start(_of_mysql(mysql_home, 2), 20) as other,
        closing(TargetDatabase(server.url)) as primary,
        closing(TargetDatabase(other.url)) as replica,
    ):
        there, known = (Target(url=one.url) for one in (other, server))
        for one in (primary, replica):
            one.fetch("RESET MASTER")
        login = f"SOURCE_USER = 'dsbench', SOURCE_PASSWORD = '{urlsplit(server.url).password}', SOURCE_SSL = 1"
        place = f"SOURCE_HOST = '{known.host}', SOURCE_PORT = {known.port}, SOURCE_AUTO_POSITION = 1"
        replica.fetch(f"CHANGE REPLICATION SOURCE TO {place}, {login}")
        replica.fetch("START REPLICA")
        primary.fetch("CREATE USER bench@'%' IDENTIFIED BY 'a password'")
        primary.fetch("GRANT ALL ON *.* TO bench@'%'")
        granted = "SELECT 1 FROM mysql.user WHERE user = 'bench' AND insert_priv = 'Y'"
        assert until(lambda: bool(replica.fetch(granted)))
        url = f"mysql://bench:a%20password@{known.host}:{known.port}/"
        outcome = run(url, tmp_path, **shop(tmp_path), duration=5.0, reads=f"{there.host}:{there.port}")
        assert int(replica.fetch("SELECT @@global.replica_parallel_workers AS n")[0]["n"] or 0) > 1
    reads, writes = sorted(served(outcome), key=lambda one: one.group)
    assert (reads.server.endswith(str(there.port)), writes.server.endswith(str(known.port))) == (True, True)
    (lag,) = evaluate(Archive.open(outcome.archive)).of(ReplicationResult).replication[1]
    assert lag.standby == f"{there.host}:{there.port}"
    assert lag.looks >= 4
    assert lag.behind_max >= lag.behind_median >= 0
    assert 0 < lag.lag_max_ns < 60e9
    assert "a password" not in str([warning.message for warning in Archive.open(outcome.archive).run.warnings])


def test_hosts_replace_those_of_a_url_and_nothing_else() -> None:
    assert with_hosts("postgresql://me:p%40w@db1:5433/b?sslmode=require", "db2,db3:1") == (
        "postgresql://me:p%40w@db2,db3:1/b?sslmode=require"
    )
    assert with_hosts("postgresql://me@/b?host=/tmp&port=5&target_session_attrs=primary", "db2") == "postgresql://me@db2/b"
    assert with_hosts("mysql://db1/?socket=/s&ssl_mode=REQUIRED", "db2:1") == "mysql://db2:1/?ssl_mode=REQUIRED"


def test_a_role_is_read_or_write(dsbench: Program, tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(SHOP.replace('"read"', '"reader"'))
    done = dsbench("run", "private:sqlite", "--workload", str(tmp_path / "shop.toml"))
    assert done.returncode == 2
    assert "role is read or write" in done.stderr


@unless_stalled
def test_clients_leave_a_server_that_takes_no_more_writes(tmp_path: Path) -> None:
    """A primary that is up and hands over, as a manager of servers does it: nothing tells the clients but an error."""

    class Manager(Silent):
        done = False

        def moment(self, moment: Moment) -> None:
            if moment.phase == "cycle" and moment.elapsed_s > 1 and not self.done:
                self.done = True
                primary.fetch("ALTER SYSTEM SET default_transaction_read_only = on")
                primary.fetch("SELECT pg_reload_conf()")
                while behind() == "t":
                    pass
                standby.fetch("SELECT pg_promote()")

    def behind() -> str | None:
        written = primary.fetch("SELECT pg_current_wal_lsn() AS at")[0]["at"]
        return standby.fetch(f"SELECT pg_last_wal_replay_lsn() < '{written}' AS behind")[0]["behind"]

    with servers.start(Target(url="private:postgresql?standbys=1"), 20) as server:
        hosts, ports = (Target(url=server.url).parameters[name].split(",") for name in ("host", "port"))
        primary, standby = (
            Psql.open(f"postgresql://postgres@/postgres?host={host}&port={port}") for host, port in zip(hosts, ports, strict=True)
        )
        own = f"postgresql://postgres@/postgres?host={','.join(hosts)}&port={','.join(ports)}&target_session_attrs=read-write"
        asked = {"scales": (2,), "cycles": 1, "duration": 6.0, "clients": 4, "event": "1s:command 'true'", "rate": 200}
        outcome = execute(build({"target": {"url": own}, **asked}), tmp_path, Manager())
        primary.close()
        standby.close()
    assert (outcome.status, outcome.error) == ("complete", None)
    evaluation = evaluate(Archive.open(outcome.archive))
    assert {one.server for one in evaluation.of(ServedResult).served[2]} == {f"port {port}" for port in ports}
    codes = {row["code"] for row in Archive.open(outcome.archive).table("errors").to_pylist()}
    assert "25006" in codes
    (event,) = evaluation.of(OutageResult).events[2]
    assert "port of the server was" in event.changed, "the server that answers afterwards is another one"
