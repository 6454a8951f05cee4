"""Runs through a PgBouncer: isolation and schema are in force there, too, or the run is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import dsbench
from dsbench import servers
from dsbench.archive.conditions import State
from dsbench.measure.drivers import DriverError, session_opener
from dsbench.measure.loaders import IN_DATABASE, CoreError, TargetDatabase
from dsbench.measure.place import lock
from dsbench.spec import Target
from dsbench.spec.drivers import DRIVERS
from fixtures.pooler import pgbouncer
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

IGNORING = {"ignore_startup_parameters": "extra_float_digits,default_transaction_isolation,search_path,options"}
"""The login is taken, and what it asks for is dropped."""
SMALL = {"scales": (1,), "cycles": 1, "duration": 0.5, "clients": 3}
LEFT = (
    "SELECT nspname::text AS left FROM pg_namespace WHERE nspname = 'dsbench'"
    " UNION SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    " UNION SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
    " UNION SELECT 'a lock' FROM pg_locks WHERE locktype = 'advisory'"
)


@pytest.fixture(params=["session", "ignoring", "transaction"])
def pooled(request: pytest.FixtureRequest, postgresql: servers.Server) -> Iterator[str]:
    """The URL of a pooler of each kind that a run can use."""
    ignoring = request.param == "ignoring"
    with pgbouncer(postgresql, "session" if ignoring else request.param, **(IGNORING if ignoring else {})) as url:
        yield url


@pytest.fixture
def transactions(postgresql: servers.Server) -> Iterator[str]:
    """The URL of a pooler of transactions."""
    with pgbouncer(postgresql, "transaction") as url:
        yield url


def left(server: servers.Server) -> list[dict[str, str | None]]:
    """What of dsbench's is in the database."""
    with closing(TargetDatabase(server.url, existing=True)) as direct:
        return direct.fetch(LEFT)


@pytest.mark.parametrize("workload", mostly_thorough(["tpcb", "tpcb-procedure", "select", "tpcc", "script"], "tpcb"))
def test_workloads_run_through_a_pooler_as_on_the_server(
    postgresql: servers.Server, pooled: str, tmp_path: Path, workload: str
) -> None:
    asked = {
        "tpcb": {"workload": "tpcb", "call": "statements"},
        "tpcb-procedure": {"workload": "tpcb", "call": "procedure"},
        "select": {"workload": "select"},
        "tpcc": {"workload": "tpcc", "workload_settings": {"size": "0.1"}},
        "script": {"builtin": "tpcb-like"},
    }[workload]
    archive = dsbench.run(pooled, isolation="serializable", out=tmp_path, **asked, **SMALL)
    assert archive.run.status == "complete"
    assert all(one.state is State.HOLDS for one in archive.run.checks[1]), archive.run.checks[1]
    assert sum(archive.table("cycles").column("committed").to_pylist()) > 0
    if workload.startswith(("tpcb", "script")):
        # Read committed would wait for the row of the branch and go on.
        # Where the machine has other work, no two may have met at first.
        tries = 5
        while not archive.table("errors").num_rows and (tries := tries - 1):
            archive = dsbench.run(pooled, isolation="serializable", out=tmp_path, **asked, **SMALL | {"duration": 3.0})
        assert {row["code"] for row in archive.table("errors").to_pylist()} == {"40001"}
    assert "a pooler of" in (archive.path / "results.log").read_text()
    assert "samples" not in {warning.code for warning in archive.run.warnings}
    assert left(postgresql) == []


def test_statements_and_blocks_of_a_script_have_the_level_that_was_asked_for(
    postgresql: servers.Server, pooled: str, tmp_path: Path
) -> None:
    script = tmp_path / "seen.sql"
    level = "INSERT INTO seen VALUES (current_setting('transaction_isolation'));"
    script.write_text(f"{level}\nBEGIN;\nSELECT 1;\n{level}\nEND;\nBEGIN ISOLATION LEVEL READ COMMITTED;\n{level}\nEND;\n")
    with closing(TargetDatabase(postgresql.url, existing=True)) as direct:
        direct.fetch("CREATE TABLE seen (level text)")
        try:
            archive = dsbench.run(
                pooled, existing=True, script=str(script), isolation="repeatable-read", cycles=1, duration=0.3, clients=2,
                out=tmp_path,
            )  # fmt: skip
            counted = archive.table("cycles")
            done = sum(sum(counted[name].to_pylist()) for name in IN_DATABASE)
            seen = direct.fetch("SELECT level, count(*) AS n FROM seen GROUP BY 1 ORDER BY 1")
        finally:
            direct.fetch("DROP TABLE seen")
    assert {row["level"]: int(row["n"] or 0) for row in seen} == {"read committed": done, "repeatable read": 2 * done}


def test_sessions_of_a_pooler_keep_prepared_statements(postgresql: servers.Server, tmp_path: Path) -> None:
    with pgbouncer(postgresql, "session") as url:
        archive = dsbench.run(url, call="statements", prepare=True, reconnect=True, out=tmp_path, **SMALL)
    assert all(one.state is State.HOLDS for one in archive.run.checks[1])


def test_a_pooler_of_statements_is_refused(postgresql: servers.Server, tmp_path: Path) -> None:
    with pgbouncer(postgresql, "statement") as url, pytest.raises(dsbench.RunError, match="no transactions of several") as caught:
        dsbench.run(url, out=tmp_path, **SMALL)
    assert caught.value.remedy.startswith("set its pool_mode to session")
    assert left(postgresql) == []


@pytest.mark.parametrize(
    ("asked", "words", "remedy"),
    [
        ({"prepare": True}, "--prepare: the pooler ", "omit --prepare, set its pool_mode to session"),
        ({"driver": "psycopg"}, "--driver psycopg: the pooler ", "omit --driver"),
        ({"driver": "pgbench", "duration": 1}, "--driver pgbench: the pooler ", "omit --driver"),
    ],
)
def test_what_does_not_get_through_is_refused_before_anything_is_made(
    transactions: str, tmp_path: Path, asked: dict[str, object], words: str, remedy: str
) -> None:
    with pytest.raises(dsbench.RunError, match=words) as caught:
        dsbench.run(transactions, out=tmp_path, **{**SMALL, **asked})
    assert caught.value.remedy.startswith(remedy)
    assert list(tmp_path.iterdir()) == []


def test_settings_of_a_session_do_not_reach_the_sessions_of_others(
    postgresql: servers.Server, transactions: str, tmp_path: Path
) -> None:
    with pytest.raises(dsbench.RunError, match="keeps no settings of a session"):
        dsbench.run(transactions, workload="insert", workload_settings={"rows": "1000"}, scales=(1,), out=tmp_path)
    assert left(postgresql) == []
    with closing(TargetDatabase(transactions, existing=True)) as other:
        assert other.fetch("SELECT current_setting('enable_seqscan') AS is") == [{"is": "on"}]


def test_options_of_the_target_are_refused(transactions: str, tmp_path: Path) -> None:
    with pytest.raises(dsbench.RunError, match=r"options= of the target .*does not get through it"):
        dsbench.run(f"{transactions}?options=-c%20work_mem%3D8MB", out=tmp_path, **SMALL)


def test_a_driver_is_refused_whose_sessions_are_not_what_it_asked_for(postgresql: servers.Server) -> None:
    with pgbouncer(postgresql, "session", **IGNORING) as url:
        for client in ("psycopg", "psycopg2", "pg8000"):
            opener = session_opener(DRIVERS[client], Target(url=url))
            with pytest.raises(DriverError, match=r"sessions have read committed, .* instead of"):
                opener("serializable")


def test_two_runs_do_not_share_a_target_behind_a_pooler(postgresql: servers.Server, transactions: str) -> None:
    with closing(TargetDatabase(transactions, existing=True)) as one:
        lock(one)
        with closing(TargetDatabase(transactions, existing=True)) as other, pytest.raises(dsbench.RunError, match="another run"):
            lock(other)
        one.hold()
        with closing(TargetDatabase(postgresql.url, existing=True)) as direct:
            ended = "SELECT pg_terminate_backend(pid) AS ended FROM pg_locks WHERE locktype = 'advisory' AND granted"
            assert direct.fetch(ended) == [{"ended": "t"}]
        one.hold()
        with closing(TargetDatabase(transactions, existing=True)) as other, pytest.raises(dsbench.RunError, match="another run"):
            lock(other)
    with closing(TargetDatabase(transactions, existing=True)) as next_one:
        lock(next_one)


@unless_stalled
def test_a_pool_of_one_session_is_told(postgresql: servers.Server) -> None:
    with (
        pgbouncer(postgresql, "session", default_pool_size="1") as url,
        closing(TargetDatabase(f"{url}?connect_timeout=1", existing=True)) as target,
        pytest.raises(CoreError, match="raise its default_pool_size"),
    ):
        target.fetch("SELECT 1 AS one")
