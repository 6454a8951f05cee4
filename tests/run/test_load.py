"""What nodes are told of the target, and what a run refuses before it begins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dsbench.measure.joining import Joining
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.spec import SpecError, Target, build


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("postgresql://bench@db/b", "postgresql://bench:p%40%2Fss@db/b"),
        ("postgresql://bench:own@db/b", "postgresql://bench:own@db/b"),
        ("postgresql://db:5432/b", "postgresql://:p%40%2Fss@db:5432/b"),
        ("postgresql://db?sslmode=require", "postgresql://:p%40%2Fss@db?sslmode=require"),
        ("postgresql://bench@db/b?password=own", "postgresql://bench@db/b?password=own"),
        ("mysql://bench@db/b", "mysql://bench@db/b"),
        ("mock:", "mock:"),
    ],
)
def test_the_password_of_the_environment_goes_along(monkeypatch: pytest.MonkeyPatch, url: str, sent: str) -> None:
    target = Target(url=url)
    assert target.with_password(target.password_of_environment).url == url
    monkeypatch.setenv("PGPASSWORD", "p@/ss")
    assert target.with_password(target.password_of_environment).url == sent


def test_a_spent_invitation_is_refused_before_anything_is_begun(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    (folder / "node-1.bundle").write_text("{}")
    spec = build({"target": {"url": "mock:"}, "nodes": 1})
    with pytest.raises(RunError, match="belong to a run that has ended") as told:
        execute(spec, tmp_path / "out", Silent(), Joining(folder))
    assert "dsbench cluster invite" in told.value.remedy
    assert not (tmp_path / "out").exists()


def test_a_trace_is_kept_of_local_load_only() -> None:
    with pytest.raises(SpecError, match="--trace: --trace works for load from this machine only"):
        build({"nodes": 2, "trace": True})
    assert build({"nodes": 0, "trace": True}).trace


COMMANDS = ("run mock: --nodes 1 --quiet", "cluster node --join x", "cluster invite --out x", "cluster up --ssh x")


def test_without_the_extra_each_command_names_it(tmp_path: Path) -> None:
    program = f"""
import sys
for package in ("dask", "distributed", "cryptography", "asyncssh"):
    sys.modules[package] = None  # as if it were not installed
from dsbench.cli import main
for command in {COMMANDS}:
    sys.argv[1:] = command.split()
    try:
        main()
    except SystemExit as end:
        print(end.code, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    for problem, hint, status in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        assert "package that is not installed" in problem
        assert hint == f"hint: {sys.executable} -m pip install 'dsbench-db[cluster]'"
        assert status == "2"
    assert (len(lines), list(tmp_path.iterdir())) == (3 * len(COMMANDS), [])
