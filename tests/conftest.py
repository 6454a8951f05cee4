"""What tests share: a real PostgreSQL server, templates of all others, and the program as a process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import compress
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from dsbench import servers
from dsbench.cli import main
from dsbench.servers import templates
from dsbench.servers.folder import Folder
from dsbench.spec import Target
from fixtures.products import mysql_home
from fixtures.program import Program
from fixtures.waiting import PATIENCE_S
from fixtures.web import browser

__all__ = ["browser", "mysql_home"]

# How long an example takes says nothing on a machine that does other things as well.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure(config: pytest.Config) -> None:
    """Has every private server of this session, whichever worker or program starts it, take a copy of one data folder."""
    if not hasattr(config, "workerinput"):  # The workers of pytest-xdist inherit the variable.
        folder = Folder.create(Path(tempfile.gettempdir()), "templates")
        config.add_cleanup(folder.remove)
        os.environ[templates.VARIABLE] = str(folder.path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the tests of some files, where ``DSBENCH_TEST_PART`` asks for them: 2/5 is the third fifth, by their names."""
    if part := os.environ.get("DSBENCH_TEST_PART"):
        at, of = map(int, part.split("/"))
        own = [crc32(item.location[0].encode()) % of == at for item in items]
        config.hook.pytest_deselected(items=[item for item, kept in zip(items, own, strict=True) if not kept])
        items[:] = compress(items, own)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Shares tests out as ``fixtures.sharing`` says, whatever ``--dist`` asks for."""
    from fixtures.sharing import ByFile  # Late: without pytest-xdist there is nothing to share out.

    return ByFile(config, log)


@pytest.fixture(autouse=True)
def _needs_mysql(request: pytest.FixtureRequest) -> None:
    """Gives a test or a parameter marked ``needs_mysql`` the fixture, which a parameter cannot ask for itself."""
    if request.node.get_closest_marker("needs_mysql"):
        request.getfixturevalue("mysql_home")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[servers.Server]:
    """A private PostgreSQL server; tests that use it leave no schema behind."""
    with servers.start(Target(url="private:postgresql", settings={"fsync": "off"}), 40) as server:
        yield server


@pytest.fixture
def dsbench(tmp_path: Path) -> Program:
    """Runs the program in an empty folder; its archives go to ``tmp_path / "out"``."""

    def run(*arguments: str, timeout: float = PATIENCE_S, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dsbench", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=timeout, **options)

    return run


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """As ``dsbench``, within this process: for what ends at once. An error that the program does not tell fails."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["dsbench", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return subprocess.CompletedProcess(arguments, ended.value.code, said.out, said.err)

    return run


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that a server of another user may enter, which pytest's own are not; it must be left empty."""
    with tempfile.TemporaryDirectory(prefix="base-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        assert list(folder.iterdir()) == []
