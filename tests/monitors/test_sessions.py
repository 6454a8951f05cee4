"""Looks at the sessions of the load: how they are added up, what they mean, and that no failure touches a run."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench import servers, spec
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.monitors import SessionSampler, watchers
from dsbench.measure.monitors.sessions import SessionSeen, without_values
from dsbench.measure.monitors.watchers import MonitorSession
from fixtures.stalled import unless_stalled

SECOND = 1_000_000_000
BUSY, IDLE = SessionSeen("active", statement="UPDATE t"), SessionSeen("idle", "client")


class Fixed:
    """Sees the same each time."""

    least_s = 0.0

    def __init__(self, seen: Iterable[SessionSeen] = (), enough: int = 1 << 30) -> None:
        self.seen, self.enough, self.looks = tuple(seen), enough, 0
        self.closed, self.done = False, threading.Event()

    def open(self) -> None:
        pass

    def look(self) -> Iterable[SessionSeen]:
        self.looks += 1
        if self.looks >= self.enough:
            self.done.set()
        return self.seen

    def close(self) -> None:
        self.closed = True


class Refused(Fixed):
    def open(self) -> None:
        raise OSError("permission denied")


class Lost(Fixed):
    def look(self) -> Iterable[SessionSeen]:
        if self.looks > 4:
            raise OSError("the connection was lost")
        return super().look()


def _sample(watcher: Fixed, rate: int = 1000) -> tuple[SessionSampler, list[dict[str, Any]]]:
    sampler = SessionSampler(watcher, rate)
    sampler.first()
    sampler.go(time.monotonic_ns(), None)
    watcher.done.wait()
    return sampler, sampler.stop()


def test_sessions_are_added_up_by_second_with_the_number_of_looks() -> None:
    watcher = Fixed([BUSY, BUSY, IDLE], enough=10)
    sampler, rows = _sample(watcher)
    assert not sampler.failure
    assert watcher.closed
    by = Counter[str]()
    for row in rows:
        assert row["sessions"] == row["looks"] * (2 if row["state"] == "active" else 1)
        by[row["state"]] += row["sessions"]
    # Those that find out how long a look takes are before the clock.
    assert by["active"] == 2 * by["idle"] == 2 * (watcher.looks - 3)
    assert {row["statement"] for row in rows} == {"UPDATE t", ""}


def test_nothing_after_the_cycle_is_counted() -> None:
    watcher = Fixed([BUSY])
    sampler = SessionSampler(watcher, 1000)
    sampler.first()
    sampler.go(time.monotonic_ns() - 5 * SECOND, 4 * SECOND)
    assert sampler.stop() == []
    assert watcher.looks == 3


@pytest.mark.parametrize(
    ("look_ns", "rate", "cpus", "pause_ns"),
    [
        (10_000_000, 20, 2, SECOND // 2),
        (500_000, 20, 2, SECOND // 20),
        (125_000, None, 2, SECOND // 4),
        (125_000, None, 64, SECOND // 20),
        (10_000_000, None, 128, SECOND // 2),
    ],
)
def test_there_are_fewer_looks_where_a_look_is_dear(
    look_ns: int, rate: int | None, cpus: int, pause_ns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cpus)
    now = iter(range(0, 10**12, look_ns))
    sampler = SessionSampler(Fixed([BUSY]), rate, clock=lambda: next(now))
    sampler.first()
    sampler.go(0, 1)
    sampler.stop()
    assert sampler.pause_ns == pause_ns


@pytest.mark.parametrize("watcher", [Refused(), Lost([BUSY])], ids=lambda one: type(one).__name__)
def test_a_failure_is_a_sentence_and_no_error(watcher: Fixed) -> None:
    sampler = SessionSampler(watcher, 1000)
    sampler.first()
    sampler.go(time.monotonic_ns(), None)
    assert sampler._thread is not None
    sampler._thread.join()
    sampler.stop()
    assert sampler.failure in ("permission denied", "the connection was lost")
    assert watcher.closed


def test_without_a_watcher_nothing_is_done() -> None:
    sampler = SessionSampler(None)
    sampler.first()
    sampler.go(0, None)
    assert sampler.stop() == []
    assert not sampler.failure


@pytest.mark.parametrize(
    ("sql", "plain"),
    [
        ("SELECT f(1, $2, (-4), :aid)", "SELECT f(?, ?, ?, ?)"),
        ("UPDATE t SET a1 = a1 + 1.5e3 WHERE b = 'it''s secret'\n AND c = 'cut off", "UPDATE t SET a1 = a1 + ? WHERE b = ? AND c = ?"),
        ("SELECT /* secret */ $$secret$$, a::int -- secret", "SELECT ?, a::int"),
        ("INSERT INTO h VALUES (1, 2, 3, 4, 5, 6, 7)", "INSERT INTO h VALUES (?, …)"),
    ],
)  # fmt: skip
def test_statements_keep_no_values(sql: str, plain: str) -> None:
    assert without_values(sql) == plain


def test_what_mysql_puts_in_for_variables_is_taken_out_again() -> None:
    sql = """UPDATE t SET a = a + NAME_CONST('p_delta',-12) WHERE b = "secret" """
    assert without_values(sql, mysql=True) == "UPDATE t SET a = a + p_delta WHERE b = ?"


@pytest.mark.parametrize(
    ("kind", "event", "ours"),
    [
        ("", "", ""), ("Lock", "tuple", "lock"), ("LWLock", "BufferMapping", "latch"), ("LWLock", "WALWrite", "flush"),
        ("IO", "WALSync", "flush"), ("IO", "WalSync", "flush"), ("IO", "DataFileSync", "flush"),
        ("IO", "DataFileRead", "read"), ("IO", "DataFileExtend", "write"), ("IO", "WALRead", "read"),
        ("Client", "ClientRead", "client"), ("IPC", "SyncRep", "other"), ("BufferPin", "BufferPin", "latch"),
    ],
)  # fmt: skip
def test_waits_of_postgresql_have_our_words(kind: str, event: str, ours: str) -> None:
    assert watchers.class_of_postgres(kind, event) == ours


@pytest.mark.parametrize(
    ("wait", "operation", "ours"),
    [
        ("Updating", "", ""), ("Commit", "", "flush"), ("Waiting for table metadata lock", "", "lock"),
        ("wait/io/file/innodb/innodb_log_file", "sync", "flush"), ("wait/io/file/innodb/innodb_data_file", "read", "read"),
        ("wait/synch/mutex/innodb/buf_pool_mutex", "lock", "latch"), ("wait/io/table/sql/handler", "fetch", ""),
    ],
)  # fmt: skip
def test_waits_of_mysql_have_our_words(wait: str, operation: str, ours: str) -> None:
    assert watchers.class_of_mysql(wait, operation) == ours


def _asked(own: TargetDatabase, administration: TargetDatabase) -> MonitorSession:
    return MonitorSession(own.fetch, own.close, administration.fetch, own=True)


def _until(look: Callable[[], Iterable[SessionSeen]], state: str) -> list[SessionSeen]:
    """The sessions, once one is in ``state``."""
    while True:
        found = list(look())
        if any(one.state == state for one in found):
            return found
        time.sleep(0.13)


def _block(holder: TargetDatabase, waiter: TargetDatabase, begin: str, update: str, end: str, watcher: Any) -> list[SessionSeen]:
    """What is seen while ``waiter`` waits for a row that ``holder`` changed."""
    holder.fetch(begin)
    holder.fetch(update)
    waiting = threading.Thread(target=waiter.fetch, args=(update,))
    waiting.start()
    try:
        return _until(watcher.look, "waiting")
    finally:
        holder.fetch(end)
        waiting.join()


@pytest.mark.parametrize(("product", "wait"), [("postgresql", "Lock:transactionid"), ("mariadb", "innodb row lock")])
def test_a_lock_is_seen_with_its_table_and_the_state_of_its_holder(product: str, wait: str) -> None:
    url = spec.Target(url=f"private:{product}")
    with servers.start(url, 8) as server:
        make = lambda: closing(TargetDatabase(server.url))  # noqa: E731
        with make() as administration, make() as holder, make() as waiter, make() as own:
            schema = "CREATE SCHEMA planted" if product == "postgresql" else "CREATE DATABASE planted"
            for sql in (schema, "CREATE TABLE planted.hot (a int) ", "INSERT INTO planted.hot VALUES (1)"):
                administration.fetch(sql)
            watcher = watchers.WATCHERS[administration.dialect.name](_asked(own, administration))
            watcher.open()
            seen = _block(holder, waiter, "BEGIN", "UPDATE planted.hot SET a = 4711", "ROLLBACK", watcher)
    assert [one for one in seen if one.state == "waiting"] == [
        SessionSeen("waiting", "lock", wait, "hot", "UPDATE planted.hot SET a = ?", "idle in transaction")
    ]
    assert [one.state for one in seen if one.state != "waiting"] == ["idle in transaction"]


@unless_stalled
def test_a_run_keeps_what_its_sessions_waited_for(tmp_path: Path) -> None:
    archive = dsbench.run("private:sqlite", scales=(1,), cycles=1, duration=1, clients=3, out=tmp_path)
    rows = archive.table("samples").to_pylist()
    assert {row["wait"] for row in rows if row["class"] == "lock"} == {"busy handler"}
    for second in {row["second"] for row in rows}:
        here = [row for row in rows if row["second"] == second]
        assert sum(row["sessions"] for row in here) == 3 * here[0]["looks"]
    assert not any(character.isdigit() for row in rows for character in row["statement"])


def test_no_session_is_looked_at_where_nobody_asks(tmp_path: Path) -> None:
    archive = dsbench.run("private:sqlite", scales=(1,), cycles=1, duration=0.2, clients=1, samples=0, out=tmp_path)
    assert archive.table("samples").num_rows == 0
