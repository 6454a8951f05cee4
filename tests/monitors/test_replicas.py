"""How far replicas are behind: of scripted answers by hand, and of a real MariaDB whose replica applies late."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing

import pytest

from dsbench import servers, spec
from dsbench.measure.following import Followers
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.monitors.replicas import Replicas
from dsbench.servers.mysql.asked import AskedMember
from dsbench.servers.mysql.replicas import ReplicatedMariaDB

Rows = list[dict[str, str | None]]


class Primary:
    """Answers as MySQL before 8.2 does."""

    def __init__(self) -> None:
        self.logs = {"binlog.000001": 1000}
        self.written = 1000

    def fetch(self, sql: str) -> Rows:
        if sql == "show binary logs":
            return [{"Log_name": name, "File_size": str(size)} for name, size in self.logs.items()]
        if sql == "show master status":
            return [{"File": list(self.logs)[-1], "Position": str(self.written)}]
        if sql == "select @@global.server_id as number":
            return [{"number": "7"}]
        if sql == "show slave status":
            return []
        raise RuntimeError(f"unknown words: {sql}")


class Replica:
    """Answers as MariaDB does. It follows two servers."""

    def __init__(self, file: str, applied: int) -> None:
        self.file, self.applied = file, applied

    def fetch(self, sql: str) -> Rows:
        if sql in ("show slave status", "show replica status"):
            places = {"7": (self.file, str(self.applied)), "8": ("other.000001", "77")}
            return [{"Master_Server_Id": source, "Relay_Master_Log_File": file, "Exec_Master_Log_Pos": position}
                    for source, (file, position) in sorted(places.items(), reverse=True)]  # fmt: skip
        raise RuntimeError(f"unknown words: {sql}")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Its first item is the time in ns."""
    now = [0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    return now


def test_the_lag_is_the_time_since_the_primary_was_there(clock: list[int]) -> None:
    primary, replica = Primary(), Replica("binlog.000001", 500)
    monitor = Replicas(primary, {"r": replica})
    assert monitor.sample() == [("r", "bytes", 500.0)], "the primary was there before the first look"
    clock[0], primary.written = 1_000_000_000, 3000
    replica.applied = 1500
    # From 1000 to 3000 in a second: at 1500 a quarter of it after the first look.
    assert monitor.sample() == [("r", "bytes", 1500.0), ("r", "ns", 750_000_000.0)]
    clock[0], primary.written = 2_000_000_000, 3000
    replica.applied = 3000
    assert monitor.sample() == [("r", "bytes", 0.0), ("r", "ns", 0.0)]


def test_the_lag_goes_over_the_end_of_a_file(clock: list[int]) -> None:
    primary, replica = Primary(), Replica("binlog.000001", 1000)
    monitor = Replicas(primary, {"r": replica})
    monitor.sample()
    clock[0], primary.logs, primary.written = 1_000_000_000, {"binlog.000001": 1800, "binlog.000002": 200}, 200
    assert monitor.sample() == [("r", "bytes", 1000.0), ("r", "ns", 1_000_000_000.0)]
    # The primary removes a file: what is behind stays what it was.
    clock[0], primary.logs = 2_000_000_000, {"binlog.000002": 200, "binlog.000003": 300}
    replica.file, replica.applied, primary.written = "binlog.000002", 100, 300
    (_, _, behind), _ = monitor.sample()
    assert behind == 100 + 300
    # It begins its log anew: what was known of it is no more.
    clock[0], primary.logs, primary.written = 3_000_000_000, {"binlog.000001": 50}, 50
    replica.file, replica.applied = "binlog.000001", 50
    assert monitor.sample() == [("r", "bytes", 0.0), ("r", "ns", 0.0)]


def test_who_does_not_tell_is_left_out(clock: list[int]) -> None:
    primary, replica = Primary(), Replica("binlog.000001", 500)
    assert Replicas.of(primary, {"r": primary}) is None, "it follows nobody"
    assert Replicas.of(replica, {"r": replica}) is None, "it does not say what it has written"
    assert Replicas.of(primary, {}) is None
    monitor = Replicas.of(primary, {"other": primary, "r": replica})
    assert monitor is not None
    assert [name for name, _, _ in monitor.sample()] == ["r"]


def test_a_replica_that_has_not_begun_is_not_taken_for_one_that_has_all() -> None:
    monitor = Replicas(Primary(), {"r": Replica("", 0)})
    with pytest.raises(LookupError, match="the primary has no log ''"):
        monitor.sample()


def test_one_that_is_gone_is_noted_and_the_others_go_on(clock: list[int]) -> None:
    class Gone(Replica):
        gone = False

        def fetch(self, sql: str) -> Rows:
            if self.gone:
                raise RuntimeError("connection refused")
            return super().fetch(sql)

    gone = Gone("binlog.000001", 1000)
    monitor = Replicas(Primary(), {"a": gone, "b": Replica("binlog.000001", 1000)})
    gone.gone = True
    assert {name for name, _, _ in monitor.sample()} == {"b"}
    assert monitor.notes == ["a: connection refused"]
    late = Replicas.of(Primary(), {"a": gone})
    assert late is not None
    assert late.sample() == []
    assert late.notes == ["a does not show how far it is: connection refused"]


def test_a_replica_that_applies_seconds_late() -> None:
    with ExitStack() as stack:
        server = stack.enter_context(servers.start(spec.Target(url="private:mariadb?replicas=1"), 8))
        assert isinstance(server, ReplicatedMariaDB)
        (replica,) = (one for one in server._members if one is not server)
        assert isinstance(replica, AskedMember)
        replica.sql("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY=3; START SLAVE")
        target = stack.enter_context(closing(TargetDatabase(server.url)))
        followers = stack.enter_context(closing(Followers(target, server)))
        monitor = followers.watch()
        assert monitor is not None
        target.fetch("CREATE DATABASE late")
        target.fetch("CREATE TABLE late.t (n int PRIMARY KEY)")
        seen: list[dict[str, float]] = []
        for number in range(400):
            target.fetch(f"INSERT INTO late.t VALUES ({number})")
            time.sleep(0.02)
            if number % 25 == 24:
                seen.append({unit: value for _, unit, value in monitor.sample()})
        late = [one["ns"] for one in seen if "ns" in one]
        assert len(late) > 3
        assert min(late[-3:]) > 1.5e9, "times in the log are whole seconds: it is two to three seconds late, or more"
        assert all(one["bytes"] > 0 for one in seen[-3:])
        give_up = time.monotonic() + 30
        while (now := {unit: value for _, unit, value in monitor.sample()})["bytes"] and time.monotonic() < give_up:
            time.sleep(0.2)
        assert now == {"bytes": 0, "ns": 0}
