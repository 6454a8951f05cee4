"""Other clients under the same run: Python's drivers and other programs, with what the database holds afterwards."""

from __future__ import annotations

import errno
import importlib.metadata
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import numpy as np
import psutil
import pytest

import dsbench
from dsbench import _core, caches, servers
from dsbench.archive.columns import COUNTERS
from dsbench.archive.conditions import State
from dsbench.measure import loaders as generator
from dsbench.measure.drivers import missing, mysql, peers, postgres, session_opener, version
from dsbench.measure.loaders import Bench, TargetDatabase, processes
from dsbench.measure.loaders.peers import PeerProgram, Pgbench, Sysbench, class_ns
from dsbench.measure.loaders.results import merge_results, read_result
from dsbench.measure.moments import Moment, Silent
from dsbench.read.naming import subject
from dsbench.spec import NotHere, RunSpec, SpecError, Target, build
from dsbench.spec.drivers import DRIVERS, PEERS
from dsbench.stats.histogram import histogram, quantile_ns
from fixtures.archives import timed
from fixtures.program import Program
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

SECRET = "not to be shown"
PeerT = TypeVar("PeerT", bound=PeerProgram)


@pytest.fixture(scope="module")
def urls(postgresql: servers.Server) -> Iterator[dict[str, str]]:
    mariadb = Target(url="private:mariadb", settings={"innodb_flush_log_at_trx_commit": "0"})
    firebird = Target(url="private:firebird", version="3", settings={"forced_writes": "off"})
    with servers.start(mariadb, 20) as second, servers.start(firebird, 20) as third:
        yield {"postgres": postgresql.url, "mysql": second.url, "firebird": third.url, "sqlite": "private:sqlite"}


# The SQLite of Python has no procedures.
CALLS = [(client, call) for client in DRIVERS for call in ("procedure", "statements") if (client, call) != ("sqlite3", "procedure")]


@pytest.mark.parametrize(
    ("client", "call"),
    mostly_thorough(
        CALLS, ("psycopg", "procedure"), ("pymysql", "statements"), ("firebird-driver", "procedure"), ("sqlite3", "statements")
    ),
)
def test_a_driver_does_the_transactions_of_a_run(urls: dict[str, str], tmp_path: Path, client: str, call: str) -> None:
    driver = DRIVERS[client]
    prepare = driver.prepares and call == "statements"
    # The SQLite of some Pythons is older than the clock of the history's rows.
    workload = "select" if client == "sqlite3" else "tpcb"
    archive = dsbench.run(
        urls[driver.dialect], driver=client, call=call, prepare=prepare,
        workload=workload, scales=(1,), cycles=1, duration=0.5, clients=3, os_threads=2, isolation="read-committed", out=tmp_path,
    )  # fmt: skip
    checks = {one.name: one for one in archive.run.checks[1]}
    assert workload == "select" or checks["history rows = committed transactions"].state is State.HOLDS, checks
    assert all(one.state is State.HOLDS for one in checks.values()), "the sums of the clients, whose inputs the core draws, as well"
    cycles = archive.table("cycles").to_pylist()
    committed = sum(row["committed"] for row in cycles)
    assert [row["client"] for row in cycles] == [0, 1, 2], "those of both processes are numbered on"
    assert committed == timed(archive) > 0
    assert sum(archive.table("seconds").column("count").to_pylist()) == committed
    assert all(row["cpu_ns"] > 0 for row in cycles)
    assert archive.run.item("driver", "client") == version(driver)
    assert f"by {client}" in subject(archive.run)


def test_a_version_of_a_driver_is_taken_from_its_own_folder(
    postgresql: servers.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the one of the environment, which stays as it is."""
    monkeypatch.setenv("DSBENCH_SERVERS", str(tmp_path / "cache"))
    spec = {"workload": "select", "driver": "pg8000@1.99.7", "scales": [1], "cycles": 1, "duration": 0.3, "clients": 1}
    asked = build({"target": {"url": postgresql.url}, **spec})
    with pytest.raises(NotHere, match=r"pg8000 1\.99\.7 is not installed: dsbench servers install pg8000 --version 1\.99\.7"):
        dsbench.run(asked, out=tmp_path)
    home, used = caches.driver("pg8000", "1.99.7"), tmp_path / "used"
    found = importlib.metadata.distribution("pg8000")
    shutil.copytree(str(found.locate_file("pg8000")), home / "pg8000")
    described = home / "pg8000-1.99.7.dist-info/METADATA"
    described.parent.mkdir()
    described.write_text("Metadata-Version: 2.1\nName: pg8000\nVersion: 1.99.7\n")
    with (home / "pg8000/__init__.py").open("a") as file:
        file.write(f"\nimport pathlib\npathlib.Path({str(used)!r}).touch()\n")
    archive = dsbench.run(asked, out=tmp_path)
    assert used.exists()
    assert archive.run.item("driver", "client").startswith("pg8000 1.99.7, Python")
    assert "by pg8000@1.99.7" in subject(archive.run)
    assert version(DRIVERS["pg8000"]).startswith(f"pg8000 {found.version},")


@pytest.mark.parametrize(
    ("said", "words"),
    [("pg8000@1.30.5", "lacks functions that dsbench calls"), ("pgbench@16", "has no versions"), ("psycopg@../x", "is not a version"), ("sqlite3@3", "has no versions"), ("odbc@1", "no client program 'odbc@1'")],
)  # fmt: skip
def test_a_version_that_cannot_be_is_refused(said: str, words: str) -> None:
    with pytest.raises(SpecError, match=re.escape(words)):
        build({"target": {"url": "mock:"}, "driver": said})


@pytest.mark.thorough
def test_clients_of_processes_of_unequal_size_do_equal_shares(postgresql: servers.Server, tmp_path: Path) -> None:
    archive = dsbench.run(
        postgresql.url, driver="psycopg", workload="tp1", settings={"transactions": "300"}, scales=(1,), cycles=1, clients=3,
        os_threads=2, out=tmp_path,
    )  # fmt: skip
    rows = archive.table("cycles").to_pylist()
    assert [row["client"] for row in rows] == [0, 1, 2]
    assert len({row["committed"] for row in rows}) == 1


@pytest.fixture
def two_processes(tmp_path: Path) -> Iterator[processes.Processes]:
    """A cycle of the driver sqlite3 in two processes, connected and not begun."""
    with closing(generator.TargetDatabase(f"sqlite:///{tmp_path}/a.db")) as target:
        target.create("test")
        bench = generator.Bench(target, "select", 1, "statements", {}, 2)
        for phase in ("create", "populate", "primary_key", "foreign_key"):
            watch = lambda _done, _total: None  # noqa: E731
            bench.populate(False, 1, watch, 0) if phase == "populate" else bench.phase(phase, watch)
        spec = build({"workload": "select", "driver": "sqlite3", "clients": 2, "os_threads": 2, "duration": 60})
        cycle = bench.cycle(spec, 1, None)
        cycle.connect(30, lambda _done, _total: None)
        assert isinstance(cycle._source, processes.Processes)
        yield cycle._source
        cycle._source._kill()


def test_an_error_of_the_processes_leaves_no_answer_unread(two_processes: processes.Processes) -> None:
    with pytest.raises(_core.CoreError, match="nonsense"):
        two_processes._ask("nonsense")
    assert two_processes.ready() == 2
    two_processes.start(generator.now_ns())
    two_processes.abandon()
    assert all(part["counters"] for part in two_processes.join())


@pytest.mark.parametrize("which", [0, 1])
def test_a_process_that_is_gone_is_told_as_that_and_ends_the_others(
    two_processes: processes.Processes, which: int
) -> None:
    gone, other = two_processes.pids()[which], two_processes.pids()[1 - which]
    two_processes.start(generator.now_ns())
    psutil.Process(gone).kill()
    psutil.Process(gone).wait(30)
    with pytest.raises(_core.CoreError, match="load generator ended"):
        two_processes.finished()
    two_processes.abandon()
    with pytest.raises(_core.CoreError, match="load generator ended"):
        two_processes.join()
    assert not psutil.pid_exists(other)


@unless_stalled
def test_the_times_of_a_second_are_told_while_the_cycle_goes_on(tmp_path: Path) -> None:
    heard: list[Moment] = []

    class Hearing(Silent):
        def moment(self, moment: Moment) -> None:
            if moment.times:
                heard.append(replace(moment, times=tuple(moment.times), seconds=tuple(moment.seconds)))

    archive = dsbench.run(
        "private:sqlite", driver="sqlite3", workload="select", scales=(1,), cycles=1, duration=3.3, clients=2, os_threads=2,
        call="statements", observer=Hearing(), out=tmp_path,
    )  # fmt: skip
    last = heard[-1]
    assert 1 <= len(last.times) < len(last.seconds), "each is known a second after its end"
    first = [row for row in archive.table("seconds").to_pylist() if row["second"] == 0]
    done = sum(row["count"] for row in first)
    for told, column in zip(last.times[0], ("p50_ns", "p99_ns"), strict=True):
        assert told == pytest.approx(sum(row["count"] * row[column] for row in first) / done / 1e9, rel=1e-3)
    assert last.cpus[1] > 0


@pytest.mark.thorough
@unless_stalled
def test_collisions_have_the_codes_and_the_meaning_that_they_have_for_the_own_client(
    urls: dict[str, str], tmp_path: Path
) -> None:
    small = {"scales": (1,), "cycles": 1, "duration": 0.5, "clients": 4, "call": "statements", "retry": True}
    for client in ("psycopg", "pg8000", "psycopg2"):
        archive = dsbench.run(urls["postgres"], driver=client, isolation="serializable", out=tmp_path, **small)
        rows = archive.table("errors").to_pylist()
        assert {row["code"] for row in rows} <= {"40001", "40P01"}
        assert {"40001"} <= {row["code"] for row in rows}
        assert sum(archive.table("cycles").column("retries").to_pylist()) > 0


ENDED = (
    "SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity"
    " WHERE state = 'active' AND query LIKE 'SELECT %balance%' AND pid <> pg_backend_pid()"
)


@pytest.mark.parametrize("client", mostly_thorough(["psycopg", "psycopg2", "pg8000"], "psycopg"))
@unless_stalled
def test_a_statement_that_commits_itself_ends_unknown_when_its_connection_is_lost(
    postgresql: servers.Server, tmp_path: Path, client: str
) -> None:
    lost = threading.Event()

    class Ending(Silent):
        def moment(self, moment: Moment) -> None:
            # A statement takes a small part of what its client does, so that it is looked for often.
            tries = 2000 if moment.phase == "cycle" and not lost.is_set() else 0
            if any(other.fetch(ENDED) for _ in range(tries)):
                lost.set()

    with closing(generator.TargetDatabase(postgresql.url, existing=True)) as other:
        archive = dsbench.run(
            postgresql.url, driver=client, workload="select", call="statements", prepare=False, scales=(1,), cycles=1,
            duration=3, clients=2, os_threads=1, observer=Ending(), out=tmp_path,
        )  # fmt: skip
    assert lost.is_set()
    assert {row["error"] for row in archive.table("errors").to_pylist()} == {"unknown"}


@pytest.mark.parametrize(
    ("client", "dialect", "call"),
    mostly_thorough(
        [
            ("pgbench", "postgres", "procedure"),
            ("pgbench", "postgres", "statements"),
            ("sysbench", "postgres", "procedure"),
            ("sysbench", "postgres", "statements"),
            ("sysbench", "mysql", "statements"),
        ],
        ("pgbench", "postgres", "statements"),
    ),
)
def test_a_program_leaves_what_it_says_in_the_database(
    urls: dict[str, str], tmp_path: Path, client: str, dialect: str, call: str
) -> None:
    archive = dsbench.run(
        urls[dialect], driver=client, call=call, scales=(2,), cycles=1, duration=1, clients=2,
        isolation="read-committed", retry=True, out=tmp_path,
    )  # fmt: skip
    checks = {one.name: one for one in archive.run.checks[2]}
    open_ = [one for one in checks.values() if one.state is not State.HOLDS]
    assert {one.state for one in open_} == {State.NOT_MADE}, checks
    assert all("tells no sums" in one.detail for one in open_)
    assert "history sum = sum of the clients" in [one.name for one in open_]
    cycles = archive.table("cycles").to_pylist()
    assert len(cycles) == 2
    told = [*cycles, *archive.table("seconds").to_pylist()]
    assert {row[name] for row in told for name in PEERS[client].untold if name in row} == {None}
    committed = sum(row["committed"] for row in cycles)
    assert committed == timed(archive) > 0
    late = sum(row["commits_after_window"] for row in cycles)
    rows = checks["history rows = committed transactions"].detail
    assert f"history {committed + late}," in rows
    assert "remote" in archive.run.item("driver", "not reported")
    assert f"by {client}" in subject(archive.run)


@unless_stalled
def test_the_time_in_a_log_of_pgbench_is_that_of_its_report(urls: dict[str, str], tmp_path: Path) -> None:
    archive = dsbench.run(
        urls["postgres"],
        driver="pgbench",
        workload="select",
        scales=(1,),
        cycles=1,
        duration=2,
        clients=2,
        out=tmp_path,
    )
    seconds = archive.table("seconds").to_pylist()
    assert [row["second"] for row in seconds] == [0, 1]
    assert all(0 < row["p50_ns"] <= row["p99_ns"] <= row["max_ns"] for row in seconds)
    ends = archive.table("cycles").column("last_end_ns").to_pylist()
    assert all(1_000_000_000 < end <= 2_000_000_000 for end in ends)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["private:sqlite", "--driver", "psycopg"], "psycopg does not support sqlite\nhint: use one of own, sqlite3"),
        (["postgresql://localhost/x", "--driver", "psycopg2", "--prepare"], "psycopg2 does not prepare statements"),
        (["postgresql://localhost/x", "--driver", "pgbench", "--ramp-up", "1"], "pgbench does not take --ramp-up"),
        (["postgresql://localhost/x", "--driver", "pgbench", "--duration", "1.5"], "whole seconds"),
        (["mysql://me@localhost/", "--driver", "sysbench"], "of MySQL procedures: add --call statements"),
        (["private:sqlite", "--driver", "odbc"], "no client program 'odbc'"),
        (["postgresql://h/x?channel_binding=require", "--driver", "pg8000"], "ignores channel_binding"),
    ],
)
def test_what_a_client_cannot_do_is_told_before_anything_begins(called: Program, said: list[str], words: str) -> None:
    done = called("run", *said, "--dry-run")
    assert done.returncode == 2
    assert words in done.stderr
    assert "--driver" in done.stderr


def peer_of(program: type[PeerT], clients: int, call: str = "statements", url: str = "postgresql:///x") -> PeerT:
    spec = RunSpec(workload="tpcb", isolation="serializable", duration=2, retry=True, max_tries=3)
    return program(spec, url, 1, "mysql" if url.startswith("mysql") else "pgsql", call, clients, 7)


def column(found: dict[str, Any], name: str) -> list[int]:
    return [int(number) for number in found["counters"][:, COUNTERS.index(name)]]


def test_a_log_of_pgbench_is_cut_at_the_end_of_the_cycle_and_counts_every_attempt_that_failed(tmp_path: Path) -> None:
    peer = peer_of(Pgbench, 2)
    # client, number, time, script, second, microsecond, retries
    (peer._folder / "log.1").write_text(
        "0 1 1000 0 100 1000 0\n"  # begins the cycle at 100 s
        "1 1 2000 0 100 500000 1\n"
        "0 2 serialization 0 101 0 2\n"
        "1 2 900000 0 102 100000 0\n"  # ends late
        "0 3 deadlock 0 102 200000 2\n"
    )
    found = peer._read()
    assert [column(found, name) for name in ("committed", "retries", "failed", "in_flight", "commits_after_window")] == [
        [1, 1], [2, 1], [3, 1], [1, 1], [0, 1],
    ]  # fmt: skip
    assert found["errors"] == [(0, 0, "serialization", "40001", 1, "")]
    assert sorted(found["times"].tolist()) == [1_000_000, 2_000_000]
    peer.join()
    assert not peer._folder.exists()


def test_the_last_transactions_of_sysbench_which_end_after_its_time_are_not_counted() -> None:
    peer = peer_of(Sysbench, 4)
    peer._said = (
        "       1.000 |****  300\n       8.000 |*     104\n\n    ignored errors:  6  (3.00 per sec.)\n"
        "    total time:                          2.0104s\n    total number of events:  404\n"
        "         min:   0.50\n         max:   9.00\n         sum:   1132.00\n"
    )
    found = peer._read()
    peer.join()
    assert (column(found, "committed"), column(found, "commits_after_window")) == ([100] * 4, [1] * 4)
    counts = np.frombuffer(found["histogram"], "<u8").reshape(-1, 3)[:, 2].tolist()
    assert counts == [297, 103], "the history holds 404, the histogram what is counted"
    assert sum(column(found, "residence_ns")) == pytest.approx(1132e6 * 400 / 404, rel=1e-6)
    assert set(column(found, "last_end_ns")) == {2_000_000_000}


def test_classes_of_sysbench_do_not_run_into_each_other() -> None:
    # As its histogram prints them: from 0.1 ms on, in steps of 1.8% that are rounded to whole microseconds.
    printed = [round(0.001 * 1e8 ** (number / 1023), 3) for number in range(256, 316)]
    bounds = np.array([class_ns(ms) for ms in printed])
    assert (bounds[1:, 0] > bounds[:-1, 1]).all()
    assert (np.abs(bounds - np.array(printed)[:, None] * 1e6) < np.array(printed)[:, None] * 1e6 * 0.015).all()
    counts = np.full(60, 100)
    p50_ns = quantile_ns(histogram(bounds[:, 0], bounds[:, 1], counts), 0.5)
    assert p50_ns == pytest.approx(printed[29] * 1e6, rel=0.01), "each class is one of its own"


def test_a_program_that_cannot_be_started_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(program: type[PeerProgram]) -> str:
        peer = peer_of(program, 2)
        peer.start(_core.now_ns())
        failure: tuple[str, str, str] = peer.join()["failure"]
        assert peer.finished()
        return failure[2]

    def refuse(*_words: Any, **_how: Any) -> Any:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", refuse)
        assert ended(Pgbench) == f"pgbench cannot be started: [Errno {errno.ENOMEM}] Cannot allocate memory"
    monkeypatch.setattr("dsbench.measure.loaders.peers.program", lambda _name: "")
    assert ended(Sysbench) == "sysbench cannot be started: it is no longer installed"
    stopped = peer_of(Pgbench, 2)
    stopped.abandon()
    stopped.start(_core.now_ns())
    assert stopped.join()["failure"][2] == "stopped on request"


def test_programs_connect_as_the_own_client_would_and_show_no_password() -> None:
    url = "postgresql://me:s%20cret@h:1/d?options=-c%20geqo%3Doff&sslmode=verify-full&sslrootcert=/r"
    env = peers.environment(Target(url=url), "repeatable-read")
    assert (env["PGPASSWORD"], env["PGSSLMODE"], env["PGSSLROOTCERT"]) == ("s cret", "verify-full", "/r")
    assert env["PGOPTIONS"] == r"-c geqo=off -c search_path=dsbench -c default_transaction_isolation=repeatable\ read"
    for program in (peer_of(Pgbench, 1, "procedure", url), peer_of(Sysbench, 1, "procedure", url)):
        words, _env = program._command()
        assert "cret" not in " ".join(words)
        assert all("cret" not in path.read_text() for path in program._folder.iterdir())
        program.join()
    maria = peer_of(Sysbench, 1, url="mysql://me:secret@h/")
    words, _env = maria._command()
    (file,) = maria._folder.iterdir()
    assert ("secret" in file.read_text(), file.stat().st_mode & 0o077, "secret" in " ".join(words)) == (True, 0, False)
    maria.join()


def test_drivers_encrypt_as_the_target_says() -> None:
    def pg(query: str) -> Any:
        return postgres._encryption(Target(url=f"postgresql://h/d?{query}"))

    assert [pg("sslmode=disable"), pg("sslmode=prefer"), pg("sslmode=require")] == [False, None, True]
    full = pg("sslmode=verify-full&sslrootcert=system")
    assert (full.check_hostname, full.verify_mode) == (True, ssl.CERT_REQUIRED)

    def my(query: str) -> Any:
        return mysql._encryption(Target(url=f"mysql://h/?{query}"))

    assert my("socket=/s") == my("ssl_mode=DISABLED") == {"ssl_disabled": True}
    assert my("") == {}
    assert my("ssl_mode=REQUIRED") == {"ssl": {"verify_mode": False}}
    assert my("ssl_ca=/c") == {"ssl_ca": "/c", "ssl_verify_cert": True, "ssl_verify_identity": False}


def test_what_a_killed_run_left_of_a_program_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [f"dsbench-peer-{ended.pid}-a", f"dsbench-peer-{os.getpid()}-b", "dsbench-peer-c", "other"]
    for name in names:
        (tmp_path / name).mkdir()
    peer = peer_of(Pgbench, 1)
    peer.join()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])


def test_a_driver_that_is_missing_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert "pip install 'dsbench-db[drivers]'" in missing(DRIVERS["pg8000"])
    assert missing(DRIVERS["psycopg"]).endswith("pip install 'psycopg[binary]'")


def test_a_server_that_refuses_is_told_without_the_password(tmp_path: Path, urls: dict[str, str]) -> None:
    host = urls["postgres"].partition("?")[2]
    for client in ("psycopg", "psycopg2", "pg8000"):
        target = Target(url=f"postgresql://nobody:{SECRET.replace(' ', '%20')}@/does_not_exist?{host}")
        # A server that has refused may be gone before pg8000 has read why.
        with pytest.raises(Exception, match=r"does_not_exist|nobody|network error") as caught:
            session_opener(DRIVERS[client], target)("serializable")
        assert SECRET not in str(caught.value)
    assert Target(url="mysql://u:p%40@h:1/").without_password("p@ is wrong") == "*** is wrong"


def test_a_password_may_have_letters_beyond_latin_1(urls: dict[str, str]) -> None:
    word = "pä€й;$@%/:?#"
    with closing(TargetDatabase(urls["mysql"])) as target:
        target.create("odd")
        target.fetch(f"CREATE USER 'odd'@'localhost' IDENTIFIED BY '{word}'")
        try:
            target.fetch("GRANT ALL ON dsbench.* TO 'odd'@'localhost'")
            _, _, place = urls["mysql"].partition("@")
            url = f"mysql://odd:{quote(word, safe='')}@{place}"
            with closing(session_opener(DRIVERS["pymysql"], Target(url=url))("serializable")) as session:
                assert [tuple(row) for row in session.prepare("SELECT 1", True, False)([])] == [(1,)]
        finally:
            target.fetch("DROP USER 'odd'@'localhost'")
            target.drop()


# Outside of comments, however deep, of strings of any form and of names: only 1 and 2 are parameters.
_ODD = {
    "postgres": (
        "SELECT /* $2 /* /* /* /* $3 */ % */ */ */ $4 */ $1::int + $2 -- $5?\r\n, $$ $1 ? % $$, $a$ $$ $1 $a$, "
        "E'\\'$1', 'it''s $1', \"a$1\".\"%\" FROM (SELECT 5 AS \"%\") AS \"a$1\"",
        [(42, " $1 ? % ", " $$ $1 ", "'$1", "it's $1", 5)],
    ),
    "mysql": (
        "SELECT /* ? /* ? */ ? + ? -- ?\n, '\\'? %', \"?\", `a``?` # ?\n, 5--? /*! + ? */ FROM (SELECT 5 AS `a``?`) AS t",
        [(42, "'? %", "?", 5, 5 + 3 + 4)],
    ),
}


# pg8000 looks for parameters once more by itself, and takes more for them.
@pytest.mark.parametrize("client", ["psycopg2", "pymysql"])
def test_what_only_looks_like_a_parameter_reaches_the_server_as_it_is(urls: dict[str, str], client: str) -> None:
    dialect = DRIVERS[client].dialect
    sql, rows = _ODD[dialect]
    with closing(TargetDatabase(urls[dialect])) as target:
        target.create("odd")
        try:
            with closing(session_opener(DRIVERS[client], Target(url=urls[dialect]))("serializable")) as session:
                given = session.prepare(sql, True, False)([40, 2, 3, 4] if dialect == "mysql" else [40, 2])
                assert [tuple(row) for row in given] == rows
        finally:
            target.drop()


def test_processes_share_clients_and_what_they_recorded() -> None:
    shares = Bench(TargetDatabase("mock:"), "select", 1, None).fill(RunSpec(clients=5), node=2, nodes=3).divide(2)
    groups = [json.loads(one.__getnewargs__()[0])["groups"][0] for one in shares]
    assert [(one["threads"], one["first_client"]) for one in groups] == [(2, 10), (3, 12)]
    assert [one.clients for one in shares] == [2, 3]
    times = [np.array(some, "<u8") for some in ([1000, 2000, 2000], [2000, 9_000_000])]
    one = {"counters": b"", "groups": b"", "seconds": b"", "failure": None, "dropped_trace_rows": 0, "statements": []}
    raws = [
        {**one, "histograms": [(0, 0, "residence", _core.buckets(some.tobytes()))], "cpu_ns": (1, 2), "sums": {"d": 3},
         "errors": [(0, 0, "busy", "5", 2, "")], "placements": [(0, "free", 2)]}
        for some in times
    ]  # fmt: skip
    whole = merge_results([read_result(raw, 1) for raw in raws])
    ((*key, buckets),) = whole.histograms
    assert (key, buckets.tobytes()) == ([0, 0, "residence"], _core.buckets(np.concatenate(times).tobytes()))
    assert (whole.cpu_ns, whole.sums, whole.placements) == ((2, 4), {"d": 6}, ((0, "free", 4),))
    assert whole.errors == ((0, 0, "busy", "5", 4, ""),)


def test_a_client_is_one_of_the_list() -> None:
    with pytest.raises(SpecError) as refused:
        build({"target": {"url": "private:sqlite"}, "driver": "jdbc"})
    assert refused.value.remedy.startswith("use one of own, psycopg")
