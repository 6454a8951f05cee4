"""Servers as they stand: what the doctor and a run say of each."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.dataclass import dataclass
from dsbench.spec import Target
from fixtures.pooler import pgbouncer
from fixtures.program import Program, described, only_archive
from fixtures.proxies import haproxy, pgpool
from fixtures.psql import Psql
from fixtures.standby import SETTINGS, hosts, standby

pytestmark = pytest.mark.thorough

SHORT = ("--cycles", "1", "--duration", "1", "--clients", "2", "--out", "out")
SELECT = ("--workload", "select", "--scales", "1", *SHORT)
READ = ("--existing", "--script", "one.sql", *SHORT)
Served = AbstractContextManager[str]
"""Of a URL."""
POSTGRES, TCP = "private:postgresql", {"listen_addresses": "127.0.0.1"}
BIND = {"bind_address": "127.0.0.1"}


@contextmanager
def started(name: str, settings: Mapping[str, str], *sql: str) -> Iterator[str]:
    """The URL of a private server, as a server of somebody's, after ``sql``."""
    with servers.start(Target(url=name, settings=dict(settings)), 60) as server:
        if sql:
            with closing(Psql.open(server.url)) as psql:
                for statement in sql:
                    psql.fetch(statement)
        yield server.url


@contextmanager
def as_role(*sql: str) -> Iterator[str]:
    with started(POSTGRES, {}, "CREATE ROLE little LOGIN", *sql) as url:
        yield url.replace("postgres@", "little@", 1)


@contextmanager
def encrypted(name: str, words: str) -> Iterator[str]:
    """With a certificate that an authority of its own has signed; ``words`` are the URL's, with its place as {ca}."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        _sign(folder)
        owner = servers.account(folder)
        for file in folder.iterdir():
            # PostgreSQL wants its key for itself; MariaDB runs as another user.
            file.chmod(0o600 if file.suffix == ".key" and name == POSTGRES else 0o644)
            if owner and name == POSTGRES:
                shutil.chown(file, owner)
        files = {"ssl_cert": f"{folder}/server.crt", "ssl_key": f"{folder}/server.key"}
        if name == POSTGRES:
            files = {"ssl": "on", **TCP, **{f"{key}_file": value for key, value in files.items()}}
        with started(name, files if name == POSTGRES else {**BIND, **files}) as url:
            separator = "&" if "?" in url else "?"
            yield f"{url}{separator}{words.format(ca=folder / 'ca.crt')}"


def _sign(folder: Path) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=An authority")
    openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    (folder / "names").write_text("subjectAltName = IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-out", "server.crt", "-extfile", "names")  # fmt: skip


@contextmanager
def behind(proxy: Callable[[servers.Server], Served]) -> Iterator[str]:
    with servers.start(Target(url=POSTGRES), 60) as server, proxy(server) as url:
        yield url


@contextmanager
def copied(way: str) -> Iterator[str]:
    """A primary and its copy: the URL of the ``copy``, of ``both``, or of a ``Pgpool-II`` before them."""
    with ExitStack() as held:
        primary = held.enter_context(servers.start(Target(url=POSTGRES, settings=SETTINGS), 60))
        copy = held.enter_context(standby(primary))
        if way == "pgpool":
            yield held.enter_context(pgpool([primary.url, copy]))
        else:
            yield copy if way == "copy" else hosts(copy, primary.url) + "&target_session_attrs=primary"


@dataclass(frozen=True)
class Case:
    """A server, what is asked of it, and how that ends."""

    server: Callable[[], Served]
    asked: tuple[str, ...] = SELECT
    doctor: int = 0
    run: int = 0
    words: str = ""
    """In what the run says."""


CASES = {
    "postgresql": Case(lambda: started(POSTGRES, TCP)),
    "postgresql, TLS with verify-full": Case(lambda: encrypted(POSTGRES, "sslmode=verify-full&sslrootcert={ca}")),
    "postgresql, TLS refused": Case(lambda: encrypted(POSTGRES, "sslmode=verify-full&sslrootcert=system"), doctor=1, run=1,
                                    words="certificate"),
    "postgresql, a role that may create nothing": Case(lambda: as_role(), doctor=1, run=2, words="GRANT CREATE ON DATABASE"),
    "postgresql, the same role reads": Case(lambda: as_role(), READ, doctor=1),
    "postgresql, a role with time-outs": Case(
        lambda: as_role("GRANT CREATE ON DATABASE postgres TO little", "ALTER ROLE little SET statement_timeout = '50ms'")),
    "postgresql, a role that is read-only": Case(
        lambda: as_role("ALTER ROLE little SET default_transaction_read_only = on", "GRANT CREATE ON DATABASE postgres TO little"),
        doctor=1, run=2, words="take no writes"),
    "postgresql, few connections": Case(
        lambda: as_role("GRANT CREATE ON DATABASE postgres TO little", "ALTER ROLE little CONNECTION LIMIT 2"),
        doctor=1, run=2, words="use fewer --clients"),
    "postgresql, a copy is read": Case(lambda: copied("copy"), READ, doctor=1),
    "postgresql, a copy is not written": Case(lambda: copied("copy"), doctor=1, run=2, words="this server is a copy"),
    "postgresql, the primary of several hosts": Case(lambda: copied("both")),
    "Pgpool-II": Case(lambda: copied("pgpool")),
    "PgBouncer, sessions": Case(lambda: behind(lambda server: pgbouncer(server, "session"))),
    "PgBouncer, transactions": Case(lambda: behind(lambda server: pgbouncer(server, "transaction"))),
    "PgBouncer, statements": Case(lambda: behind(lambda server: pgbouncer(server, "statement")), doctor=2, run=2,
                                  words="set its pool_mode to session"),
    "HAProxy": Case(lambda: behind(lambda server: haproxy(server.url, "20s"))),
    "mariadb": Case(lambda: started("private:mariadb", BIND)),
    "mariadb, TLS": Case(lambda: encrypted("private:mariadb", "ssl-mode=VERIFY_IDENTITY&ssl-ca={ca}")),
    "mariadb, primary keys wanted": Case(lambda: started("private:mariadb", {"innodb_force_primary_key": "ON"})),
    "mariadb, read-only": Case(lambda: started("private:mariadb", {"read_only": "ON"})),
    "mysql, TLS": Case(lambda: started("private:mysql", BIND)),
    "mysql, primary keys wanted": Case(lambda: started("private:mysql", {"sql_require_primary_key": "ON"})),
    "mysql, nobody writes": Case(lambda: started("private:mysql", {"super_read_only": "ON"}), doctor=1, run=2,
                                 words="super_read_only ON: this server takes no writes"),
    "firebird": Case(lambda: started("private:firebird", {})),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_server_as_it_stands(name: str, called: Program, tmp_path: Path) -> None:
    case = CASES[name]
    (tmp_path / "one.sql").write_text("SELECT 1 AS one;\n" if "firebird" not in name else "SELECT 1 AS one FROM rdb$database;\n")
    with case.server() as url:
        asked, done = called("doctor", url, "--clients", "2"), called("run", url, *case.asked)
    said = " ".join((asked.stdout + asked.stderr + done.stdout + done.stderr).split())
    assert (asked.returncode, done.returncode) == (case.doctor, case.run), said
    assert case.words in said
    assert "--resume" not in said or case.run == 0
    if case.run == 0:
        run = described(only_archive(tmp_path / "out"))
        assert run["status"] == "complete"
        assert all(one["state"] == "holds" for checks in run["checks"].values() for one in checks)
    else:
        assert not list((tmp_path / "out").glob("*")), "nothing is made of what is refused"
    password = Target(url=url).password
    assert not password or password not in said
