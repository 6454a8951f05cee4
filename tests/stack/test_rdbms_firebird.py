"""What Firebird says of itself, on servers in two modes; the embedded engine in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsbench import servers, spec
from dsbench.measure import stack
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.stack.described import Described, Switch
from dsbench.measure.stack.rdbms import firebird

_SETTINGS = {
    "page_size": "16384", "page_buffers": "1000", "sweep_interval": "0", "forced_writes": "off", "DeadlockTimeout": "7",
    "KeyHolderPlugin": "hush", "ServerMode": "SuperClassic",
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.start(spec.Target(url="private:firebird", version="3", settings=_SETTINGS), 8) as running:
        yield running


@pytest.fixture(scope="module")
def queries(server: servers.Server) -> Iterator[TargetDatabase]:
    session = TargetDatabase(server.url)
    session.create("test")
    yield session
    session.close()


@pytest.fixture(scope="module")
def described(server: servers.Server, queries: TargetDatabase) -> Described:
    return stack.describe("firebird", server.directory, queries)


def _switches(switches: list[Switch]) -> dict[str, tuple[str, bool]]:
    return {s["switch"]: (s["value"], s["safe"]) for s in switches}


def _items(described: Described) -> dict[str, str]:
    return {name: value for layer in described.layers for name, value in layer["items"].items()}


def test_every_layer_of_the_stack_is_there_in_order(described: Described) -> None:
    assert [layer["layer"] for layer in described.layers] == [
        "core", "storage backend", "operating system", "file system", "RDBMS", "API", "driver", "application",
    ]  # fmt: skip
    items = _items(described)
    assert items["interface"].startswith("Firebird wire protocol, version 1")
    assert items["transport"] == "TCP, encrypted"
    assert (items["server mode"], items["page size"]) == ("SuperClassic", "16 KiB")
    assert items["page buffers"] == "1000 (15.62 MiB) for each session"
    assert items["automatic sweep"] == "never"
    assert items["structure on disk"].startswith("12.")
    assert items["character set"] == "UTF8"
    assert items["client"].startswith("LI-V")


def test_settings_are_those_that_somebody_made_without_secrets_and_places(described: Described) -> None:
    assert described.settings["DeadlockTimeout"] == "7"
    assert described.settings["ServerMode"] == "SuperClassic"
    assert described.settings["KeyHolderPlugin"] == "***"
    assert "hush" not in str(described)
    assert not {"RemoteServicePort", "SecurityDatabase", "TempDirectories", "IpcName"} & described.settings.keys()


def test_a_cache_of_each_session_is_no_mark_of_the_curve(described: Described) -> None:
    assert "page_buffers" not in described.marks
    assert described.marks["RAM"] > 1 << 28


def test_the_version_is_the_servers_own(described: Described, server: servers.Server) -> None:
    assert described.server_version == server.version


def test_a_switch_that_gives_up_safety_is_told(described: Described) -> None:
    assert _switches(described.durability)["forced writes"] == ("off", False)
    assert all(s["meaning"] for s in described.durability)
    assert _switches(firebird.durability("1"))["forced writes"] == ("on", True)
    assert firebird.durability("") == []


def test_the_data_directory_is_told_when_the_server_is_here(server: servers.Server, queries: TargetDatabase) -> None:
    assert stack.data_directory("firebird", queries, spec.Target(url=server.url)) == server.directory
    assert firebird.process(queries) in server.pids()


class Remote:
    """The same server, as if it were another one: its process numbers mean nothing here."""

    def __init__(self, queries: TargetDatabase) -> None:
        self.queries = queries

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        return [{**row, "PID": "1"} if "PID" in row else row for row in self.queries.fetch(sql)]


def test_a_server_elsewhere_is_not_described_by_this_machine(queries: TargetDatabase) -> None:
    remote = Remote(queries)
    directory = stack.data_directory("firebird", remote, spec.Target(url="firebird://far//run.fdb"))
    assert directory is None
    described = stack.describe("firebird", directory, remote)
    assert "RAM" not in described.marks
    assert "another machine" in _items(described)["server"]
    # Its settings cannot be read; that it has no threads of its own can be seen.
    assert _items(described)["server mode"] == "Classic or SuperClassic"


class Silent:
    """A server that answers nothing."""

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        raise PermissionError(sql)


def test_what_a_server_does_not_tell_is_left_out() -> None:
    described = stack.describe("firebird", None, Silent())
    assert described.durability == []
    assert described.settings == {}


def test_a_shared_cache_is_a_mark() -> None:
    asked = {"page_buffers": "2000", "wire_crypt": "disabled", "WireCompression": "on", "wire_compression": "on"}
    wanted = spec.Target(url="private:firebird", version="3", settings=asked)
    with servers.start(wanted, 8) as server:
        session = TargetDatabase(server.url)
        session.create("test")
        described = stack.describe("firebird", server.directory, session)
        session.close()
    items = _items(described)
    assert items["server mode"] == "Super"
    assert items["transport"] == "TCP, compressed"
    page_bytes = 8192
    assert described.marks["page_buffers"] == 2000 * page_bytes
    assert _switches(described.durability)["forced writes"] == ("on", True)


_EMBEDDED = """
import json
from dsbench import servers, spec
from dsbench.measure import stack
from dsbench.measure.loaders import TargetDatabase
wanted = spec.Target(url="private:firebird", settings={"embedded": "on", "DeadlockTimeout": "7"})
with servers.start(wanted, 8) as server:
    session = TargetDatabase(server.url)
    before = stack.data_directory("firebird", session, spec.Target(url=server.url)) == server.directory
    session.create("test")
    after = stack.data_directory("firebird", session, spec.Target(url=server.url)) == server.directory
    d = stack.describe("firebird", server.directory, session, server.url)
    session.close()
    items = {name: value for layer in d.layers for name, value in layer["items"].items()}
    print(json.dumps([server.version, d.server_version, items, d.settings, d.marks, before, after]))
"""


def test_the_embedded_engine_is_described_the_same_way(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _EMBEDDED], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    version, told, items, settings, marks, *directories = json.loads(done.stdout)
    assert told == version
    assert version.endswith("(embedded)")
    assert "in the process of the load generator" in items["interface"]
    assert "transport" not in items
    assert "server" not in items, "it is of this machine"
    assert settings == {"DeadlockTimeout": "7"}
    assert marks["page_buffers"] > 0
    assert directories == [True, True]
