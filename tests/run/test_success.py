"""A run in which no transaction succeeds says so, on every screen and by its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.measure.loaders import TargetDatabase
from fixtures.program import Program, described, only_archive

WORDS = "no updates today"
REFUSED = {
    "postgresql": (
        f"CREATE FUNCTION refused() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION '{WORDS}'; END$$",
        "CREATE TRIGGER refused BEFORE UPDATE ON dsbench.account FOR EACH ROW EXECUTE FUNCTION refused()",
    ),
    "sqlite": (f"CREATE TRIGGER refused BEFORE UPDATE ON account BEGIN SELECT RAISE(ABORT, '{WORDS}'); END",),
}
LITTLE = ("--scales", "1", "--cycles", "2", "--duration", "0.3", "--clients", "1", "--quiet", "--out", "out")


@pytest.fixture(params=REFUSED)
def kept(request: pytest.FixtureRequest, tmp_path: Path, called: Program) -> Iterator[str]:
    """The URL of a kept database that refuses each update. Of many attempts in a row a run gives up: the loads are slow."""
    server: servers.Server | None = request.getfixturevalue("postgresql") if request.param == "postgresql" else None
    url = server.url if server is not None else f"sqlite:///{tmp_path}/file.db"
    done = called("run", url, *LITTLE[:-1], "first", "--keep")
    assert done.returncode == 0, done.stderr
    with closing(TargetDatabase(url, existing=True)) as target:
        for text in REFUSED[request.param]:
            target.fetch(text)
    yield url
    assert called("drop", url, "--yes").returncode == 0
    if server is not None:
        with closing(TargetDatabase(url, existing=True)) as target:
            target.fetch("DROP FUNCTION IF EXISTS refused() CASCADE")


def test_a_run_without_a_success_fails_and_says_why(kept: str, called: Program, tmp_path: Path) -> None:
    done = called("run", kept, *LITTLE, "--reuse", "--rate", "40")
    assert done.returncode == 1, done.stdout + done.stderr
    archive = only_archive(tmp_path / "out")
    run = described(archive)
    assert run["status"] == "failed"
    failed = sum(Archive.open(archive).table("cycles")["failed"].to_pylist())
    assert run["reason"].startswith(f"no transaction succeeded: {failed:,} attempts failed, {failed:,} of them by ")
    assert WORDS in run["reason"]
    headline = done.stdout.splitlines()[0]
    assert "was not measured: no transaction succeeded: " in headline
    assert WORDS in done.stdout
    assert f"no transaction succeeded: {failed:,} attempts failed" in done.stderr
    assert run["reason"] in (archive / "results.log").read_text()
    shown = json.loads(called("show", str(archive), "--json").stdout)
    void = [one for one in shown["doubts"] if one["code"] == "void"]
    assert [(one["scale"], one["severe"]) for one in void] == [(1, True)]
    assert not any("resume" in one["remedy"] for one in shown["doubts"])
    again = called("run", kept, "--resume", str(archive), "--quiet")
    assert again.returncode == 1, "nothing is left to do, and nothing succeeded by that"
    assert "no transaction succeeded" in again.stderr
