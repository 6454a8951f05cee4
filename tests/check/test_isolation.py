"""Histories of appends to lists, on real servers: what a level forbids does not occur, what it allows is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsbench.check import CLIENTS, TRANSACTIONS, IsolationCheck, lines, try_isolation
from dsbench.check.result import Checked
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import TargetDatabase
from dsbench.spec import Target
from fixtures.program import Program
from fixtures.thorough import mostly_thorough


def silent(_what: str, _done: int, _total: int, _noun: str) -> None:
    """Nobody watches."""


def searched(url: str, level: str, transactions: int = 1500, reads: str = "", event: str = "") -> Checked:
    target = Target(url=url)
    return try_isolation(
        target, level, clients=CLIENTS, transactions=transactions, reads=reads, event=event, watch=silent
    )


def found(url: str, level: str, transactions: int = 1500, reads: str = "", event: str = "") -> IsolationCheck:
    checked = searched(url, level, transactions, reads, event)
    assert checked.isolation is not None
    one = checked.isolation
    assert (one.level, one.clients) == (level, CLIENTS)
    assert one.found.committed >= transactions
    assert one.found.appends + one.found.reads >= one.found.committed, "each does something"
    return one


def tolerable(one: IsolationCheck) -> bool:
    """PostgreSQL itself lets a cycle of some 300,000 transactions pass: docs/check.md."""
    rare = one.version.startswith("PostgreSQL") and one.level == "serializable"
    return one.holds or (rare and [(found.name, found.count <= 3) for found in one.forbidden] == [("G2-item", True)])


BY_LEVEL = [
    pytest.param("private:postgresql", "read-committed", {"G-single"}, id="postgresql-read-committed"),
    pytest.param("private:postgresql", "repeatable-read", {"G2-item"}, id="postgresql-repeatable-read"),
    pytest.param("private:postgresql", "serializable", set(), id="postgresql-serializable"),
    pytest.param("private:mariadb", "read-committed", {"G-single"}, id="mariadb-read-committed"),
    pytest.param("private:mariadb", "repeatable-read", {"G-single"}, id="mariadb-repeatable-read"),
    pytest.param("private:mariadb", "serializable", set(), id="mariadb-serializable"),
    pytest.param("private:firebird@3?DeadlockTimeout=1", "read-committed", {"G-single"}, id="firebird-read-committed"),
    pytest.param("private:firebird@3", "repeatable-read", {"G2-item"}, id="firebird-repeatable-read"),
    pytest.param("private:firebird@3", "serializable", set(), id="firebird-serializable"),
    pytest.param("private:sqlite", "serializable", set(), id="sqlite"),
]


@pytest.mark.parametrize(
    ("url", "level", "occurring"),
    mostly_thorough(BY_LEVEL, "postgresql-read-committed", "postgresql-serializable", "mariadb-repeatable-read", "sqlite"),
)
def test_a_level_forbids_what_is_documented_and_what_it_allows_is_found(
    url: str, level: str, occurring: set[str]
) -> None:
    # Readers of Firebird wait for writers there, and in circles until it looks.
    one = found(url, level, transactions=200 if "Deadlock" in url else 1500)
    assert tolerable(one), one.forbidden
    found_names = {anomaly.name for anomaly in one.found.anomalies}
    # MariaDB 11.6.2 and later refuse what InnoDB allowed.
    assert occurring <= found_names or (level == "repeatable-read" and one.guarantee == "snapshot isolation")
    assert all(anomaly.example for anomaly in one.found.anomalies)


def test_a_pool_of_transactions_keeps_them_apart() -> None:
    pooled = "private:postgresql?pooler=pgbouncer&pgbouncer.pool_mode=transaction"
    assert tolerable(found(pooled, "serializable"))


def test_a_standby_that_applies_late_is_read_stale_and_one_that_is_waited_for_is_not() -> None:
    late = found("private:postgresql?standbys=1&recovery_min_apply_delay=100ms", "read-committed", reads="standby")
    assert late.holds, "an asynchronous standby may be behind"
    assert late.found.stale.reads > 0
    # Some of it was acknowledged before the standby was to apply it.
    assert late.found.stale.max_ns > 50e6
    level = found("private:postgresql?standbys=1&sync=remote_apply", "read-committed", reads="standby")
    assert level.found.stale.reads == 0


EVENTS = [
    pytest.param("private:postgresql?standbys=1&sync=on", "repeatable-read", "failover", id="postgresql-failover"),
    pytest.param("private:postgresql", "serializable", "kill", id="postgresql-kill"),
    pytest.param("private:mariadb?replicas=1&sync=on", "read-committed", "failover", id="mariadb-failover"),
    pytest.param("private:mariadb?replicas=1", "serializable", "switchover", id="mariadb-switchover"),
    pytest.param("private:firebird@3", "repeatable-read", "restart", id="firebird-restart"),
]


@pytest.mark.parametrize(
    ("url", "level", "event"), mostly_thorough(EVENTS, "postgresql-failover", "mariadb-switchover")
)
def test_a_server_that_comes_back_or_is_replaced_keeps_its_level(url: str, level: str, event: str) -> None:
    one = found(url, level, transactions=6000, event=event)
    assert one.event == event
    assert tolerable(one), one.forbidden


def test_a_check_leaves_nothing_and_touches_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/mine.db"
    assert found(url, "serializable", transactions=50).holds
    place = TargetDatabase(url)
    assert place.state()[0] == "absent"
    place.create("mine")
    place.close()
    with pytest.raises(RunError, match="mine"):
        searched(url, "serializable", transactions=50)
    place = TargetDatabase(url)
    assert place.state() == ("marked", "mine")
    place.drop()
    place.close()


def test_the_verdict_comes_last_and_the_file_proves_no_durability(dsbench: Program, tmp_path: Path) -> None:
    asked = ("check", "private:sqlite", "--isolation", "serializable", "--transactions", "200")
    file = tmp_path / "check.json"
    done = dsbench(*asked, "--clients", "2", "--out", str(file))
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert "isolation: serializable, 2 clients" in shown
    assert shown[-1].endswith("transactions without an anomaly that serializable forbids")
    kept = json.loads(file.read_text())
    assert (kept["holds"], kept["isolation"]["clients"], kept["durability"]) == (True, 2, None)
    # It says nothing of what a kill leaves.
    ran = dsbench("run", "mock:", "--duration", "1", "--cycles", "1", "--checked", str(file), "--out", str(tmp_path))
    assert ran.returncode == 2
    assert "killed nothing" in ran.stderr


def test_what_the_help_says_is_so() -> None:
    """The command line has the numbers without the package, for the time that takes."""
    assert (CLIENTS, TRANSACTIONS) == (8, 20_000)


def test_what_is_forbidden_fails_the_check() -> None:
    """The words of a result in which a level allows less than the server does."""
    checked = searched("private:postgresql", "read-committed", transactions=500)
    assert checked.isolation is not None
    worse = Checked(checked.target, checked.version, isolation=_as("serializable", checked.isolation))
    assert worse.failures
    assert "serializable forbids" in worse.failures[0]
    assert any(line.startswith("  BROKEN   G-single") for line in lines(worse))
    assert "FAILED" in worse.verdict


def _as(guarantee: str, one: IsolationCheck) -> IsolationCheck:
    return IsolationCheck(guarantee, one.clients, one.version, guarantee, one.reads_elsewhere, one.event, one.found)
