"""How a private server ends: with the program that started it, and not with the thread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from dsbench import servers, spec
from dsbench.measure.loaders import TargetDatabase
from dsbench.servers.folder import stale
from fixtures.private import working_in
from fixtures.thorough import mostly_thorough
from fixtures.waiting import until


@dataclass(frozen=True)
class Product:
    """What is asked of one of them, and how it says that it ended in order."""

    url: str
    starts_by: str
    """What it calls while it starts."""
    farewell: str = ""
    """The last of its log; empty where it says none."""

    def target(self, base: Path) -> spec.Target:
        return spec.Target.model_validate({"url": self.url, "directory": base})


_FIREBIRD = "dsbench.servers.firebird.instance._listens"
PRODUCTS = {
    "postgresql": Product("private:postgresql", "dsbench.servers.postgresql.instance.PostgresInstance._ready",
                          "database system is shut down"),
    "mariadb": Product("private:mariadb", "dsbench.servers.mysql.instance.MySQLInstance.log_tail", "Shutdown complete"),
    "firebird Super": Product("private:firebird@3?ServerMode=Super", _FIREBIRD),
    "firebird SuperClassic": Product("private:firebird@3?ServerMode=SuperClassic", _FIREBIRD),
    "firebird Classic": Product("private:firebird@3?ServerMode=Classic", _FIREBIRD),
}  # fmt: skip

_ABANDONED = """
import sys, time
from pathlib import Path
from dsbench import servers, spec
from dsbench.measure.loaders import TargetDatabase
server = servers.start(spec.Target.model_validate({"url": sys.argv[1], "directory": Path(sys.argv[2])}), 4)
session = TargetDatabase(server.url)
if "firebird" in server.url:
    session.create("test")
session.fetch("select 1 as a" + " from rdb$database" * ("firebird" in server.url))
print(*server.pids(), flush=True)
if sys.argv[3] == "leave":
    sys.exit(0)
time.sleep(600)
"""


@pytest.fixture(params=mostly_thorough(
    (pytest.param(product, id=name) for name, product in PRODUCTS.items()), "postgresql", "firebird Classic"
))
def product(request: pytest.FixtureRequest) -> Product:
    """Each of them."""
    found: Product = request.param
    return found


@contextmanager
def _session(server: servers.Server) -> Iterator[TargetDatabase]:
    session = TargetDatabase(server.url)
    try:
        if "firebird" in server.url:
            session.create("test")
        yield session
    finally:
        session.close()


def _abandoned(product: Product, base: Path, how: str) -> tuple[subprocess.Popen[str], list[int]]:
    command = [sys.executable, "-c", _ABANDONED, product.url, str(base), how]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    return parent, [int(pid) for pid in parent.stdout.readline().split()]


def test_stopping_a_server_that_was_killed_is_clean(product: Product, base: Path) -> None:
    server = servers.start(product.target(base), 4)
    with _session(server):
        pids = server.pids()
        os.kill(pids[0], signal.SIGKILL)
        server.stop()
        assert list(base.iterdir()) == []
        assert until(lambda: not any(psutil.pid_exists(pid) for pid in pids)), "children of a dead listener end, too"


def test_the_server_ends_when_its_parent_is_killed_and_the_next_start_tidies_up(product: Product, base: Path) -> None:
    neighbour = base / "neighbour"
    neighbour.mkdir()
    with servers.start(product.target(base), 4) as living:
        parent, pids = _abandoned(product, base, "stay")
        assert psutil.pid_exists(pids[0])
        parent.kill()
        parent.communicate()
        assert until(lambda: not any(psutil.pid_exists(pid) for pid in pids))
        (left,) = stale(base)
        if product.farewell:
            assert product.farewell in (left / "server.log").read_text()
        with servers.start(product.target(base), 4) as next_one:
            assert not left.exists()
            assert next_one.directory.is_dir()
        assert living.directory.is_dir()
        assert psutil.pid_exists(living.pids()[0])
    assert neighbour.is_dir()
    neighbour.rmdir()


def test_a_program_that_forgets_to_stop_leaves_nothing(product: Product, base: Path) -> None:
    parent, pids = _abandoned(product, base, "leave")
    parent.communicate(timeout=60)
    assert parent.returncode == 0
    assert until(lambda: not any(psutil.pid_exists(pid) for pid in pids)), "a session of Classic is a process"
    assert list(base.iterdir()) == []


def test_the_end_of_the_thread_that_started_it_does_not_end_the_server(product: Product, base: Path) -> None:
    """The kernel's parent death signal goes by thread: a server started from a pool must not die with its worker."""
    started: list[servers.Server] = []
    worker = threading.Thread(target=lambda: started.append(servers.start(product.target(base), 4)))
    worker.start()
    worker.join()
    with started[0] as server:
        assert not until(lambda: not psutil.pid_exists(server.pids()[0]), seconds=1.0)
        with _session(server) as session:
            assert session.fetch("select 1 as a" + " from rdb$database" * ("firebird" in server.url))


def test_an_interruption_while_it_starts_leaves_nothing(
    product: Product, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(product.starts_by, interrupted)
    with pytest.raises(KeyboardInterrupt):
        servers.start(product.target(base), 4)
    assert working_in(base) == []
    assert list(base.iterdir()) == []


def test_data_in_memory_are_noted(product: Product) -> None:
    with servers.start(product.target(Path("/dev/shm")), 4) as server:
        assert any("do not measure storage" in note for note in server.notes)
