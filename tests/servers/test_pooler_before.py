"""A PgBouncer before a private server, as a setting of it and as a factor of studies."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

import dsbench
from dsbench import servers, spec
from dsbench.library.archive import Archive
from dsbench.measure.loaders import TargetDatabase
from dsbench.servers.postgresql.pooler import Pooler, Pooling
from dsbench.servers.process import Process
from fixtures.kept import warned
from fixtures.program import Program
from fixtures.stalled import unless_stalled

PGBOUNCER = "private:postgresql?pooler=pgbouncer"
SMALL = {"scales": (1,), "cycles": 1, "duration": 1.0, "clients": 4, "workload": "select"}


def test_a_pooler_begins_and_ends_with_its_server(base: Path) -> None:
    target = spec.Target(url=PGBOUNCER, directory=base)
    with servers.start(target, 5) as server:
        (pid,) = set(server.pids()) & {one.pid for one in psutil.process_iter() if one.name() == "pgbouncer"}
        assert server.pooler.startswith("PgBouncer 1.")
        folder = Path(parse_qs(urlsplit(server.url).query)["host"][0])
        assert not folder.stat().st_mode & 0o077, "nobody else of the machine may log in"
        server.restart()
        database = TargetDatabase(server.url, existing=True)
        assert database.fetch("SELECT 1 AS one") == [{"one": "1"}]
        database.close()
        assert not psutil.pid_exists(pid)
    assert list(base.iterdir()) == []


def test_a_pool_of_transactions_needs_few_sessions_and_one_of_sessions_all(base: Path) -> None:
    for mode, raised in (("transaction", False), ("session", True)):
        target = spec.Target(url=f"{PGBOUNCER}&pgbouncer.pool_mode={mode}", directory=base)
        with servers.start(target, 300) as server:
            assert bool(server.notes) == raised, server.notes


@unless_stalled
def test_a_thousand_clients_share_a_pool_of_transactions(tmp_path: Path) -> None:
    url = f"{PGBOUNCER}&pgbouncer.pool_mode=transaction&pgbouncer.default_pool_size=8"
    archive = dsbench.run(url, **SMALL | {"clients": 1000, "duration": 3.0}, out=tmp_path)
    counted = archive.table("cycles")
    committed: dict[int, int] = {}
    for row in counted.to_pylist():
        committed[row["client"]] = committed.get(row["client"], 0) + row["committed"]
    assert len(committed) == 1000
    assert min(committed.values()) > 0
    assert archive.run.pooled == "transactions"
    assert archive.run.item("pooler", "program").startswith("PgBouncer 1.")
    assert warned(archive) == []


SLOW = """#!/usr/bin/env python3
import configparser, socket, sys, time
ini = configparser.ConfigParser(interpolation=None)
ini.read(sys.argv[1])
own = ini["pgbouncer"]
entrance = socket.socket(socket.AF_UNIX)
entrance.bind(f"{own['unix_socket_dir']}/.s.PGSQL.{own['listen_port']}")
time.sleep(1)
entrance.listen()
time.sleep(60)
"""


def test_a_pooler_serves_when_it_listens_and_not_when_its_socket_is_there(tmp_path: Path) -> None:
    program, folder = tmp_path / "pgbouncer", tmp_path / "socket"
    program.write_text(SLOW)
    program.chmod(0o700)
    folder.mkdir()

    def write(file: Path, text: str) -> None:
        file.write_text(text)

    def started(command: list[str | Path], log: Path) -> Process:
        return Process(command, user=None, env=os.environ, log=log, ending=signal.SIGTERM)

    pooler = Pooler(Pooling(program, {}), started, folder)
    try:
        entrance = pooler.serve(tmp_path, 5432, write)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(entrance / ".s.PGSQL.5432"))
    finally:
        pooler.stop()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("pooler=odyssey", "pooler is 'odyssey'"),
        ("pgbouncer.pool_mode=session", "has no effect without pooler=pgbouncer"),
        ("poolers=pgbouncer", "poolers"),
        ("pooler=pgbouncer&pgbouncer.pool_mode=statement", "pool_mode is 'statement'"),
        ("pooler=pgbouncer&pgbouncer.logfile=/tmp/log", "pgbouncer.logfile is unknown"),
        ("pooler=pgbouncer&pgbouncer.auth_type=trust", "set by dsbench itself"),
        ("pooler=pgbouncer&pgbouncer.default_pool_size=3", "too low for the 5 connections"),
        ("pooler=pgbouncer&pgbouncer.pool_mode=transaction&pgbouncer.max_client_conn=3", "too low for the 5 connections"),
        ("pooler=pgbouncer&pgbouncer.default_pool_size=x", "rejects pgbouncer.default_pool_size = x"),
        ("pooler=pgbouncer&listen_addresses=127.0.0.1", "exclude each other"),
        ("pooler=pgbouncer&pgbouncer.verbose=1%0Alogfile%3D/tmp/log", "several lines"),
    ],
)
def test_what_cannot_be_is_refused(base: Path, settings: str, words: str) -> None:
    target = spec.Target(url=f"private:postgresql?{settings}", directory=base)
    with pytest.raises(spec.SpecError, match=words):
        servers.start(target, 5)
    assert list(base.iterdir()) == []


def test_poolers_are_levels_of_a_study(tmp_path: Path, dsbench: Program) -> None:
    study = tmp_path / "poolers.toml"
    keys = ("run.scales=[1]", "run.cycles=1", "run.duration=1", "trials.repeat=1")
    small = [word for key in keys for word in ("--set", key)]
    template = dsbench("study", "templates", "poolers").stdout
    assert "[10, 100, 1000]" in template
    study.write_text(template.replace("[10, 100, 1000]", "[4]"))
    done = dsbench("study", "run", study, *small, "--out", tmp_path / "made")
    assert done.returncode == 0, done.stderr
    runs = [Archive.open(path.parent).run for path in sorted((tmp_path / "made").rglob("run.json"))]
    assert sorted(run.pooled for run in runs) == ["", "sessions", "transactions"]
