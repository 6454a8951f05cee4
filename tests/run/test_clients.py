"""Other clients under the same run: Python's drivers and other programs, with what the database holds afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench import _core, servers
from dsbench.drivers import DRIVERS, PEERS
from dsbench.drivers.address import Address
from dsbench.drivers.session import by_format
from dsbench.evaluation.naming import subject
from dsbench.generator import processes
from dsbench.runner import Moment, Silent
from dsbench.spec import SpecError, Target, build
from fixtures.program import Program

SECRET = "not to be shown"


@pytest.fixture(scope="module")
def urls(postgresql: servers.Server) -> Iterator[dict[str, str]]:
    mariadb = Target(url="private:mariadb", settings={"innodb_flush_log_at_trx_commit": "0"})
    firebird = Target(url="private:firebird", version="3", settings={"forced_writes": "off"})
    with servers.start(mariadb, 20) as second, servers.start(firebird, 20) as third:
        yield {"postgres": postgresql.url, "mysql": second.url, "firebird": third.url, "sqlite": "private:sqlite"}


@pytest.mark.parametrize("call", ["procedure", "statements"])
@pytest.mark.parametrize("client", DRIVERS)
def test_a_driver_does_the_transactions_of_a_run(urls: dict[str, str], tmp_path: Path, client: str, call: str) -> None:
    driver = DRIVERS[client]
    prepare = driver.prepares and call == "statements"
    # The SQLite of some Pythons is older than the clock of the history's rows.
    workload = "select" if client == "sqlite3" else "tpcb"
    archive = dsbench.run(
        urls[driver.dialect], client=client, call="statements" if client == "sqlite3" else call, prepare=prepare,
        workload=workload, scales=(1,), cycles=1, duration=0.5, threads=3, carriers=2, isolation="read-committed", out=tmp_path,
    )  # fmt: skip
    checks = {one.name: one for one in archive.run.checks[1]}
    assert workload == "select" or checks["history rows = committed transactions"].holds, checks
    assert all(one.holds for one in checks.values()), "the sums of the clients, whose inputs the core draws, as well"
    cycles = archive.table("cycles").to_pylist()
    committed = sum(row["committed"] for row in cycles)
    assert [row["thread"] for row in cycles] == [0, 1, 2], "those of both processes are numbered on"
    assert committed == sum(archive.table("buckets").column("count").to_pylist()) > 0
    assert sum(archive.table("seconds").column("count").to_pylist()) == committed
    assert all(row["cpu_ns"] > 0 for row in cycles)
    assert archive.run.item("driver", "client") == driver.version
    assert f"by {client}" in subject(archive.run)


def test_the_times_of_a_second_are_told_while_the_cycle_goes_on(tmp_path: Path) -> None:
    heard: list[Moment] = []

    class Hearing(Silent):
        def moment(self, moment: Moment) -> None:
            if moment.times:
                heard.append(replace(moment, times=tuple(moment.times), seconds=tuple(moment.seconds)))

    archive = dsbench.run(
        "private:sqlite", client="sqlite3", workload="select", scales=(1,), cycles=1, duration=3.3, threads=2, carriers=2,
        call="statements", observer=Hearing(), out=tmp_path,
    )  # fmt: skip
    last = heard[-1]
    assert 1 <= len(last.times) < len(last.seconds) == 3, "each is known a second after its end"
    first = [row for row in archive.table("seconds").to_pylist() if row["second"] == 0]
    done = sum(row["count"] for row in first)
    for told, column in zip(last.times[0], ("p50_ns", "p99_ns"), strict=True):
        assert told == pytest.approx(sum(row["count"] * row[column] for row in first) / done / 1e9, rel=1e-3)
    assert last.cpus[1] > 0


def test_collisions_have_the_codes_and_the_meaning_that_they_have_for_the_own_client(
    urls: dict[str, str], tmp_path: Path
) -> None:
    small = {"scales": (1,), "cycles": 1, "duration": 0.5, "threads": 4, "call": "statements", "retry": True}
    for client in ("psycopg", "pg8000", "psycopg2"):
        archive = dsbench.run(urls["postgres"], client=client, isolation="serializable", out=tmp_path, **small)
        rows = archive.table("errors").to_pylist()
        assert {row["code"] for row in rows} <= {"40001", "40P01"}
        assert {"40001"} <= {row["code"] for row in rows}
        assert sum(archive.table("cycles").column("retries").to_pylist()) > 0


@pytest.mark.parametrize(
    ("client", "dialect", "call"),
    [
        ("pgbench", "postgres", "procedure"),
        ("pgbench", "postgres", "statements"),
        ("sysbench", "postgres", "procedure"),
        ("sysbench", "postgres", "statements"),
        ("sysbench", "mysql", "statements"),
    ],
)
def test_a_program_leaves_what_it_says_in_the_database(
    urls: dict[str, str], tmp_path: Path, client: str, dialect: str, call: str
) -> None:
    archive = dsbench.run(
        urls[dialect], client=client, call=call, scales=(2,), cycles=1, duration=1, threads=2,
        isolation="read-committed", retry=True, out=tmp_path,
    )  # fmt: skip
    checks = {one.name: one for one in archive.run.checks[2]}
    assert all(one.holds for one in checks.values()), checks
    assert "tells no sums" in checks["history sum = sum of the clients"].detail
    cycles = archive.table("cycles").to_pylist()
    assert len(cycles) == 2
    assert {row[name] for row in cycles for name in PEERS[client].untold} == {None}
    committed = sum(row["committed"] for row in cycles)
    assert committed == sum(archive.table("buckets").column("count").to_pylist()) > 0
    late = sum(row["late_commits"] for row in cycles)
    rows = checks["history rows = committed transactions"].detail
    assert f"history {committed + late}," in rows
    assert "remote" in archive.run.item("driver", "not told")
    assert f"by {client}" in subject(archive.run)


def test_the_time_in_a_log_of_pgbench_is_that_of_its_report(urls: dict[str, str], tmp_path: Path) -> None:
    archive = dsbench.run(
        urls["postgres"],
        client="pgbench",
        workload="select",
        scales=(1,),
        cycles=1,
        duration=2,
        threads=2,
        out=tmp_path,
    )
    seconds = archive.table("seconds").to_pylist()
    assert [row["second"] for row in seconds] == [0, 1]
    assert all(0 < row["p50_ns"] <= row["p99_ns"] <= row["max_ns"] for row in seconds)
    ends = archive.table("cycles").column("last_end_ns").to_pylist()
    assert all(1_500_000_000 < end <= 2_000_000_000 for end in ends)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["private:sqlite", "--client", "psycopg"], "psycopg does not reach sqlite: use one of own, sqlite3"),
        (["postgresql://localhost/x", "--client", "psycopg2", "--prepare"], "psycopg2 prepares no statements"),
        (["postgresql://localhost/x", "--client", "pgbench", "--ramp-up", "1"], "pgbench does not take --ramp-up"),
        (["postgresql://localhost/x", "--client", "pgbench", "--duration", "1.5"], "whole seconds"),
        (["mysql://me@localhost/", "--client", "sysbench"], "procedure of MySQL answers: add --call statements"),
        (["private:sqlite", "--client", "odbc"], "no client 'odbc'"),
    ],
)
def test_what_a_client_cannot_do_is_told_before_anything_begins(called: Program, said: list[str], words: str) -> None:
    done = called("run", *said, "--dry-run")
    assert done.returncode == 2
    assert words in done.stderr
    assert "--client" in done.stderr


def test_a_driver_that_is_missing_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert "pip install 'dsbench-db[drivers]'" in DRIVERS["pg8000"].missing
    assert DRIVERS["psycopg"].missing.endswith("pip install 'psycopg[binary]'")


def test_a_server_that_refuses_is_told_without_the_password(tmp_path: Path, urls: dict[str, str]) -> None:
    host = urls["postgres"].partition("?")[2]
    for client in ("psycopg", "psycopg2", "pg8000"):
        # A server that has refused may be gone before pg8000 has read why.
        with pytest.raises(Exception, match=r"does_not_exist|nobody|network error") as caught:
            DRIVERS[client].opener(f"postgresql://nobody:{SECRET.replace(' ', '%20')}@/does_not_exist?{host}")(
                "serializable"
            )
        assert SECRET not in str(caught.value)
    assert Address.of("mysql://u:p%40@h:1/").without_password("p@ is wrong") == "*** is wrong"


def test_placeholders_become_those_of_the_driver() -> None:
    assert by_format("SELECT '?$1%', a % ? FROM t WHERE b = $12") == "SELECT '?$1%%', a %% %s FROM t WHERE b = %s"


def test_processes_share_clients_counts_and_what_they_recorded() -> None:
    group = {"threads": 5, "first_client": 10, "pacing": ("closed", 0.0, "all"), "until": ("transactions", 11, "all")}
    options = {"groups": [group], "carriers": 0, "trace": None}
    assert processes.processes_for(options, 2) == 2
    assert processes.processes_for({**options, "carriers": 9}, 2) == 5
    assert processes.processes_for({**options, "groups": [group, group]}, 8) == 1
    shares = [processes.share(options, number, 2)["groups"][0] for number in range(2)]
    assert [(one["threads"], one["first_client"]) for one in shares] == [(2, 10), (3, 12)]
    assert sum(one["until"][1] for one in shares) == 11
    times = [np.array(some, "<u8") for some in ([1000, 2000, 2000], [2000, 9_000_000])]
    one = {"counters": b"", "groups": b"", "seconds": b"", "failure": None, "untraced": 0, "statements": []}
    parts = [
        {**one, "histograms": [(0, 0, "residence", _core.buckets(some.tobytes()))], "cpu_ns": (1, 2), "sums": {"d": 3},
         "errors": [(0, 0, "busy", "5", 2, "")], "placements": [(0, "free", 2)]}
        for some in times
    ]  # fmt: skip
    found = processes.merged(parts, [2, 3], None)
    assert found["histograms"] == [(0, 0, "residence", _core.buckets(np.concatenate(times).tobytes()))]
    assert (found["cpu_ns"], found["sums"], found["placements"]) == ((2, 4), {"d": 6}, [(0, "free", 4)])
    assert found["errors"] == [(0, 0, "busy", "5", 4, "")]


def test_a_client_is_one_of_the_list() -> None:
    with pytest.raises(SpecError, match="use one of own, psycopg"):
        build({"target": {"url": "private:sqlite"}, "client": "jdbc"})
