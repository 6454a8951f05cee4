"""What a server of a user's refuses is refused before anything is made; what it limits is lifted, or told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.measure import preflight
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.preflight import Fit
from dsbench.spec import Target, merged
from fixtures.program import Program, described, only_archive
from fixtures.psql import Psql
from fixtures.standby import SETTINGS, caught_up, hosts, standby

SHORT = ("--scales", "1", "--cycles", "1", "--duration", "0.3", "--clients", "4", "--out", "out")


@contextmanager
def role(server: servers.Server, *settings: str) -> Iterator[str]:
    """The URL of a user with the right to make a schema, and with ``settings``, SQL on ``mended``."""
    with closing(Psql.open(server.url)) as psql:
        try:
            for sql in ("CREATE ROLE mended LOGIN", "GRANT CREATE ON DATABASE postgres TO mended", *settings):
                psql.fetch(sql)
            yield server.url.replace("postgres@", "mended@", 1)
        finally:
            psql.fetch("ALTER ROLE mended RESET ALL")
            psql.fetch("ALTER ROLE mended CONNECTION LIMIT -1")
            psql.fetch("DROP SCHEMA IF EXISTS dsbench CASCADE")
            psql.fetch("DROP OWNED BY mended")
            psql.fetch("DROP ROLE mended")


REFUSED = {
    "REVOKE CREATE ON DATABASE postgres FROM mended": ("may not create the schema dsbench", "GRANT CREATE ON DATABASE"),
    "ALTER ROLE mended SET default_transaction_read_only = on": ("take no writes", "RESET default_transaction_read_only"),
    "ALTER ROLE mended CONNECTION LIMIT 3": ("3 free (CONNECTION LIMIT of role mended), 5 needed", "use fewer --clients"),
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_a_role_may_not_is_refused_before_anything_is_made(
    postgresql: servers.Server, called: Program, tmp_path: Path, setting: str
) -> None:
    problem, remedy = REFUSED[setting]
    with role(postgresql, setting) as url:
        run, dry, asked = called("run", url, *SHORT), called("run", url, *SHORT, "--dry-run"), called("doctor", url, "--clients", "4")
    said = " ".join(run.stderr.split())
    assert (run.returncode, dry.returncode, asked.returncode) == (2, 2, 1), said
    assert problem in said
    assert remedy in said.partition("hint: ")[2]
    assert "--resume" not in said
    assert not (tmp_path / "out").exists()
    for shown in (dry.stdout, asked.stdout):
        assert problem in shown
        assert remedy in shown


def test_the_time_outs_of_a_role_end_no_work_of_dsbench(
    postgresql: servers.Server, called: Program, tmp_path: Path
) -> None:
    settings = (
        "ALTER ROLE mended SET statement_timeout = '20ms'", "ALTER ROLE mended SET lock_timeout = '1ms'",
        "ALTER ROLE mended SET idle_session_timeout = '400ms'",
        "ALTER ROLE mended SET idle_in_transaction_session_timeout = '300ms'",
    )  # fmt: skip
    with role(postgresql, *settings) as url:
        asked = json.loads(called("doctor", url, "--json").stdout)
        done = called("run", url, *SHORT, "--workload", "select", "--duration", "1.5")
    told = [fact["found"] for fact in asked if fact["name"] == "time-outs"]
    assert [words.partition(" ")[0] for words in told] == [
        "idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"
    ], "the clients of a closed loop do not wait between transactions"
    assert all(fact["fit"] == "costs" for fact in asked if fact["name"] == "time-outs")
    assert done.returncode == 0, done.stderr
    assert described(only_archive(tmp_path / "out"))["status"] == "complete"


def test_a_server_that_has_all_is_well(postgresql: servers.Server) -> None:
    spec = merged({"clients": (4,)}, target=postgresql.url).spec
    facts = {fact.name: fact for fact in preflight.ask_url(spec)}
    assert {name: fact.fit for name, fact in facts.items()} == {
        "server": Fit.OK, "connection": Fit.OK, "user": Fit.OK, "connections": Fit.OK, "durability": Fit.COSTS}  # fmt: skip
    assert facts["server"].found.startswith("PostgreSQL 1")
    assert "fsync off" in facts["durability"].found


def test_a_plan_does_without_the_server_and_the_doctor_does_not(called: Program) -> None:
    done = called("run", "postgresql://me@127.0.0.1:1/db?pgbouncer=true&sslmode=require", "--dry-run")
    assert done.returncode == 0
    assert "the server was not asked: postgresql://me@127.0.0.1:1" in done.stdout
    asked = called("doctor", "postgresql://me@127.0.0.1:1/db")
    assert (asked.returncode, "start the server" in asked.stderr) == (1, True)
    silent = called("doctor", "sqlite:////tmp/a.db")
    assert (silent.returncode, "there is no server to ask" in silent.stderr) == (2, True)


@pytest.fixture(scope="module")
def copy() -> Iterator[tuple[str, str]]:
    """URLs of a primary and of its hot standby."""
    with servers.start(Target(url="private:postgresql", settings=SETTINGS), 40) as primary, standby(primary) as url:
        yield primary.url, url


def test_a_copy_is_read_and_never_written(copy: tuple[str, str], called: Program, tmp_path: Path) -> None:
    primary, copied = copy
    with closing(Psql.open(primary)) as psql:
        psql.fetch("CREATE TABLE pgbench_branches AS SELECT 1 AS bid, 0 AS bbalance")
        psql.fetch("CREATE TABLE pgbench_accounts AS SELECT g AS aid, 1 AS bid, 0 AS abalance FROM generate_series(1, 100000) g")
        psql.fetch("ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)")
    caught_up(primary, copied)
    run = called("run", copied, *SHORT)
    said = " ".join(run.stderr.split())
    assert run.returncode == 2
    assert "this server is a copy (hot standby)" in said
    assert "name the primary" in said
    reads = called("run", copied, "--existing", "--builtin", "select-only", *SHORT)
    assert reads.returncode == 0, reads.stderr
    warnings = [one["code"] for one in described(only_archive(tmp_path / "out"))["warnings"]]
    assert "monitor" not in warnings, warnings


def test_several_hosts_give_the_one_that_fits(copy: tuple[str, str], called: Program, tmp_path: Path) -> None:
    primary, copied = copy
    url = hosts(copied, primary) + "&target_session_attrs="
    for attributes, expected in (("any", "t"), ("read-write", "f"), ("primary", "f"), ("standby", "t"), ("prefer-standby", "t")):
        with closing(TargetDatabase(url + attributes)) as target:
            assert target.fetch("SELECT pg_is_in_recovery() AS copy") == [{"copy": expected}], attributes
    alone = f"{copied}&target_session_attrs=read-write"
    done = called("run", alone, *SHORT)
    assert done.returncode == 1
    assert "hot standby), which target_session_attrs excludes" in " ".join(done.stderr.split())


def test_a_service_names_the_server(postgresql: servers.Server, called: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(url=postgresql.url)
    (tmp_path / "services").write_text(f"[mine]\nhost={target.host}\nport={target.port or 5432}\ndbname=postgres\nuser=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGSERVICE", "mine")
    asked = called("doctor", "postgresql://")
    assert (asked.returncode, asked.stdout.splitlines()[0].split()[:3]) == (0, ["ok", "server", "PostgreSQL"])
    monkeypatch.setenv("PGSERVICE", "yours")
    done = called("doctor", "postgresql://")
    assert done.returncode == 2
    assert "service \"yours\" is defined in none of" in " ".join(done.stderr.split())


def test_tables_without_a_key_get_one_where_the_server_wants_it(called: Program, tmp_path: Path) -> None:
    for number, workload in enumerate(("tpcb", "tpcc", "tp1")):
        out = f"out{number}"
        done = called("run", "private:mariadb?innodb_force_primary_key=ON", "--workload", workload, *SHORT[:-1], out)
        assert done.returncode == 0, done.stderr
        stack = json.dumps(described(only_archive(tmp_path / out))["stack"])
        assert "tables without one got an invisible one: innodb_force_primary_key" in stack


@pytest.mark.needs_mysql
def test_mysql_demands_keys_and_limits_statements(called: Program, tmp_path: Path) -> None:
    demanding = "private:mysql?sql_require_primary_key=ON&max_allowed_packet=16384&local_infile=OFF"
    done = called("run", demanding, *SHORT)
    assert done.returncode == 0, done.stderr
    few = called("run", "private:mysql?max_prepared_stmt_count=20", "--call", "statements", "--prepare", "--workload", "tpcc", *SHORT)
    said = " ".join(few.stderr.split())
    assert few.returncode == 2, said
    assert "20 free (max_prepared_stmt_count)" in said


def test_a_login_that_require_auth_excludes_is_refused(postgresql: servers.Server, called: Program) -> None:
    for words, fits in (("none", True), ("scram-sha-256,md5", False), ("!password", True), ("!none", False)):
        done = called("doctor", f"{postgresql.url}&require_auth={words}")
        assert done.stdout.startswith("ok    server") is fits, done.stdout
        assert ("login by none, which require_auth excludes" in done.stderr) is not fits
        assert done.returncode == (0 if fits else 1)


def test_words_of_consoles_are_passed_over_by_name(postgresql: servers.Server, called: Program) -> None:
    done = called("doctor", f"{postgresql.url}&pgbouncer=true&connection_limit=5&keepalives_idle=30")
    assert "its parameters connection_limit, pgbouncer have no effect here" in done.stdout
    typed = called("doctor", f"{postgresql.url}&sslmod=require")
    assert (typed.returncode, 'unknown parameter "sslmod"' in typed.stderr) == (2, True)
    assert "sslmode" in typed.stderr
    assert "load_balance_hosts" not in typed.stderr, "which would be refused"


def test_a_wrong_password_is_tried_once(called: Program) -> None:
    settings = {"fsync": "off", "listen_addresses": "127.0.0.1"}
    with servers.start(Target(url="private:postgresql", settings=settings), 20) as server:
        wrong = server.url.replace(f":{Target(url=server.url).password}@", ":falsch@") + "?sslmode=disable"
        for number, command in enumerate((("doctor", wrong), ("run", wrong, *SHORT)), start=1):
            done = called(*command)
            assert "password authentication failed" in done.stdout + done.stderr
            assert "\n".join(server.log_tail(500)).count("FATAL:  password authentication failed") == number


def test_what_protects_a_schema_is_asked_for_before_it_is_made(called: Program) -> None:
    with (
        servers.start(Target(url="private:postgresql", settings={"fsync": "off"}), 20) as server,
        role(server, "REVOKE ALL ON pg_catalog.pg_stat_activity FROM PUBLIC") as url,
    ):
        refused, asked = called("run", url, *SHORT), called("doctor", url, "--existing")
    said = " ".join(refused.stderr.split())
    assert refused.returncode == 2
    assert "this user has no list of sessions; a run needs for its schema: list of sessions" in said
    assert "grant them to the user" in said
    assert asked.returncode == 0
    assert asked.stdout.startswith("costs server")
