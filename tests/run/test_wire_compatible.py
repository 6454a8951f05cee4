"""Servers that speak PostgreSQL's protocol and are others: what they have is asked of them, and no figure is theirs by
mistake."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from dsbench import servers
from dsbench.library.archive import Archive
from dsbench.measure.loaders import IN_DATABASE, TargetDatabase
from dsbench.servers.process import free_port
from fixtures.program import Program, described, only_archive
from fixtures.waiting import PATIENCE_S, until

pytestmark = pytest.mark.thorough

FOLDER = Path(os.environ.get("DSBENCH_TEST_WIRE", "/var/tmp/dsbench-wire"))
SCRIPT = "\\set id random(1, 3)\nSELECT name FROM shop WHERE id = :id;\n"
SHORT = ("--cycles", "1", "--duration", "1", "--clients", "1", "--out", "out")


@contextmanager
def _served(command: Sequence[str], port: int) -> Iterator[None]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/tmp") as process:
        try:
            assert until(lambda: socket.create_connection(("127.0.0.1", port), 1).close() is None, PATIENCE_S)
            assert process.poll() is None
            yield
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.fixture
def pglite() -> Iterator[str]:
    program = FOLDER / "node_modules/.bin/pglite-server"
    if not program.exists() or shutil.which("node") is None:
        pytest.skip("PGlite is not there: scripts/need-wire")
    port = free_port()
    with _served([str(program), f"--port={port}", "--max-connections=30"], port):
        time.sleep(1)
        yield f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres?sslmode=disable"


@pytest.fixture
def h2(tmp_path: Path) -> Iterator[str]:
    jar = FOLDER / "h2-2.3.232.jar"
    if not jar.exists() or shutil.which("java") is None:
        pytest.skip("H2 is not there: scripts/need-wire")
    rows = "create table shop(id int primary key, name varchar(9)); insert into shop values (1,'a'),(2,'b'),(3,'c')"
    url = f"jdbc:h2:{tmp_path}/test;MODE=PostgreSQL;DATABASE_TO_LOWER=TRUE"
    made = ["java", "-cp", str(jar), "org.h2.tools.Shell", "-url", url, "-user", "sa"]
    subprocess.run([*made, "-password", "sa", "-sql", rows], check=True, capture_output=True)
    port = free_port()
    with _served(["java", "-cp", str(jar), "org.h2.tools.Server", "-pg", "-pgPort", str(port), "-baseDir", str(tmp_path)], port):
        yield f"postgresql://sa:sa@127.0.0.1:{port}/test?sslmode=disable"


@pytest.fixture
def dolt() -> Iterator[str]:
    """Dolt's engine, whose tables are in memory and not of transactions."""
    program = FOLDER / "dolt-engine"
    if not program.exists():
        pytest.skip("Dolt's engine is not there: scripts/need-wire")
    port = free_port()
    with _served([str(program), f"-address=127.0.0.1:{port}"], port):
        yield f"mysql://root@127.0.0.1:{port}/test"


@pytest.fixture
def vitess(mysql_home: str) -> Iterator[str]:
    """Vitess with one shard, over a MySQL of its own."""
    home = FOLDER / "vitess"
    if not (home / "bin" / "vttestserver").exists():
        pytest.skip("Vitess is not there: scripts/need-wire")
    user = servers.account(Path("/tmp"))
    switch = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
    with tempfile.TemporaryDirectory(prefix="vitess-") as data:
        if user:
            shutil.chown(data, user)
        named = {"VTDATAROOT": data, "VTROOT": home, "VT_MYSQL_ROOT": mysql_home, "MYSQL_FLAVOR": "MySQL80", "HOME": data,
                 "PATH": f"{home}/bin:{mysql_home}/bin:{os.environ['PATH']}"}  # fmt: skip
        # It takes the next ports, too: the third is that of MySQL's protocol.
        first = free_port()
        words = ["--port", str(first), "--mysql-bind-host", "127.0.0.1", "--keyspaces", "test", "--num-shards", "1"]
        variables = [f"{name}={value}" for name, value in named.items()]
        try:
            with _served([*switch, "env", *variables, "vttestserver", *words, "--data-dir", data], first + 3):
                yield f"mysql://root@127.0.0.1:{first + 3}/test"
        finally:
            # Its processes outlive it, and its MySQL takes no notice of SIGTERM.
            for process in [one for one in psutil.process_iter(["cmdline"]) if data in " ".join(one.info["cmdline"] or [])]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
                    process.wait(PATIENCE_S)


def test_h2_is_told_for_what_it_is_and_read_by_scripts(h2: str, called: Program, tmp_path: Path) -> None:
    asked = called("doctor", h2)
    assert asked.returncode == 1
    assert "this user has no advisory locks" in asked.stdout
    assert "use tables that are there" in asked.stdout
    run = called("run", h2, "--scales", "1", *SHORT)
    said = " ".join(run.stderr.split())
    assert run.returncode == 1, said
    assert "does not answer as PostgreSQL does" in said
    assert not (tmp_path / "out").exists()
    (tmp_path / "shop.sql").write_text(SCRIPT)
    done = called("run", h2, "--existing", "--script", "shop.sql", *SHORT)
    assert done.returncode == 0, done.stderr
    codes = {one["code"] for one in described(only_archive(tmp_path / "out"))["warnings"]}
    assert "unproved" in codes
    assert "nothing-found" not in codes


def test_pglite_reads_and_writes_with_one_client(pglite: str, called: Program, tmp_path: Path) -> None:
    asked = called("doctor", pglite)
    assert asked.returncode == 1, asked.stdout
    assert "no    sessions     all connections share one session" in asked.stdout
    for workload in ("tpcb", "select"):
        refused = called("run", pglite, "--workload", workload, "--scales", "1", *SHORT)
        assert refused.returncode == 2, refused.stderr
        assert "error: sessions: all connections share one session, so that no lock protects the database of a run" in refused.stderr, refused.stderr
        assert "--existing" in refused.stderr
    (tmp_path / "one.sql").write_text("SELECT 1 AS one;\n")
    done = called("run", pglite, "--existing", "--script", "one.sql", *SHORT)
    assert done.returncode == 0, done.stderr


def test_dolt_is_told_for_what_it_is_and_its_lost_rows_void_the_run(dolt: str, called: Program, tmp_path: Path) -> None:
    asked = called("doctor", dolt)
    assert asked.returncode == 0, asked.stdout
    assert "neither MySQL nor MariaDB, whose protocol it speaks" in " ".join(asked.stdout.split())
    assert "rows are loaded by INSERT" in asked.stdout
    (tmp_path / "one.sql").write_text("SELECT 1 AS one;\n")
    read = called("run", dolt, "--existing", "--script", "one.sql", *SHORT)
    assert read.returncode == 0, read.stderr
    assert described(only_archive(tmp_path / "out"))["server_version"].startswith("Dolt ")
    done = called("run", dolt, "--workload", "select", "--scales", "1", *SHORT[:-1], "written")
    archive = described(only_archive(tmp_path / "written"))
    assert archive["status"] == "complete", done.stderr
    assert "uncleaned" in {one["code"] for one in archive["warnings"]}
    broken = [one["name"] for one in archive["checks"]["1"] if one["state"] == "broken"]
    assert (done.returncode, bool(broken)) in ((0, False), (1, True))


def test_vitess_is_read_and_written_by_scripts(vitess: str, called: Program, tmp_path: Path) -> None:
    asked, refused = called("doctor", vitess), called("run", vitess, "--scales", "1", *SHORT)
    said = " ".join(refused.stderr.split())
    assert (asked.returncode, refused.returncode) == (1, 2), said
    assert asked.stdout.startswith("no    server       Vitess 24")
    assert "does not show which session holds a lock" in said
    assert not (tmp_path / "out").exists()
    with closing(TargetDatabase(vitess, existing=True)) as target:
        target.fetch("CREATE TABLE shop (id int PRIMARY KEY, sold int)")
    (tmp_path / "sell.sql").write_text(
        "BEGIN;\nINSERT INTO shop VALUES (1, 1) ON DUPLICATE KEY UPDATE sold = sold + 1;\nSELECT sold FROM shop;\nEND;\n"
    )
    done = called("run", vitess, "--existing", "--script", "sell.sql", *SHORT)
    assert done.returncode == 0, done.stderr
    archive = Archive.open(only_archive(tmp_path / "out"))
    counted = archive.table("cycles")
    committed = sum(sum(counted[name].to_pylist()) for name in IN_DATABASE)
    with closing(TargetDatabase(vitess, existing=True)) as target:
        assert target.fetch("SELECT sold FROM shop") == [{"sold": str(committed)}]
