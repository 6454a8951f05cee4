"""Runs through proxies that are no poolers: what they cut and where they send a session is told, never mixed up."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from dsbench import servers
from dsbench.measure.loaders import TargetDatabase
from dsbench.spec import Target
from fixtures.program import Program, described, only_archive
from fixtures.proxies import haproxy, pgpool
from fixtures.stalled import unless_stalled
from fixtures.standby import SETTINGS, standby

SHORT = ("--scales", "1", "--cycles", "2", "--duration", "1", "--clients", "4", "--out", "out")


@unless_stalled
def test_idle_control_sessions_that_a_proxy_cuts_are_opened_anew(
    postgresql: servers.Server, called: Program, tmp_path: Path
) -> None:
    with haproxy(postgresql.url, "900ms") as url:
        done = called("run", url, *SHORT, "--duration", "3")
    assert done.returncode == 0, done.stderr
    run = described(only_archive(tmp_path / "out"))
    assert run["status"] == "complete"
    assert "failures" not in {one["code"] for one in run["warnings"]}


def test_clients_that_a_proxy_cuts_while_they_wait_end_the_run_as_failed(
    postgresql: servers.Server, called: Program, tmp_path: Path
) -> None:
    with haproxy(postgresql.url, "300ms") as url:
        # With this seed the first transaction is due long after the connections were cut.
        load = ("--rate", "1", "--seed", "3", "--clients", "4", "--duration", "5", "--cycles", "1")
        done = called("run", url, *SHORT[:4], *load, "--out", "out")
    said = " ".join(done.stderr.split())
    assert done.returncode == 1, said
    assert "no transaction succeeded" in said or "the connection was lost" in said


def test_pgpool_is_told_and_its_runs_end_well(called: Program, tmp_path: Path) -> None:
    with (
        servers.start(Target(url="private:postgresql", settings=SETTINGS), 60) as primary,
        standby(primary) as copy,
        pgpool([primary.url, copy]) as url,
    ):
        for number, workload in enumerate(("select", "tpcb", "select")):
            done = called("run", url, "--workload", workload, *SHORT[:-1], f"out{number}")
            assert done.returncode == 0, f"{workload}: {done.stderr}"
            warnings = {one["code"]: one["message"] for one in described(only_archive(tmp_path / f"out{number}"))["warnings"]}
            assert "Pgpool-II 4" in warnings["pooler"]
        with closing(TargetDatabase(primary.url, existing=True)) as target:
            assert target.fetch("SELECT 1 AS left FROM pg_namespace WHERE nspname = 'dsbench'") == []
