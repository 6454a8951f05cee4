"""What database systems say of themselves: a real PostgreSQL, and SQLite by its settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsbench import servers, spec
from dsbench.measure import stack
from dsbench.measure.stack.described import Described, Switch
from dsbench.measure.stack.rdbms import postgres, sqlite
from dsbench.servers.postgresql import binaries
from fixtures.psql import Psql

_SETTINGS = {
    "shared_buffers": "64MB", "effective_cache_size": "1GB", "synchronous_commit": "off", "work_mem": "4MB",
    "archive_command": "copy --password=hush %p", "primary_conninfo": "host=a password=hush", "log_min_messages": "error",
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.start(spec.Target(url="private:postgresql", settings=_SETTINGS), 8) as running:
        yield running


@pytest.fixture(scope="module")
def queries(server: servers.Server) -> Iterator[Psql]:
    session = Psql.open(server.url)
    yield session
    session.close()


@pytest.fixture(scope="module")
def described(server: servers.Server, queries: Psql) -> Described:
    return stack.describe("postgres", server.directory, queries)


def _switches(switches: list[Switch]) -> dict[str, tuple[str, bool]]:
    return {s["switch"]: (s["value"], s["safe"]) for s in switches}


def test_every_layer_of_the_stack_is_there_in_order(described: Described) -> None:
    assert [layer["layer"] for layer in described.layers] == [
        "core", "storage backend", "operating system", "file system", "RDBMS", "API", "driver", "application",
    ]  # fmt: skip
    items = {name: value for layer in described.layers for name, value in layer["items"].items()}
    assert items["interface"] == "PostgreSQL wire protocol 3.0"
    assert items["parsed each time"] == "one Query, values in its text"
    assert items["transport"] == "Unix socket"
    assert items["block size"]


def test_settings_are_those_that_differ_without_secrets_and_places(described: Described) -> None:
    settings = described.settings
    assert settings["shared_buffers"] == "64MB"
    assert settings["synchronous_commit"] == "off"
    assert settings["log_min_messages"] == "error"
    assert settings["archive_command"] == settings["primary_conninfo"] == "***"
    assert "hush" not in str(described)
    assert "work_mem" not in settings  # set to what it is by default
    assert not {"data_directory", "port", "unix_socket_directories", "application_name"} & settings.keys()


def test_marks_are_bytes(described: Described) -> None:
    assert described.marks["shared_buffers"] == 64 << 20
    assert described.marks["effective_cache_size"] == 1 << 30
    assert described.marks["RAM"] > 1 << 28
    assert all(size > 0 for size in described.marks.values())


def test_the_version_is_the_servers_own(described: Described, server: servers.Server) -> None:
    assert described.server_version.startswith(server.version)


def test_a_switch_that_gives_up_safety_is_told(described: Described) -> None:
    switches = _switches(described.durability)
    assert switches["synchronous_commit"] == ("off", False)
    assert switches["fsync"] == ("on", True)
    assert switches["full_page_writes"] == ("on", True)
    assert switches["wal_level"] == ("replica", True)
    assert "unlogged tables" not in switches
    assert all(s["meaning"] for s in described.durability)


def test_unlogged_tables_of_the_run_are_told(server: servers.Server, queries: Psql) -> None:
    program = str(binaries.find(None).program("psql"))
    made = "create schema dsbench; create unlogged table dsbench.fast (n int)"
    subprocess.run([program, server.url, "-Xqc", made], check=True)
    assert _switches(postgres.durability(queries))["unlogged tables"] == ("fast", False)
    subprocess.run(
        [program, server.url, "-Xqc", "set client_min_messages = error; drop schema dsbench cascade"], check=True
    )


def test_the_data_directory_is_told_when_the_server_is_here(server: servers.Server, queries: Psql) -> None:
    assert stack.data_directory("postgres", queries, spec.Target(url=server.url)) == server.directory
    assert postgres.process(queries) in server.pids()


class Remote:
    """A server elsewhere: its process numbers mean nothing here."""

    def __init__(self, queries: Psql, pid: int) -> None:
        self.queries, self.pid = queries, pid

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        if sql.startswith("select pg_catalog.pg_backend_pid() as pid"):
            return [{"pid": str(self.pid)}]
        return self.queries.fetch(sql)


def test_a_server_elsewhere_is_not_described_by_this_machine(queries: Psql) -> None:
    # A process with that number is here, but it is none of PostgreSQL's.
    remote = Remote(queries, os.getpid())
    directory = stack.data_directory("postgres", remote, spec.Target(url="postgresql://far/db"))
    assert directory is None
    described = stack.describe("postgres", directory, remote)
    layers = {layer["layer"]: layer["items"] for layer in described.layers}
    for name in ("core", "storage backend", "operating system", "file system"):
        assert "another machine" in layers[name]["server"]
    assert "RAM" not in described.marks
    assert described.marks["shared_buffers"] == 64 << 20
    assert "RAM" not in layers["core"]


class Refuses:
    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        raise PermissionError("no right")


def test_a_login_without_rights_does_not_stop_the_description() -> None:
    described = stack.describe("postgres", None, Refuses())
    assert described.settings == {}
    assert described.durability == []
    assert described.server_version == ""


def test_an_engine_of_which_nothing_is_known_is_named() -> None:
    described = stack.describe("mock", None, Refuses())
    assert described.server_version == "mock"
    assert {"layer": "RDBMS", "items": {"product": "mock"}} in described.layers


class Sqlite:
    """SQLite's answers before the file exists: those of an empty database in memory."""

    def __init__(self, **pragmas: str) -> None:
        self.pragmas = {
            "journal_mode": "memory",
            "synchronous": "2",
            "cache_size": "-2000",
            "mmap_size": "0",
            **pragmas,
        }

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        if "sqlite_version" in sql:
            return [{"version": "3.50.1"}]
        if sql == "pragma database_list":
            return [{"seq": "0", "name": "main", "file": self.pragmas.get("file", "")}]
        name = sql.removeprefix("pragma ")
        return [{name: self.pragmas[name]}]


def test_sqlite_before_its_file_exists_is_told_by_the_url(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/run.db?synchronous=normal&cache_size=1000&page_size=8192"
    described = stack.describe("sqlite", tmp_path, Sqlite(synchronous="1", cache_size="1000"), url)
    assert described.server_version == "SQLite 3.50.1"
    assert described.settings == {"synchronous": "normal", "cache_size": "1000", "page_size": "8192"}
    switches = _switches(described.durability)
    switches.pop("file system", None)  # Where the temporary folder lies in memory.
    assert switches == {"journal_mode": ("wal", True), "synchronous": ("normal", False)}
    assert described.marks["cache_size"] == 1000 * 8192
    assert stack.data_directory("sqlite", Sqlite(), spec.Target(url=url)) == tmp_path


def test_sqlite_with_its_file_answers_for_itself() -> None:
    queries = Sqlite(file="/data/run.db", journal_mode="delete", synchronous="3", page_size="4096")
    described = stack.describe("sqlite", None, queries, "sqlite:////data/run.db")
    assert _switches(described.durability) == {"journal_mode": ("delete", True), "synchronous": ("extra", True)}
    assert described.marks["cache_size"] == 2000 * 1024


def test_without_a_url_and_a_file_the_journal_is_not_guessed() -> None:
    described = stack.describe("sqlite", None, Sqlite())
    assert _switches(described.durability) == {"synchronous": ("full", True)}


@pytest.mark.parametrize(
    ("journal_mode", "synchronous", "safe"),
    [
        ("wal", "full", True), ("wal", "extra", True), ("wal", "normal", False), ("wal", "off", False),
        ("delete", "full", False), ("delete", "extra", True), ("truncate", "full", True), ("persist", "full", True),
        ("delete", "normal", False),
    ],
)  # fmt: skip
def test_what_sqlite_keeps_after_a_power_cut(journal_mode: str, synchronous: str, safe: bool) -> None:
    assert _switches(sqlite.durability(journal_mode, synchronous))["synchronous"] == (synchronous, safe)


@pytest.mark.parametrize("journal_mode", ["memory", "off"])
def test_a_journal_that_is_not_on_disk_is_unsafe(journal_mode: str) -> None:
    assert not _switches(sqlite.durability(journal_mode, "full"))["journal_mode"][1]
